"""Real logs of five versions of NCCL, read and counted by hand; ten thousand damaged ones, of which no row says what its line does not."""

import random
from pathlib import Path

import pytest
from damage import damaged

from helpers.nccl import DebugLogError, parse_debug_log
from helpers.nccl.output.logs.debug_rows import Chosen, Connection

REAL = Path(__file__).parent / "logs"
LOGS = sorted(REAL.glob("nccl-*.txt"))


def log(name, **options):
    return parse_debug_log((REAL / f"nccl-{name}.txt").read_text(), **options)


def test_every_log_has_its_source_and_is_read():
    sources = (REAL / "SOURCES.md").read_text()
    assert len(LOGS) == 8
    for path in REAL.iterdir():
        assert path.name == "SOURCES.md" or f"`{path.name}`" in sources
    found = {parse_debug_log(path.read_text()).version for path in LOGS} - {None}
    assert found == {"2.12.7", "2.26.2", "2.27.5", "2.28.9", "2.29.3", "2.30.7"}


def test_two_nodes_over_efa():
    read = log("2.12.7-efa", strict=True)
    (comm,) = read.communicators()
    assert (comm.nranks, comm.ranks, comm.comm_id) == (2, (0, 1), None)
    assert comm.hosts == ("test-nccl-efa-worker-0", "test-nccl-efa-worker-1")
    assert all(member.complete for member in comm.members)
    assert [(r.channel, r.channels, r.ranks, r.whole) for r in read.rings] == [
        (0, 2, (0, 1), True),
        (1, 2, (0, 1), True),
    ]
    assert {r.comm for r in read.rings} == {"0x7fde98000f60"}
    assert [(t.channel, t.rank, t.children, t.parent) for t in read.trees] == [
        (0, 1, (), 0),
        (1, 1, (0,), None),
        (0, 0, (1,), None),
        (1, 0, (), 1),
    ]
    assert read.transports() == {"NET/AWS Libfabric without GDRDMA": 8}
    assert read.networks == ("AWS Libfabric",)
    assert read.took_effect == {"NCCL_SHM_DISABLE": ("0",)}


def test_the_articles_own_ellipses_are_damage_and_the_rest_is_read():
    read = log("2.26.2-h100")
    assert [(d.line, d.text[:9]) for d in read.damaged] == [(16, "Trees [0]")]
    assert read.trees == ()
    assert read.took_effect == {"NCCL_IB_DISABLE": ("1",)}
    assert list(read.chunks.values()) == [524288]
    assert read.connections == (Connection(19, None, 0, 2, 3, "P2P", "direct pointer"),)
    with pytest.raises(DebugLogError, match=r"line 16: a tree line goes on"):
        log("2.26.2-h100", strict=True)


def test_two_nodes_with_gpudirect_rdma():
    read = log("2.27.5-roce-gdrdma", strict=True)
    (comm,) = read.communicators()
    assert (comm.comm_id, comm.nranks, comm.ranks) == ("0xde4443395863ef4a", 16, (8, 9))
    assert [(m.nodes, m.local_ranks, m.local_rank) for m in comm.members] == [(2, 8, 0), (2, 8, 1)]
    assert read.transports() == {"NET/IB with GDRDMA": 8, "P2P/IPC": 3}
    assert {way.end for way in read.connections} == {"send", "receive", None}
    assert read.connections[0] == Connection(22, "0x5654997a1f80", 1, 2, 9, "NET", "", "IB", 1, "receive", None, True)
    assert len(read.trees) == 32
    assert next(t for t in read.trees if (t.rank, t.channel) == (8, 8))[4:] == ((9, 0), None)
    assert read.took_effect["NCCL_IB_HCA"] == ("mlx5_0,mlx5_1,mlx5_2,mlx5_5,mlx5_6,mlx5_7,mlx5_8,mlx5_11",)
    assert read.took_effect["NCCL_IB_TC"] == ("106",)
    assert read.plugins == ("NET: AWS Libfabric (v6)",)


