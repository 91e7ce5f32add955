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
    now, free, log = [0.0], [0.0], []
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
        now[0] += given
        return Work() if async_op else Work().wait()

    dist.all_reduce, module.time = all_reduce, SimpleNamespace(perf_counter=lambda: now[0])
    try:
        return apart(4096, calls, rows), log
    finally:
        dist.all_reduce, module.time = real, watch


@pytest.mark.parametrize(("given", "worked"), [(1, 2), (2, 1), (3, 3)])
def test_in_a_row_the_longer_counts_and_one_by_one_both(two, given, worked):
    """In a row of six the shorter of the two shows once."""
    found, log = two.run(stood_in, 6, 1, given, worked)[0]
    assert found.nbytes == 4096 and log == [True] * 12 + [False] * 6
    seconds = [taken.min for taken in found[1:]]
    assert seconds == pytest.approx([given, max(given, worked) + min(given, worked) / 6, given + worked])


def test_all_ranks_report_the_same_and_every_repetition_counts(four):
    found = four.run(apart, 4096, 3, 4)
    assert found == [found[0]] * 4 and isinstance(found[0], Apart)
    for taken in found[0][1:]:
        assert isinstance(taken, Timing) and taken.reps == 4 and 0 < taken.min <= taken.median
    assert found[0].given.min < found[0].row.min, "a call is given away before it is done"


def test_where_a_recorded_run_is_shown_nothing_is_repeated(two):
    def reps():
        os.environ[recorded.SWITCH] = "recorded"
        try:
            return apart(4096, 20, 5).row.reps
        finally:
            del os.environ[recorded.SWITCH]

    assert two.run(reps) == [1, 1]


@pytest.mark.parametrize(("arguments", "says"), CASES)
def test_what_makes_no_sense_is_refused(two, arguments, says):
    with pytest.raises(RankError, match=says):
        two.run(apart, *arguments)
