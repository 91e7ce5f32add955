"""RCCL's spelling of a log, the EFA plugin's lines, and a table that stands in a log."""

from __future__ import annotations

import pytest

from helpers.nccl import parse_debug_log
from helpers.yours import is_my_number_good
from helpers.yours.tables.printing import printed

VERSIONS = {
    "2.18.3": "RCCL version 2.18.3+hip6.0 HEAD:2f6d59e+",
    "2.22.3": "RCCL version : 2.22.3-develop:4a6d5ed\nHIP version  : 6.4.4\nROCm version : 6.4.0-47\nLibrccl path : librccl.so.1",
}


def rccl(way="P2P/IPC", nodes=1, version="2.22.3", ends=True):
    """Eight ranks on each node."""
    total, lines = 8 * nodes, []
    about = [f"cudaDev {r % 8} nvmlDev {r % 8} busId {r % 8}b000 commId 0xfeed" for r in range(total)]
    head = [f"mi{r // 8}:{70 + r}:{170 + r} [{r % 8}] NCCL INFO" for r in range(total)]
    lines.append(f"{head[0]} {VERSIONS[version]}")
    for r in range(total):
        lines.append(f"{head[r]} ncclCommInitRank comm 0x5{r:x}0 rank {r} nranks {total} {about[r]} - Init START")
        lines.append(
            f"{head[r]} comm 0x5{r:x}0 rank {r} nRanks {total} nNodes {nodes} localRanks 8 localRank {r % 8} MNNVL 0"
        )
        tree = f"Trees [0] -1/-1/-1->{r}->{r - 1 if r else -1} [1] -1/-1/-1->{r}->{r - 1 if r else -1}"
        lines.append(f"{head[r]} {tree} comm 0x5{r:x}0 nRanks {total:02d} busId {r % 8}b000")
        ahead = (r + 1) % total
        end = "[send] " if way.startswith("NET") else ""
        lines.append(
            f"{head[r]} Channel 00/0 : {r}[{r % 8}b000] -> {ahead}[{ahead % 8}b000] {end}via {way} comm 0x5{r:x}0 nRanks {total:02d}"
        )
    used = "localSize 296 used 152043520 bytes on core 11"
    done = [
        f"{head[r]} ncclCommInitRank comm 0x5{r:x}0 rank {r} nranks {total} {about[r]} {used} - Init COMPLETE"
        for r in range(total)
    ]
    return "\n".join([*lines, *(done if ends else [])])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("way", "nodes", "counted", "accused"),
    [
        ("P2P/IPC", 1, "P2P/IPC", ()),
        ("P2P/direct pointer", 1, "P2P/direct pointer", ()),
        ("P2P/CUMEM/read", 1, "P2P/CUMEM/read", ()),
        ("SHM/direct/direct", 1, "SHM/direct/direct", ("wrong path",)),
        ("NET/IB/3(2)/GDRDMA", 2, "NET/IB with GDRDMA", ("too few NICs",)),
        ("NET/IB/3", 2, "NET/IB without GDRDMA", ("wrong path", "too few NICs")),
        ("NET/Socket/0", 2, "NET/Socket without GDRDMA", ("wrong path", "too few NICs")),
    ],
)
def test_the_ways_of_rccl(way, nodes, counted, accused, version):
    text = rccl(way, nodes, version)
    log = parse_debug_log(text, strict=True)
    assert (log.library, log.version.partition("-")[0]) == ("RCCL", version)
    assert log.transports() == {counted: 8 * nodes} and len(log.trees) == 16 * nodes
    (comm,) = log.communicators()
    assert comm.nranks == 8 * nodes and all(one.complete and one.nodes == nodes for one in comm.members)
    found = is_my_number_good(text)
    assert found.what.startswith(f"a log of RCCL {version}") and found.accused == accused


def test_a_log_of_rccl_that_ends_before_its_end():
    assert is_my_number_good(rccl(ends=False)).accused == ("truncated log",)


def test_what_rccl_only_recommends_is_a_remark():
    warned = 'mi0:70:170 [0] /src/init.cc:213 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system hang!\n'
    found = is_my_number_good(warned + rccl())
    assert found.accused == () and found.causes[0].name == "IOMMU not passed through"


@pytest.mark.parametrize(
    ("provider", "accused"), [("efa", ()), ("efa;ofi_rxr", ()), ("tcp", ("wrong path",)), ("sockets", ("wrong path",))]
)
def test_which_provider_the_efa_plugin_took(provider, accused):
    head = "p5-1:9:19 [0] NCCL INFO"
    lines = [
        f"{head} NET/OFI Initializing aws-ofi-nccl 1.14.0",
        f"{head} NET/OFI Selected provider is {provider} (found 4 nics)",
    ]
    lines += [
        f"{head} comm 0xa rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0",
        f"{head} Using network AWS Libfabric",
    ]
    ways = [f"{head} Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/{card}/GDRDMA" for card in range(4)]
    done = (
        f"{head} ncclCommInitRank comm 0xa rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1000 commId 0x1 - Init COMPLETE"
    )
    found = is_my_number_good("\n".join([*lines, *ways, done]))
    assert found.accused == accused and "4 NET/AWS Libfabric with GDRDMA" in found.sentence
    assert all(one.repair == "efa" for one in found.causes)


def test_a_table_in_a_log_has_both_verdicts():
    table = printed("H200", "all_reduce", 8, "2.29.2", {2**n: 2e-5 + 2**n / 270e9 for n in range(20, 33)})
    found = is_my_number_good(f"{rccl('P2P/CUMEM')}\n{table}")
    assert found.kind == "nccl-tests" and "8 P2P/CUMEM" in found.sentence and "a log of RCCL" in found.what