def test_sixteen_rings_and_the_connections_that_carry_them():
    read = log("2.29.3-rings", strict=True)
    assert [(ring.channel, ring.channels, ring.whole) for ring in read.rings] == [(c, 16, True) for c in range(16)]
    assert all(set(ring.ranks) == set(range(16)) for ring in read.rings)
    ways = {ring.channel: {*zip(ring.ranks, (*ring.ranks[1:], ring.ranks[0]), strict=True)} for ring in read.rings}
    assert len(read.connections) == 14
    assert all((way.src, way.dst) in ways[way.channel] for way in read.connections)
    assert {way.gdrdma for way in read.connections if way.network} == {True}
    assert next(tree for tree in read.trees if (tree.rank, tree.channel) == (1, 1))[4:] == ((0, 9), None)
    assert read.ignored == {} and read.took_effect == {"NCCL_CROSS_NIC": ("1",), "NCCL_NVLS_ENABLE": ("0",)}
    (comm,) = read.communicators()
    assert (comm.nranks, comm.ranks, [m.complete for m in comm.members]) == (16, (0, 1), [False, False])


def test_what_was_chosen_before_and_after_a_setting():
    read = log("2.27.5-choices", strict=True)
    assert read.choices == (
        Chosen(3, "AllReduce", 4, "Tree", "LL", (0, 0)),
        Chosen(10, "AllReduce", 4, "Ring", "Simple", (0, 0)),
    )
    assert list(read.warnings) == [11] and read.warnings[11].startswith("NET/IB: Got completion from peer")


def test_lines_without_a_host():
    read = log("2.28.9-shm", strict=True)
    assert read.transports() == {"P2P/CUMEM/read": 8, "SHM/direct/direct": 8}
    assert {(way.src, way.dst) for way in read.connections if way.transport == "SHM"} == {(1, 2), (3, 0)}
    assert {way.channel for way in read.connections} == {0, 1, 2, 3}


def test_rings_and_trees_as_articles_print_them():
    log = parse_debug_log(
        "Channel 00/02 :    0   1   2   3\n[1,0]<stdout>: Trees [0] 1/-1/-1->0->-1\nTrees of the park\n"
    )
    assert [ring.ranks for ring in log.rings] == [(0, 1, 2, 3)]
    assert [(tree.rank, tree.children) for tree in log.trees] == [(0, (1,))]
    assert log.damaged == () and log.unread == 0


def test_torn_lines_are_told_and_nothing_of_them_counts():
    read = log("torn-nvls-h100")
    (comm,) = read.communicators()
    assert (comm.comm_id, comm.nranks, comm.ranks) == ("0x5ce9425bd0a52729", 8, (1, 4, 5, 7))
    assert comm.hosts == ("gpu-dev-b5985af4",)
    assert [damage.line for damage in read.damaged] == [6, 13, 15, 15, 16]
    assert [(n.per_rank, n.total) for n in read.nvls] == [(32 << 20, 256 << 20)] * 2
    assert read.took_effect == {"NCCL_ALGO": ("ring,tree",)}


def test_every_shape_of_a_line():
    read = log("synthetic", strict=True)
    assert [(r.ranks, r.whole) for r in read.rings] == [((0, 1, 2, 3), True), ((0, 1, 3, 2), True)]
    assert [(c.comm_id, c.nranks, c.ranks) for c in read.communicators()] == [("0xc0ffee", 4, (0, 1)), (None, 2, (0,))]
    net = next(way for way in read.connections if way.end == "send")
    assert (net.network, net.nic, net.proxy, net.gdrdma) == ("IB", 0, 0, True)
    assert [way.how for way in read.connections if way.transport == "P2P"] == ["CUMEM/read", "indirect/3[3]", "IPC"]
    assert read.connections[-1].comm is None  # after its thread had made two communicators
    assert [n.available for n in read.nvls] == [False]
    assert set(read.ignored) == {
        "NCCL_BUFFSIZE",
        "NCCL_GRAPH_MIXING_SUPPORT",
        "NCCL_WORK_FIFO_BYTES",
        "NCCL_NTHREADS_OLD",
    }
    assert read.took_effect == {"NCCL_ALGO": ("Ring,Tree",)}
    assert [c[1:] for c in read.choices] == [
        ("AllReduce", 33554432, "Ring", "Simple", (0, 15), None),
        ("AllGather", 1048576, "NVLSTree", "Simple", (0, 3), None),
        ("Broadcast", 65536, "Ring", "LL128", None, 41.5),
        (None, 805306368, "Ring", "Simple", None, 3970.683594),
    ]
    assert [choice.buffer(4) for choice in read.choices] == [33554432, 4 * 1048576, 65536, 805306368]


