"""Calls in a row against calls one by one: who waits for what, counted on a call of known length; and what is refused."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import RankError, Timing, recorded
from helpers.ranks.timing import apart as module
from helpers.ranks.timing.apart import Apart, apart

CASES = [((6,), "multiple of 4 bytes"), ((0,), "got 0"), ((4, 0), "calls >= 1"), ((4, 1, 0), "rows >= 1")]


def stood_in(calls, rows, given, worked):
    """Inside ranks: apart by a clock that only calls move: giving one away takes `given`, working on it `worked`, one by one."""
    now, free, log, places = [0.0], [0.0], [], []
    met, meet = [0], dist.barrier
    real, watch = dist.all_reduce, module.time

    class Work:
        def __init__(self):
            free[0] = self.end = max(free[0], now[0]) + worked

        def wait(self):
            now[0] = max(now[0], self.end)

    def all_reduce(x, op=dist.ReduceOp.SUM, async_op=False):
        if x.dtype == torch.float64:
            return real(x, op)
        log.append(async_op)
        places.append(x.data_ptr())
        now[0] += given
        return Work() if async_op else Work().wait()

    def barrier():
        met[0] += 1
        meet()

    dist.barrier = barrier
    dist.all_reduce, module.time = all_reduce, SimpleNamespace(perf_counter=lambda: now[0])
    try:
        found = apart(4096, calls, rows)
    finally:
        dist.all_reduce, module.time, dist.barrier = real, watch, meet
    return found, log, len(set(places[:2])) == 2 and places[:2] == places[2:4], met[0]


@pytest.mark.parametrize(("given", "worked"), [(1, 2), (2, 1), (3, 3)])
def test_in_a_row_the_longer_counts_and_one_by_one_both(two, given, worked):
    """In a row of six the shorter of the two shows once."""
    found, log, alternates, met = two.run(stood_in, 6, 1, given, worked)[0]
    assert alternates, "two calls that are under way at once have each its own elements"
    assert met == 1 + 1 + 6, "ranks meet before a row, and before each call that stands alone"
    assert found.nbytes == 4096 and log == [True] * 12 + [False] * 6
    seconds = [taken.min for taken in found[1:]]
    assert seconds == pytest.approx([given, max(given, worked) + min(given, worked) / 6, given + worked])


def test_all_ranks_report_the_same_and_every_repetition_counts(four):
    found = four.run(apart, 4096, 3, 4)
    assert found == [found[0]] * 4 and isinstance(found[0], Apart)
    for taken in found[0][1:]:
        assert isinstance(taken, Timing) and taken.reps == 4 and 0 < taken.min <= taken.median
    assert found[0].given.min < found[0].row.min, "a call is given away before it is done"


def of_two_speeds():
    """The call takes rank 1 three times as long as rank 0."""
    speed = 1 + 2 * dist.get_rank()
    return stood_in(3, 1, speed, speed)[0]


def test_the_slowest_rank_counts(two):
    for found in two.run(of_two_speeds):
        assert found.alone.min == 6.0 and found.given.min == 3.0


def test_ranks_that_share_a_gpu_are_not_timed(monkeypatch):
    monkeypatch.setattr(module.inside, "shares_a_gpu", lambda: True)
    with pytest.raises(RuntimeError, match="share a GPU: their times mean nothing"):
        apart(4096)


def test_where_a_recorded_run_is_shown_nothing_is_repeated(two):
    def reps():
        os.environ[recorded.SWITCH] = "recorded"
        try:
            found, log, *_ = stood_in(20, 5, 1, 1)
            return found.row.reps, len(log)
        finally:
            del os.environ[recorded.SWITCH]

    assert two.run(reps) == [(1, 3 * 4)] * 2


@pytest.mark.parametrize(("arguments", "says"), CASES)
def test_what_makes_no_sense_is_refused(two, arguments, says):
    with pytest.raises(RankError, match=says):
        two.run(apart, *arguments)
