"""The primitives over our schedules are those of NCCL's kernels, in their order."""

from __future__ import annotations

import pytest

from helpers.collectives import CATALOGUE, ScheduleError
from helpers.nccl import fused


def names(collective, algorithm, nranks, rank, **kwargs):
    return [one.name for one in fused(CATALOGUE[collective, algorithm](nranks, **kwargs))[rank]]


@pytest.mark.parametrize("nranks", [3, 4, 8])
def test_a_ring_is_what_its_kernel_runs(nranks):
    """One send more than steps, and its last receive goes with no send: the tail that nothing hides."""
    between = nranks - 2
    for rank in range(nranks):
        ring = ["send", *["recvReduceSend"] * between, "recvReduceCopySend", *["recvCopySend"] * between, "recv"]
        assert names("all_reduce", "ring", nranks, rank) == ring and len(ring) == 2 * (nranks - 1) + 1
        gather = ["copySend", *["recvCopySend"] * between, "recv"]
        assert names("all_gather", "ring", nranks, rank) == gather
        scatter = ["send", *["recvReduceSend"] * between, "recvReduceCopy"]
        assert names("reduce_scatter", "ring", nranks, rank) == scatter


def test_two_ranks_have_nothing_between():
    assert names("all_reduce", "ring", 2, 0) == ["send", "recvReduceCopySend", "recv"]


def test_every_transfer_is_read_once_and_written_once():
    for collective, algorithm in (("all_reduce", "ring"), ("all_reduce", "double-tree"), ("broadcast", "binomial")):
        schedule = CATALOGUE[collective, algorithm](8)
        programs = fused(schedule)
        written = [(rank, to, one.chunk) for rank, mine in enumerate(programs) for one in mine for to in one.targets]
        read = [(by, rank, one.chunk) for rank, mine in enumerate(programs) for one in mine for by in one.sources]
        moved = [(t.src, t.dst, t.chunk) for step in schedule.steps for t in step]
        assert sorted(written) == sorted(read) == sorted(moved)


def test_a_switch_has_no_primitives_of_these():
    with pytest.raises(ScheduleError, match="switch"):
        fused(CATALOGUE["all_reduce", "nvls"](4))