HEAD = "n:1:2 [0] NCCL INFO "
START = f"{HEAD}comm 0xa rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1 commId 0x1 - Init START\n"


@pytest.mark.parametrize(
    "line",
    [
        "Channel 03/02 :    0   1   2   3",
        "Channel 00/02 :    0   1   1   3",
        "Channel 00/02 :    0   1   2",
        "Channel 00/02 :    0   1   2   4",
        "Trees [0] 1/-1/-1->0->-1 [2] 1/-1/-1->0->-1",
        "Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->2->-1",
        "Trees [0] 0/-1/-1->0->-1",
        "Trees [0] 7/-1/-1->0->-1",
        "Channel 00/0 : 1[1] -> 1[1] via P2P/IPC",
        "Channel 00/0 : 1[1] -> 4[4] via P2P/IPC",
        "Channel 00/0 : 1[1] -> 2[2] via P2",
        "Channel 00/0 : 1[1] -> 2[2] [send] via NET/IB/",
        "AllReduce: 4 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={3..0}",
        "AllReduce: 4 Bytes -> Algo RUNG proto SIMPLE channel{Lo..Hi}={0..3}",
        "AllReduce: 4 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..",
        "4 Bytes -> Algo 9 proto 2 time 1.000000",
        "comm 0xa rank 1 nranks 4 cudaDev 0 nvmlDev 0 busId 1 commId 0x1 - Init COMPLETE",
        "comm 0xb rank 4 nranks 4 cudaDev 0 nvmlDev 0 busId 1 commId 0x1 - Init COMPLETE",
        "comm 0xa rank 0 nRanks 4 nNodes 4 localRanks 2 localRank 0 MNNVL 0",
        "NCCL_IB_DISABLE set by environment to ",
        "NCCL version 2.27",
        "P2P Chunksize set to ",
    ],
)
def test_a_line_that_does_not_hold_together_is_named(line):
    read = parse_debug_log(START + HEAD + line + "\n")
    assert [damage.line for damage in read.damaged] == [2]
    assert not (
        read.rings or read.trees or read.connections or read.choices or read.settings or read.versions or read.chunks
    )
    with pytest.raises(DebugLogError, match="line 2: "):
        parse_debug_log(START + HEAD + line + "\n", strict=True)


@pytest.mark.parametrize(
    "text", ["", "hello\n", "# nThread 1 nGpus 8\n 8 2 float sum", "\x00\x01", "NCCL_DEBUG=INFO python train.py"]
)
def test_foreign_text(text):
    with pytest.raises(DebugLogError, match="no line of NCCL"):
        parse_debug_log(text)


def test_a_ring_that_nccl_itself_has_cut():
    shown = "".join(f" {rank:3d}" for rank in range(20))
    start = START.replace("nranks 4", "nranks 32")
    (ring,) = parse_debug_log(f"{start}{HEAD}Channel 00/02 :{shown}\n").rings
    assert (len(ring.ranks), ring.whole) == (20, False)
    late = f"{HEAD}comm 0xa rank 0 nranks 20 cudaDev 0 busId 1000 - Init COMPLETE\n"  # before 2.17 the size comes last
    (ring,) = parse_debug_log(f"{HEAD}Channel 00/02 :{shown}\n{late}").rings
    assert (len(ring.ranks), ring.whole, ring.comm) == (20, True, "0xa")
    (ring,) = parse_debug_log(f"{start}{HEAD}Channel 00/02 : 0 1 2 3 1...\n").rings
    assert (ring.ranks, ring.whole) == ((0, 1, 2, 3), False)
    assert not parse_debug_log(f"{START.replace('nranks 4', 'nranks 2048')}{HEAD}Channel 00/02 :{shown}\n").rings


