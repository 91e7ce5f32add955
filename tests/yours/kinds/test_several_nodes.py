"""Several nodes: no public table is accused, and what was made slow, split or swept is told rightly."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from helpers.yours import is_my_number_good
from helpers.yours.networks import Network, network_of
from helpers.yours.tables.printing import NAMES, printed
from helpers.yours.tables.published import bus_factor, published

TABLES = Path(__file__).parents[2] / "nccl" / "output" / "tables"
RUNS = [run for run in published() if run.nodes > 1 and run.gpu in NAMES]
MACHINES = {  # of each published run what its reader would name, by the end of its title
    "p5.48xlarge over EFA": "p5.48xlarge",
    "EKS over EFA": "p5.48xlarge",
    "p4de.24xlarge over EFA": "p4de.24xlarge",
    "p5en.48xlarge over EFA": "p5en.48xlarge",
    "p6-b200.48xlarge over EFA": "p6-b200.48xlarge",
    "a3-megagpu-8g over TCPXO": "a3-megagpu-8g",
    "a3-ultragpu-8g over RoCE": "a3-ultragpu-8g",
    "a4-highgpu-8g over RoCE": "HGX-B200",
    "dstack over TCPXO": "a3-megagpu-8g",
    "Lambda over InfiniBand": "HGX-B200",
    "BM.GPU.B4.8 over RoCE": "DGX-A100",  # 16 cards of half the rate
    "NVL72 over NVLink": "GB200-NVL72",
    "NVL72 over InfiniBand": "GB200-NVL72",
    "8 H100 over InfiniBand": "HGX-H100",
    "Nebius over InfiniBand": "HGX-H100",
    "8 A100 over InfiniBand": None,  # four cards a node, and no product of ours has these
    "MI300X.8 over RoCE": None,
}


def made(busbw, hosts=8, each=8, gpu="H100", collective="all_reduce"):
    """A table whose largest sizes come near a busbw, in bytes per second."""
    nranks = hosts * each
    factor = bus_factor(collective, nranks) or 1.0
    times = {2**n: 20e-6 + 2**n * factor / busbw for n in range(13, 34)}
    return printed(gpu, collective, nranks, "2.27.7", times, hosts=hosts)


def between(text, *hosts):
    """With other names of hosts."""
    return re.sub(r"\bnode-(\d+)", lambda found: hosts[int(found[1])], text)


def split(busbw, hosts, each, groups, colour):
    """As NCCL_TESTS_SPLIT prints it: all ranks in the list, numbered on, and the times of one group."""
    nranks = hosts * each
    size = nranks // groups
    head = made(busbw, hosts, each).split("#      ", 1)[0]
    head = re.sub(r"Rank +(\d+) Group +0", lambda found: f"Rank {found[1]:>2} Group {colour(int(found[1])):2}", head)
    return (
        head + "#      " + made(busbw, 1 if size == each else hosts, size if size == each else 1).split("#      ", 1)[1]
    )


def log(*lines):
    return "".join(f"node-0:10:20 [0] NCCL INFO {line}\n" for line in lines)


def cards(count, kind="IB"):
    return f"NET/IB : Using {' '.join(f'[{n}]mlx5_{n}:1/{kind}' for n in range(count))} [RO]; OOB eth0:10.0.0.1<0>"


EFA = "NET/OFI Selected provider is efa, fabric is efa (found 32 nics)", "Using network AWS Libfabric"
WAY = "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0"
PORT = "NET/0 (603cb0003723f04/1/25.000000)"


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.title)
def test_no_published_run_of_several_nodes_is_accused(run):
    machine = next(known for end, known in MACHINES.items() if run.title.endswith(end))
    text = printed(
        run.gpu,
        run.collective,
        run.nranks,
        run.version or "2.27.7",
        {p.nbytes: p.seconds for p in run.points},
        run.nodes,
    )
    alone, told = is_my_number_good(text), is_my_number_good(text, machine)
    assert alone.accused == told.accused == (), str(told)
    assert alone.nearest[0].title == told.nearest[0].title and told.nearest[0].typical == pytest.approx(1, rel=0.01)
    beyond = [cause for cause in told.causes if cause.name == "beyond the wire"]
    assert bool(beyond) == bool(told.line_rate_share and told.line_rate_share > 1)
    assert machine is None or 0.8 < told.plateau_share < 1.01


@pytest.mark.parametrize("path", sorted(TABLES.glob("*.txt")), ids=lambda path: path.stem)
def test_no_real_table_is_accused_of_its_network_unless_its_log_names_sockets(path):
    found = is_my_number_good(path.read_text())
    blamed = {"slow rail", "slow node", "too few NICs", "no GPUDirect RDMA", "narrow slot of a NIC"}
    assert not blamed & set(found.accused)


@pytest.mark.parametrize(
    ("text", "machine", "accused", "told"),
    [
        (made(370e9, 2), "HGX-H100", (), "98% of the 376 GB/s that such network cards reach"),
        (made(470e9, 2), "HGX-H100", (), "117% of the one-way line rate"),
        (made(368e9, 4), "HGX-H100", (), "92% of the one-way line rate of 400 GB/s"),
        (made(366e9, 8), "HGX-H100", (), "97% of the 376 GB/s"),
        (made(366e9, 8), "8x8-IB", (), "97% of the 376 GB/s"),
        (made(362e9, 16), "HGX-H100", (), "96% of the 376 GB/s"),
        (made(362e9, 16, gpu="H200"), "p5en.48xlarge", (), "94% of the 384 GB/s"),
        (made(835e9, 18, 4, "GB200"), "GB200-NVL72", (), "93% of the one-way line rate of 900 GB/s"),
        (made(190e9, 16, gpu="A100"), "DGX-A100", (), "99% of the 192 GB/s"),
        (made(45e9, 8, collective="sendrecv"), "HGX-H100", (), "90% of the one-way line rate of 50 GB/s"),
        (made(48e9, 8, collective="alltoall"), "HGX-H100", (), "91% of the 52.9 GB/s"),
        (made(46e9, 2, 1), "HGX-H100", (), "98% of the 47 GB/s"),
        (made(190e9, 2, 4, "GB200"), "GB200-NVL72", ("wrong path",), "the nodes are no one clique of it"),
        (made(4e9, 2), "HGX-H100", ("wrong path",), "less than half of one port, 50 GB/s one way: sockets"),
        (made(90e9, 8), "HGX-H100", ("too few NICs",), "2 of 8 ports"),
        (made(185e9, 8), "HGX-H100", ("too few NICs",), "4 of 8 ports"),
        (made(185e9, 8), "HGX-H100", ("too few NICs",), "slow rail: a channel's share is the same on every rail"),
        (made(195e9, 8), "HGX-H100", ("too few NICs",), "24.4 GB/s of 50 GB/s, which is what a slot of PCIe 4 leaves"),
        (made(185e9, 8), "HGX-H100", ("too few NICs",), "staged in memory of the host it is no more"),
        (made(185e9, 8), "HGX-H100", ("too few NICs",), "flows of several pairs of nodes can meet on one link"),
        (made(26e9, 2, 1), "HGX-H100", ("slow rail",), "the one card of a node's part passed 26 GB/s of 50 GB/s"),
        (made(20e9, 4, gpu="A100"), "p4de.24xlarge", ("too few NICs",), "2 of 4 ports"),
        (made(30e9, 8, collective="alltoall"), "HGX-H100", (), "53% of the one-way line rate"),
        (made(20e9, 8, collective="alltoall"), "HGX-H100", ("too few NICs",), "3 of 8 ports"),
    ],
)
def test_a_made_table_with_its_machine(text, machine, accused, told):
    found = is_my_number_good(text, machine)
    assert found.accused == accused and told in str(found), str(found)


@pytest.mark.parametrize(
    ("lines", "busbw", "accused", "told"),
    [
        (EFA, 366e9, (), "between nodes 32 cards of EFA 100, as in Amazon EC2 p5.48xlarge, by the log beside it"),
        (EFA, 180e9, ("slow rail",), "each of 32 cards passed"),
        ((EFA[0].replace("32", "4"), EFA[1]), 50e9, ("too few NICs",), "names 4 cards, and a node of NVIDIA HGX H100"),
        ((cards(8), "Using network IB"), 366e9, (), "if those have the usual rate"),
        ((cards(8), "Using network IB"), 180e9, (), "slow rail: 180 GB/s"),
        ((cards(8, "RoCE"), PORT), 185e9, (), "92% of the one-way line rate of 200 GB/s"),
        ((cards(8, "RoCE"), PORT), 95e9, ("slow rail",), "each of 8 cards passed 11.9 GB/s of 25 GB/s"),
        ((cards(8), WAY + "/GDRDMA"), 366e9, (), "1 NET/IB with GDRDMA"),
        (
            ("NET/Socket : Using [0]eth0:10.0.0.1<0>", "Using network Socket"),
            5e9,
            ("wrong path",),
            "has NCCL go by sockets",
        ),
        ((cards(8), PORT, WAY), 90e9, ("wrong path",), "without GPUDirect RDMA"),
    ],
)
def test_a_table_is_held_against_the_network_that_its_log_tells(lines, busbw, accused, told):
    found = is_my_number_good(log(*lines) + made(busbw))
    assert found.accused == accused and told in str(found) + found.machine, str(found) + found.machine


def test_what_the_lines_of_a_log_tell_of_a_network():
    assert network_of(log(*EFA)) == Network("EFA", 32)
    assert network_of(log(cards(4, "RoCE"), PORT, WAY)) == Network("RoCE", 4, False, 25e9)
    assert network_of(log("NET/Plugin: Loaded net plugin AWS Libfabric (v6)", "Selected provider is cxi")) is None
    assert network_of(made(1e9)) is None


GOOD, BAD = 370e9, 150e9


def sweep(hosts, slow):
    """A table of each pair, between its own names; slow ones by who took part."""
    return "".join(between(made(BAD if slow & set(pair) else GOOD, 2), *pair) for pair in combinations(hosts, 2))


@pytest.mark.parametrize(
    ("text", "accused", "told"),
    [
        (
            sweep(["a0", "a1", "a2", "a3"], {"a3"}),
            ("slow node",),
            "with a3 are 41% of the median of the others (3 of 6 runs, at 8 GiB)",
        ),
        (
            sweep(["a0", "a1", "a2", "a3", "a4"], {"a0"}),
            ("slow node",),
            "with a0 are 41% of the median of the others (4 of 10 runs",
        ),
        (sweep(["a0", "a1", "a2"], set()), (), "none stands out"),
        (
            "".join(between(made(rate, 2), *pair) for rate, pair in ((GOOD, "ab"), (BAD, "cd"), (GOOD, "ef"))),
            ("slow node",),
            "with c, d are 41% of the median of the others (1 of 3 runs, at 8 GiB), always together",
        ),
        (
            "".join(between(made(rate, 1), name) for rate, name in ((460e9, "a"), (455e9, "b"), (230e9, "c"))),
            ("slow node",),
            "with c are 50% of the median of the others (1 of 3 runs",
        ),
        (
            "".join(f"NCCL_IB_HCA=mlx5_{n} mpirun x\n{made(BAD / 8 if n == 2 else GOOD / 8, 2, 1)}" for n in range(4)),
            ("slow rail",),
            "with card mlx5_2 are 41% of the median of the others (1 of 4 runs",
        ),
        (
            "".join(re.sub(r"device +\d", f"device  {n}", made(20e9 if n == 5 else 46e9, 2, 1)) for n in range(8)),
            ("slow rail",),
            "with GPU 5 of the nodes are 43% of the median of the others (1 of 8 runs",
        ),
        (
            "".join(made(20e9 if n == 5 else 46e9, 2, 1).replace("[0000:0", f"[000{n}:0") for n in range(8)),
            ("slow rail",),
            "with the GPU at 0005:06:00, 0005:07:00 are 43% of the median of the others (1 of 8 runs",
        ),
        (
            "".join(
                f"mpirun -np 16 -H {a}:8,{b}:8 x\n{re.sub('# +Rank.*', '#', made(rate, 2))}"
                for rate, a, b in ((GOOD, "a", "b"), (BAD, "b", "c"))
            ),
            ("slow node",),
            "with c are 41% of the median of the others",
        ),
        (made(GOOD, 2) + made(BAD, 2), (), "they differ, and the text does not say in what"),
        (made(GOOD, 2) + made(GOOD * 0.97, 2), (), "within 3% of each other"),
    ],
)
def test_of_several_tables_the_slow_one_is_named(text, accused, told):
    found = is_my_number_good(text)
    assert found.accused == accused and told in found.sentence, str(found)
    assert len(found.lines) == text.count("# Avg bus bandwidth")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (0, 2, 1)])
def test_a_run_that_ended_before_its_first_size_spoils_no_sweep(order):
    good, bad = between(made(GOOD, 2), "a", "b"), between(made(BAD, 2), "b", "c")
    ended = between(made(GOOD, 2), "a", "c").split("        8192 ")[0] + "mpirun noticed that process rank 3 exited\n"
    found = is_my_number_good("".join((good, bad, ended)[at] for at in order))
    assert found.accused == ("slow node",) and "with c are 41%" in found.sentence
    assert found.what.endswith("; 1 more without a row: a run that ended before its first size")


@pytest.mark.parametrize(
    ("rates", "name", "told"),
    [
        (
            {2: 470e9, 4: 366e9, 8: 364e9},
            "beyond the wire",
            "470 GB/s on 2, 366 GB/s on 4, 364 GB/s on 8; two nodes are joined by a tree",
        ),
        ({4: 366e9, 8: 364e9}, "beyond the wire", "by nodes the best is 366 GB/s on 4"),
        ({2: 470e9, 4: 366e9, 8: 180e9}, "colliding flows", "a node that was added is slow"),
    ],
)
def test_from_two_nodes_to_more_a_fall_is_explained(rates, name, told):
    found = is_my_number_good("".join(made(rate, nodes) for nodes, rate in rates.items()))
    assert (found.accused, found.causes[-1].name) == ((), name) and told in found.causes[-1].why, str(found)
    assert all(f"all_reduce over {8 * nodes} ranks: The best is" in found.sentence for nodes in rates)


@pytest.mark.parametrize(
    ("text", "nranks", "accused", "told"),
    [
        (
            split(46e9, 2, 8, 8, lambda rank: rank % 8),
            2,
            (),
            "in 8 groups at once (NCCL_TESTS_SPLIT): each one GPU of 2 nodes",
        ),
        (split(46e9, 4, 8, 8, lambda rank: rank % 8), 4, (), "98% of the 47 GB/s that such network cards reach"),
        (
            split(460e9, 2, 8, 2, lambda rank: rank // 8),
            8,
            (),
            "in 2 groups at once (NCCL_TESTS_SPLIT): each inside one node",
        ),
        (split(460e9, 2, 8, 2, lambda rank: rank | 7), 8, (), "takes twice as long among them shows as 50% more"),
        (
            split(23e9, 2, 8, 8, lambda rank: rank & 7),
            2,
            ("slow rail",),
            "the one card of a node's part passed 23 GB/s of 50 GB/s",
        ),
    ],
)
def test_a_split_table_is_judged_as_one_of_its_groups(text, nranks, accused, told):
    found = is_my_number_good(text, "HGX-H100")
    assert f"over {nranks} ranks" in found.what and found.accused == accused and told in str(found), str(found)
    assert "several groups" in {cause.name for cause in found.causes}


@pytest.mark.parametrize(("busbw", "accused"), [(2e9, ("wrong path",)), (12e9, ())])
def test_what_no_network_beside_such_links_is_as_slow_as_is_accused_without_its_name(busbw, accused):
    found = is_my_number_good(made(busbw, 2))
    assert found.accused == accused and (
        not accused or "less than what one port of 25 Gb/s passes" in found.causes[0].why
    )


@pytest.mark.parametrize(("busbw", "remark"), [(300e9, True), (860e9, False)])
def test_between_racks_all_ports_of_a_rack_count_and_nobody_is_accused(busbw, remark):
    found = is_my_number_good(made(busbw, 36, 4, "GB200"), "GB200-NVL72")
    assert (found.line_rate, found.accused) == (900e9, ())
    assert ("slow rail" in {cause.name for cause in found.causes}) == remark
