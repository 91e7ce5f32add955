"""Kind 12: how long a communicator took to make, which part of it, and why; ranks that only waited are not accused."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.nccl import parse_debug_log
from helpers.yours import is_my_number_good

FAULT = (Path(__file__).parents[1] / "faults" / "12-slow-init.txt").read_text()
PARTS = ("kernels", "alloc", "bootstrap", "allgathers", "topo", "graphs", "connections", "rest")
USUAL = {"kernels": 0.31, "alloc": 0.98, "bootstrap": 0.12, "topo": 0.07, "graphs": 0.02, "connections": 0.24}


def test_loading_kernels():
    found = is_my_number_good(FAULT)
    assert found.accused == ("slow init",) and found.causes[0].repair == "slow-init"
    assert "rank 0 took 54.2 s, 51.3 s of it loading NCCL's kernels" in found.causes[0].why


def timings(rank=0, nranks=8, of="ncclCommInitRankConfig", parts=PARTS, **seconds):
    spent = USUAL | seconds
    told = ", ".join(f"{part} {spent.get(part, 0):.2f}" for part in parts)
    called = f" - {of}" if of else ""
    total = f"{sum(spent.values()):.2f}"
    return f"n{rank // 8}:{rank}:{rank} [0] NCCL INFO Init timings{called}: rank {rank} nranks {nranks} total {total} ({told})"


def two(rank, **seconds):
    """A rank, and rank 0, as slow."""
    return [timings(rank, **seconds), timings(0, **seconds)]


OLD = ("kernels", "bootstrap", "allgathers", "topo", "graphs", "connections", "rest")  # 2.22 to 2.24
SLOW = {
    "kernels": ([timings(kernels=51.3)], "51.3 s of it loading NCCL's kernels"),
    "before alloc was told": ([timings(of="", parts=OLD, kernels=20)], "20 s of it loading NCCL's kernels"),
    "a part that only 2.40 has": ([timings(parts=(*PARTS, "plugins"), plugins=1.5, kernels=30)], "30 s of it loading"),
    "topology": ([timings(topo=31)], "31 s of it reading the topology: NVML"),
    "memory": ([timings(alloc=14)], "14 s of it making its structures"),
    "graphs": ([timings(graphs=40)], "40 s of it searching rings"),
    "bootstrap on every rank": (
        two(3, bootstrap=45),
        "45 s of it the bootstrap, and no rank of this log less than 45 s",
    ),
    "connections": (two(3, connections=60), "60 s of it connecting, and no rank of this log less"),
    "a split": ([timings(of="ncclCommSplit", nranks=4, kernels=12)], "12 s of it loading"),
    "one slow rank among waiting ones": ([timings(1, bootstrap=30), timings(2, kernels=30)], "rank 2 took"),
}


@pytest.mark.parametrize(("lines", "why"), SLOW.values(), ids=SLOW.keys())
def test_which_part_and_how_long(lines, why):
    found = is_my_number_good("\n".join(lines))
    assert found.accused == ("slow init",) and why in found.causes[0].why, str(found)


HEALTHY = {
    "usual": [timings()],
    "sixteen": [timings(rank, 16, alloc=2.2, connections=1.1) for rank in range(16)],
    "RCCL loads three kernels": [timings(kernels=1.4)],
    "a thousand": [timings(0, 1024, bootstrap=9, allgathers=6, connections=5)],
    "four thousand": [timings(0, 4096, bootstrap=30, allgathers=12, connections=20)],
    "waited for a late rank": [timings(1, bootstrap=45), timings(2)],
    "waited, and the late one is not here": [timings(1, bootstrap=45)],
    "waited for one that read its topology": [timings(1, allgathers=20), timings(2, topo=4)],
}


@pytest.mark.parametrize("lines", HEALTHY.values(), ids=HEALTHY.keys())
def test_many_ranks_and_waiting_ones_are_not_accused(lines):
    found = is_my_number_good("\n".join(lines))
    assert found.accused == () and "Init took" in found.sentence, str(found)


def test_a_line_of_times_that_is_torn_counts_for_nothing():
    log = parse_debug_log("\n".join([timings()[:-30], timings(9, 8), timings(2)]))
    assert [one.rank for one in log.timings] == [2] and [one.line for one in log.damaged] == [1, 2]