def test_several_versions_are_told():
    read = parse_debug_log(f"{HEAD}NCCL version 2.27.5+cuda12.9\n{HEAD}NCCL version 2.28.9+cuda12.9\n")
    assert read.versions == ("2.27.5", "2.28.9")
    with pytest.raises(DebugLogError, match=r"several versions"):
        _ = read.version


def holds(read, text):
    """Each row again as NCCL would write it, found in its own line; and no row that contradicts itself."""
    lines = text.split("\n")
    sizes = {m.comm: m.nranks for m in read.members}
    for m in read.members:
        assert 0 <= m.rank < m.nranks and f"comm {m.comm} rank {m.rank} n" in lines[m.line - 1]
    for r in read.rings:
        shown = lines[r.line - 1].rpartition(f"Channel {r.channel:02d}/{r.channels:02d} :")[2].split()
        assert r.channel < r.channels and len(set(r.ranks)) == len(r.ranks)
        assert list(map(str, r.ranks)) == shown[: len(r.ranks)] and (len(shown) == len(r.ranks) or not r.whole)
    for t in read.trees:
        down = [*t.children, -1, -1, -1][:3]
        assert f"->{t.rank}->{-1 if t.parent is None else t.parent}" in lines[t.line - 1]
        assert t.rank not in down and all(
            f"{child}/" in lines[t.line - 1] or f"{child}->" in lines[t.line - 1] for child in down
        )
    for c in read.connections:
        line = lines[c.line - 1]
        assert c.src != c.dst and f" {c.src}[" in line and f"-> {c.dst}[" in line
        assert c.gdrdma is None or c.gdrdma == ("/GDRDMA" in line.rpartition("NCCL INFO")[2])
        assert c.comm is None or max(c.src, c.dst) < max(m.nranks for m in read.members if m.comm == c.comm), sizes
    for c in read.choices:
        assert f"{c.nbytes} Bytes -> Algo " in lines[c.line - 1]
        assert c.channels is None or f"={{{c.channels[0]}..{c.channels[1]}}}" in lines[c.line - 1]
    for s in read.settings:
        assert s.name in lines[s.line - 1] and s.value in lines[s.line - 1]


def facts(read):
    """All that a log says, without where it stands."""
    found = {("member", m.comm, m.rank, m.nranks) for m in read.members} | {("version", v) for v in read.versions}
    found |= {row[2:] for rows in (read.rings, read.trees) for row in rows}
    found |= {
        (*c[2:6], c.how.removesuffix("/read"), *c[7:]) for c in read.connections
    }  # what is cut off there changes no way
    found |= {("nvls", *n[2:], n.device if n.comm is None else None) for n in read.nvls}
    return found | {row[1:] for rows in (read.choices, read.settings) for row in rows} | set(read.chunks.values())


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_cut_log_says_nothing_that_the_whole_one_does_not(path):
    text = path.read_text()
    whole = facts(parse_debug_log(text))
    start = text.index("NCCL INFO") + 10
    for end in range(start, len(text), 7):
        assert facts(parse_debug_log(text[:end])) <= whole


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_line_written_into_another_adds_nothing(path):
    lines, chance = path.read_text().split("\n"), random.Random(1)
    whole = facts(parse_debug_log("\n".join(lines)))
    for _ in range(1000):
        one, other = chance.choice([line for line in lines if "NCCL INFO" in line]), chance.randrange(len(lines))
        at = chance.randrange(len(lines[other]) + 1)
        torn = [*lines[:other], lines[other][:at] + one, lines[other][at:], *lines[other + 1 :]]
        assert facts(parse_debug_log("\n".join(torn))) <= whole


def test_ten_thousand_damaged_logs():
    lines = [line for path in LOGS for line in path.read_text().split("\n")]
    refused = rows = 0
    for text in damaged(lines, seed=20261123, count=10_000):
        try:
            read = parse_debug_log(text)
        except DebugLogError:
            refused += 1
            continue
        holds(read, text)
        rows += len(read.connections) + len(read.trees) + len(read.rings)
    assert refused < 2_000 and rows > 20_000


def test_a_line_that_many_processes_wrote_into_is_kept_once():
    """Not once for each of them: that would be its length squared."""
    text = "node:1:2 [0] NCCL INFO " * 20_000
    assert sum(len(one.text) for one in parse_debug_log(text).damaged) < len(text)
