"""Timing: counts, shapes and refusals; times themselves are only held to be positive and ordered."""

from __future__ import annotations

import os

import labs
import pytest
import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE, price
from helpers.ranks import RankError, Ranks, Timing, bench, bench_each, fit_link, messages, paired, recorded
from helpers.ranks.notes import notes
from helpers.ranks.timing import timing
from helpers.units import Bandwidth


def test_every_rank_reports_the_slowest_ranks_time(two):
    def f():
        return bench(labs.time.sleep, 0.05 * dist.get_rank(), warmup=0, reps=3)

    first, second = two.run(f)
    assert first == second and first.reps == 3
    assert 0.05 <= first.min <= first.median


def test_functions_are_called_in_turns_warm_ups_first(two):
    def f():
        calls = []
        found = bench_each({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, warmup=2, reps=3)
        return "".join(calls), list(found)

    assert two.run(f) == [("ab" * 5, ["a", "b"])] * 2


@pytest.mark.parametrize("options", [{"reps": 0}, {"warmup": -1}])
def test_bench_refuses(two, options):
    with pytest.raises(RankError, match="bench wants reps >= 1 and warmup >= 0, got"):
        two.run(lambda: bench(print, **options))


def test_a_sweep_times_torch_and_the_schedule_at_every_size(two):
    sizes = [4, 4096, 2**20 + 4]
    rows = two.run(paired, CATALOGUE["all_reduce", "ring"](nranks=2), sizes)[0]
    assert [row.nbytes for row in rows] == sizes and [row.torch.reps for row in rows] == [20, 20, 5]
    for row in rows:
        for taken in (row.torch, row.schedule):
            assert isinstance(taken, Timing) and 0 < taken.min <= taken.median


def test_a_sweep_is_repeated_for_nobody_where_a_recorded_run_is_shown(two):
    def reps():
        os.environ[recorded.SWITCH] = "recorded"
        try:
            (row,) = paired(CATALOGUE["all_reduce", "ring"](nranks=2), [4096], 2, 7)
        finally:
            del os.environ[recorded.SWITCH]
        return row.torch.reps, row.schedule.reps

    assert two.run(reps) == [(1, 1)] * 2


def test_a_sweep_moves_what_it_says(two):
    """The buffer handed to both is nbytes long: noted by the ranks themselves."""
    two.run(paired, CATALOGUE["all_reduce", "ring"](nranks=2), [4096], 1, 1)
    region = two._team.members[0].region
    assert {n.agreed for n in notes.read(region).notes if n.op == "all_reduce"} >= {"float32[1024]"}


@pytest.mark.parametrize(
    "s, sizes, said",
    [
        (CATALOGUE["all_gather", "ring"](nranks=2), [4], "paired times all_reduce schedules, got all_gather"),
        (CATALOGUE["all_reduce", "ring"](nranks=2), [6], r"a size is a multiple of 4 bytes \(float32\), got 6"),
    ],
)
def test_sweep_refuses(two, s, sizes, said):
    with pytest.raises(RankError, match=said):
        two.run(paired, s, sizes)


@pytest.mark.parametrize("busy", [False, True])
def test_a_link_fitted_to_these_ranks_prices_a_schedule(four, busy):
    link = fit_link(four, busy, sizes=[2**10, 2**14, 2**18, 2**20])
    assert link.bandwidth == Bandwidth(1 / link.beta, "one way", "GPU", "fitted") and link.alpha >= 0
    assert link.name.startswith("4 ranks, gloo, CPU")
    assert price(CATALOGUE["all_reduce", "ring"](nranks=4), 2**20, link).seconds > 6 * link.alpha


def test_a_message_needs_two_ranks(pools):
    with Ranks(1, backend="gloo") as one, pytest.raises(RankError, match="a message needs two ranks"):
        one.run(messages, [4])


def test_ping_pong_carries_the_ball(two):
    def f():
        ball = torch.full((4,), dist.get_rank(), dtype=torch.uint8)
        timing._ping_pong(ball, ball)
        return ball.tolist()

    assert two.run(f) == [[0] * 4] * 2


class Told:
    """Stands in for ranks: hands out what messages took, one series after another."""

    label = "told"

    def __init__(self, *series):
        self.series = iter(series)

    def run(self, fn, *args):
        return [next(self.series)]


def test_times_that_fall_are_measured_again():
    sizes = [2**10, 2**20, 2**24]
    rising, falling = [1e-3, 2e-3, 20e-3], [9e-3, 2e-3, 1e-3]
    assert fit_link(Told(falling, falling, rising), sizes=sizes) == fit_link(Told(rising), sizes=sizes)
    with pytest.raises(
        RuntimeError, match=r"more bytes took less time, 3 times in a row, at last 1 KiB 9 ms, .* busy\?"
    ):
        fit_link(Told(falling, falling, falling), sizes=sizes)
