"""Real matrices of nvidia-smi topo -m are read, their best rings are the best, and damaged ones are refused with their line."""

import re
import tomllib
from collections import Counter
from itertools import permutations
from pathlib import Path
from random import Random

import pytest

from helpers.nccl import TopologyEdge, TopologyError, parse_topo
from helpers.nccl.output.machine.rings import best_ring
from helpers.nccl.output.machine.topology import rank_of

HERE = Path(__file__).parent
SOURCES = tomllib.loads((HERE / "sources.toml").read_text())["topologies"]
TEXTS = {path.stem: path.read_text() for path in (HERE / "topologies").glob("*.txt")}
READ = [name for name, source in SOURCES.items() if "found" in source]
H100 = TEXTS["4xh100-article"]


def test_every_matrix_has_its_source():
    assert set(TEXTS) == set(SOURCES)
    assert all(source["url"].startswith(("https://", "unknown: ")) and source["odd"] for source in SOURCES.values())


@pytest.mark.parametrize("name", READ)
def test_what_is_read_is_what_was_counted(name):
    topology, found = parse_topo(TEXTS[name]), SOURCES[name]["found"]
    assert len(topology.gpus) == found["gpus"]
    assert Counter(edge.way for edge in topology.edges()) == found["ways"]
    assert topology.cpus["GPU0"] == found["cpus"] and topology.numa["GPU0"] == found.get("numa")
    assert (
        found.get("nics", {}).items() <= topology.nics.items()
        and len(topology.nics) == len(topology.devices) - found["gpus"]
    )
    assert topology.worst_hop(topology.best_ring()).way == found["worst"]


@pytest.mark.parametrize("name", READ)
def test_colours_tabs_and_prefixes_change_nothing(name):
    text, plain = TEXTS[name], parse_topo(TEXTS[name])
    head = next(line for line in text.splitlines() if "CPU Affinity" in line)
    assert parse_topo(text.replace(head, f"\x1b[4m{head}\x1b[0m")) == plain
    for before in ("    ", "> ", "node-1: ", "0: ", "[1,0]<stdout>:"):
        assert parse_topo("\r\n".join(f"{before}{line}" for line in text.splitlines())) == plain
    rows = re.sub(r"(?m)^(GPU|NIC)(.*)$", lambda row: "\t".join(row[0].split()), text)
    assert parse_topo(rows) == plain


def test_a_topology_as_values():
    topology = parse_topo(TEXTS["8xa100-10-nics"])
    assert topology.way("GPU3", "NIC2") == topology.way("NIC2", "GPU3") == "PXB" and topology.way("GPU3", "GPU3") == "X"
    assert topology.nearest("GPU4") == ("NIC4", "NIC5") and topology.cpus["NIC0"] is None
    assert topology.edges(["GPU0", "GPU1"]) == (TopologyEdge("GPU0", "GPU1", "NV12"),)
    assert topology.edges(["GPU0", "GPU1"])[0].links == 12 and len(topology.edges()) == 18 * 17 // 2
    with pytest.raises(TopologyError, match=r"the devices are GPU0, .*, got 'GPU8'"):
        topology.way("GPU0", "GPU8")


def test_the_ring_of_a_hypercube_uses_the_double_links_only():
    topology = parse_topo(TEXTS["8xv100-hypercube"])
    ring = topology.best_ring()
    assert ring.exact and sorted(ring.order) == sorted(topology.gpus) and len(ring.hops) == 8
    assert {topology.way(*hop) for hop in ring.hops} == {"NV2"}


def test_a_ring_crosses_the_sockets_no_more_often_than_it_must():
    topology = parse_topo(TEXTS["4-pcie-soc"])
    assert Counter(topology.way(*hop) for hop in topology.best_ring().hops) == {"PHB": 2, "SYS": 2}
    order = topology.best_ring().order
    assert abs(order.index("GPU0") - order.index("GPU1")) in (1, 3)


def by_trying_all(devices, rank):
    """The sorted hops of the best ring, worst first: each compared as a whole."""
    first, *others = devices
    rings = ((first, *order) for order in permutations(others))
    return max(sorted(rank(a, b) for a, b in zip(ring, ring[1:] + ring[:1], strict=True)) for ring in rings)


@pytest.mark.parametrize("seed", range(12))
def test_no_ring_is_better(seed):
    random, devices = Random(seed), [f"GPU{k}" for k in range(3 + seed % 5)]
    words = ["SYS", "NODE", "PHB", "PIX", "NV1", "NV2"]
    drawn = {frozenset((a, b)): random.choice(words) for a in devices for b in devices if a != b}

    def rank(a, b):
        return rank_of(drawn[frozenset((a, b))])

    ring = best_ring(devices, rank)
    assert ring.exact and sorted(rank(a, b) for a, b in ring.hops) == by_trying_all(devices, rank)


