"""The ring's two conventions, who owns what, and numbers played through schedules. All entries: test_catalogue.py."""

from dataclasses import replace

import numpy as np
import pytest
from lanes import some

from helpers.collectives import (
    Schedule,
    ScheduleError,
    Transfer,
    check,
    contributions,
    owner,
    simulate,
)
from helpers.collectives.algorithms import ring


@pytest.mark.parametrize("n", [2, 3, 4, 8, 64])
def test_the_ring_sends_the_least_possible(n):
    """2(P-1)/P of the buffer: exactly, on every rank; and only ever to the next rank."""
    schedule = ring.all_reduce(n)
    assert schedule.sent() == schedule.received() == [2 * (n - 1)] * n
    assert schedule.nchunks == n
    assert {(t.dst - t.src) % n for step in schedule.steps for t in step} == {1}


@pytest.mark.parametrize("first", some([-1, 0, 1, 5], [0, 5], "another first chunk"))
def test_who_owns_what_half_way(first):
    """Erratum E1: a ring in which rank r first sends chunk r + first leaves rank r with chunk r + first + 1, and no other."""
    for n in range(2, 65):
        schedule = ring.all_reduce(n, first=first)
        check(schedule)
        assert all(t.chunk == (t.src + first) % n for t in schedule.steps[0])
        half = list(contributions(replace(schedule, steps=schedule.steps[: n - 1])))[-1]
        whole = np.argwhere((half == 1).all(axis=2))
        assert whole.tolist() == [[r, (r + first + 1) % n] for r in range(n)]


def test_the_article_states_the_wrong_owner():
    """Four ranks, rank r first sends chunk r: the article says that GPU 0 ends with chunk 3; it ends with chunk 1."""
    reduce_scatter = replace(ring.all_reduce(4, first=0), steps=ring.all_reduce(4, first=0).steps[:3])
    half = list(contributions(reduce_scatter))[-1]
    assert (half[0] == 1).all(axis=1).tolist() == [False, True, False, False]
    with pytest.raises(ScheduleError, match=r"rank 0 chunk 0 holds \[0\], should hold \[0 \+ 1 \+ 2 \+ 3\]"):
        check(reduce_scatter.named("reduce_scatter", "ring"))


def test_pipelined_broadcast():
    for n in (1, 2, 3, 4, 8):
        for nchunks in (1, 2, 5, 16):
            for root in range(n):
                schedule = ring.broadcast(n, root, nchunks)
                check(schedule)
                assert len(schedule.steps) == (nchunks + n - 2 if n > 1 else 0)
                assert sum(schedule.sent()) == nchunks * (n - 1)
    with pytest.raises(ScheduleError, match="nchunks must be a whole number >= 1, got 0"):
        ring.broadcast(4, 0, 0)


def test_a_rank_may_own_several_chunks():
    """Chunk c belongs to rank c // (nchunks / nranks): neighbours stay together, as in one buffer cut in nranks parts."""
    assert [owner(c, 3, 6) for c in range(6)] == [0, 0, 1, 1, 2, 2]
    pairs = [Transfer(0, 1, 0), Transfer(0, 1, 1), Transfer(1, 0, 2), Transfer(1, 0, 3)]
    check(Schedule("all_gather", "swap", 2, 4, [pairs]))
    with pytest.raises(ScheduleError, match="rank 0 sends chunk 2, but nothing is there yet"):
        check(Schedule("all_gather", "swap", 2, 4, [[Transfer(0, 1, 0), Transfer(0, 1, 2)]]))


def test_only_rooted_collectives_take_a_root():
    with pytest.raises(ScheduleError, match="broadcast needs root, got root=None"):
        check(replace(ring.broadcast(4), root=None))
    with pytest.raises(ScheduleError, match="all_reduce takes no root, got root=1"):
        check(replace(ring.all_reduce(4), root=1))


# numbers ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("numel", [0, 1, 6, 97])
def test_simulate_sums_uneven_buffers(n, numel):
    """numel need not be divisible by P: tensor_split gives chunks of two sizes, and the sums are the same."""
    data = np.random.default_rng(numel).integers(0, 1000, (n, numel))
    splits = [np.array_split(row, n) for row in data]
    width = max(len(c) for c in splits[0])
    padded = np.array([[np.pad(c, (0, width - len(c))) for c in row] for row in splits])
    *_, final = simulate(ring.all_reduce(n), padded)
    for rank in range(n):
        got = np.concatenate([final[rank, c, : len(splits[0][c])] for c in range(n)])
        assert (got == data.sum(axis=0)).all()


def test_simulate_yields_every_state_and_keeps_the_input():
    chunks = np.arange(9.0).reshape(3, 3)
    before = chunks.copy()
    states = list(simulate(ring.all_reduce(3), chunks))
    assert len(states) == 1 + 4
    assert (states[0] == before).all() and (chunks == before).all()
    assert (states[-1] == chunks.sum(axis=0)).all()
    with pytest.raises(ScheduleError, match=r"chunks must have shape \(3, 3, \.\.\.\), got \(2, 3\)"):
        list(simulate(ring.all_reduce(3), chunks[:2]))


def test_a_step_reads_what_the_step_before_left():
    swap = Schedule("all_gather", "swap", 2, 2, [[Transfer(0, 1, 0), Transfer(1, 0, 0)]])
    *_, after = simulate(swap, np.array([[1, 0], [2, 0]]))
    assert after[:, 0].tolist() == [2, 1]