def test_one_gpu_has_no_hop_and_sixteen_equal_ones_any_ring():
    one = parse_topo("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n")
    assert one.best_ring().hops == () and one.worst_hop(one.best_ring()) is None and one.edges() == ()
    many = [f"GPU{k}" for k in range(16)]
    assert best_ring(many, lambda a, b: 3).exact and best_ring(many, lambda a, b: 3).order == tuple(many)
    near = best_ring(many, lambda a, b: int(abs(many.index(a) - many.index(b)) in (1, 15)))
    assert not near.exact and near.order in (tuple(many), ("GPU0", *reversed(many[1:])))


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (
            "NV18     X      NV18    NV18    PHB",
            "NV17     X      NV18    NV18    PHB",
            3,
            "GPU1 to GPU0 is NV17, but line 2 has NV18",
        ),
        (
            "GPU2    NV18    NV18     X      NV18    PHB",
            "GPU2    NV18    NV18     X      NV18",
            4,
            "between GPU2 and NIC0 stands SYS",
        ),
        (
            "GPU1    NV18     X  ",
            "GPU1     X      NV18",
            3,
            "between GPU1 and GPU0 stands SYS, NODE, PHB, PXB, PIX or NV",
        ),
        ("GPU0     X  ", "GPU0    NV18", 2, "between GPU0 and GPU0 stands X, got 'NV18'"),
        ("GPU3    NV18", "GPU4    NV18", 5, "here the row of GPU3 is missing"),
        (
            "0-103   0               N/A\nGPU1",
            "0-1O3   0               N/A\nGPU1",
            2,
            "CPU Affinity reads like 0-47,96-143, 0 or N/A, got '0-1O3'",
        ),
        (
            "0-103   0               N/A\nGPU1",
            "0-103   N/A\nGPU1",
            2,
            "behind the ways stand CPU Affinity, NUMA Affinity, GPU NUMA ID, got '0-103 N/A'",
        ),
        ("NV18     X      NV18    NV18    PHB", "NV18     X      PIX0    NV18    PHB", 3, "got 'PIX0'"),
        ("  NIC0: mlx5_0", "  NIC1: mlx5_0", 20, "the matrix has no NIC1, or the legend names it twice"),
        ("GPU1    GPU2", "GPU1    GPU1", 1, "a device is named twice"),
        ("NUMA Affinity   GPU NUMA ID", "NUMA   GPU NUMA ID", 1, "behind the devices stand CPU Affinity"),
    ],
)
def test_a_damaged_matrix_is_refused_with_its_line(old, new, line, said):
    assert H100.count(old) == 1
    with pytest.raises(TopologyError, match=re.escape(said)) as told:
        parse_topo(H100.replace(old, new))
    assert told.value.line == line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "this is no output of nvidia-smi topo -m: no line with GPU0 ... CPU Affinity was found"),
        (H100 + H100, "2 matrices, which begin in lines 1, 21"),
        (H100.partition("GPU3    NV18")[0].rstrip(), "the text ends before the row of GPU3"),
        (
            "\tGPU0\tGPU1\nGPU0\tX\tNS\nGPU1\tNS\tX\n",
            "between GPU0 and GPU1 stands SYS, NODE, PHB, PXB, PIX or NV with a number, got 'NS'",
        ),
        (b"", "the output of nvidia-smi topo -m is text, got bytes"),
    ],
)
def test_a_text_that_is_no_matrix_is_refused(text, said):
    with pytest.raises(TopologyError, match=re.escape(said)):
        parse_topo(text)


@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if "error" in source])
def test_a_matrix_that_was_overwritten_says_where(name):
    with pytest.raises(TopologyError, match=re.escape(SOURCES[name]["error"])):
        parse_topo(TEXTS[name])


def test_a_ring_that_is_only_sought_begins_with_the_first_device_too():
    """Of twelve, with ways drawn at random: each device once."""
    names = [f"GPU{i}" for i in range(12)]
    for seed in range(30):
        draw = Random(seed)
        ranks = {frozenset(pair): draw.randrange(4) for pair in permutations(names, 2)}
        ring = best_ring(names, lambda one, other, ranks=ranks: ranks[frozenset((one, other))])
        assert not ring.exact and ring.order[0] == "GPU0" and sorted(ring.order) == sorted(names)
