"""Occupancy: NVIDIA's own header on 1,505 cases, NVIDIA's own examples, and launches that cannot be."""

import heapq
from pathlib import Path

import pytest

from helpers.facts import ACCELERATORS
from helpers.memory.occupancy import Occupancy, OccupancyError, curve, occupancy, rounds

CASES = Path(__file__).with_name("occupancy_cases.txt")
FACTORS = {"warp slots": 1, "registers": 2, "shared memory": 4, "block slots": 8}


def cases() -> list[list[str]]:
    return [line.split() for line in CASES.read_text().splitlines() if not line.startswith("#")]


def test_every_case_of_nvidias_header():
    rows = cases()
    assert len(rows) == 1505 and len({row[0] for row in rows}) == 7
    for name, *numbers in rows:
        threads, registers, shared, blocks, factors = map(int, numbers)
        got = occupancy(ACCELERATORS[name], threads, registers, shared)
        assert (got.blocks, sum(FACTORS[limit] for limit in got.limiters)) == (blocks, factors), got


@pytest.mark.parametrize(("threads", "blocks", "percent"), [(128, 12, 75), (320, 4, 62.5)])
def test_the_best_practices_guides_example(threads, blocks, percent):
    """37 registers a thread on compute capability 7.0: 75 % with blocks of 128 threads, 63 % with blocks of 320."""
    got = occupancy(ACCELERATORS["V100"], threads, 37)
    assert (got.blocks, 100 * got.fraction, got.limiters) == (blocks, percent, ("registers",))


def test_thirty_two_registers_are_the_most_for_a_full_sm():
    for name in ("V100", "A100", "H100", "B200"):
        assert occupancy(ACCELERATORS[name], 256, 32).fraction == 1
        assert occupancy(ACCELERATORS[name], 256, 33).fraction < 1


def test_registers_are_handed_out_in_steps_of_eight():
    """256 registers per warp of 32 lanes: 33 cost what 40 cost."""
    a100 = ACCELERATORS["A100"]
    assert len({occupancy(a100, 128, n).blocks for n in range(33, 41)}) == 1
    assert occupancy(a100, 128, 41).blocks < occupancy(a100, 128, 40).blocks


def test_a_block_costs_a_kibibyte_more_than_it_asks_for():
    a100 = ACCELERATORS["A100"]
    assert occupancy(a100, 128, 32, 40 * 1024).limits["shared memory"] == 4  # 164 // 41
    assert occupancy(a100, 128, 32, 41 * 1024).limits["shared memory"] == 3  # 164 // 42, though 4 * 41 = 164
    assert occupancy(ACCELERATORS["V100"], 128, 32, 48 * 1024).limits["shared memory"] == 2  # nothing reserved


def test_small_blocks_run_out_of_block_slots():
    got = occupancy(ACCELERATORS["A100"], 32)
    assert (got.blocks, got.warps, got.limiters) == (32, 32, ("block slots",))


def test_too_many_registers_for_one_block_do_not_launch():
    got = occupancy(ACCELERATORS["A100"], 1024, 128)
    assert (got.blocks, got.fraction, got.limiters) == (0, 0, ("registers",))
    assert "does not launch" in str(got)


def test_a_limit_that_is_none_limits_nothing():
    got = occupancy(ACCELERATORS["V100"], 1024, 0, 0)
    assert got.limits["registers"] is None and got.limits["shared memory"] is None
    assert got.fraction == 1


def test_the_curve_has_every_block_size():
    h100 = ACCELERATORS["H100"]
    points = curve(h100, 64, 16 * 1024)
    assert [threads for threads, _ in points] == list(range(32, 1025, 32))
    assert all(warps == occupancy(h100, threads, 64, 16 * 1024).warps for threads, warps in points)
    assert max(warps for _, warps in points) == 32


@pytest.mark.parametrize("shared", [0, 40 * 1024, 96 * 1024])
def test_rounds_are_those_of_blocks_handed_out_one_by_one(shared):
    """Each goes to the place that is free first; all take one tick."""
    fit = occupancy(ACCELERATORS["A100"], 256, 64, shared)
    places = fit.blocks * 108
    for blocks in (1, places - 1, places, places + 1, 2 * places, 3 * places + 7):
        free = [0] * places
        for _ in range(blocks):
            heapq.heapreplace(free, free[0] + 1)
        n, busy = rounds(fit, blocks)
        assert n == max(free) and busy * n * places == pytest.approx(sum(free))
    with pytest.raises(OccupancyError, match="1 block or more"):
        rounds(fit, 0)
    with pytest.raises(OccupancyError, match="does not launch"):
        rounds(occupancy(ACCELERATORS["A100"], 1024, 65), 4)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0, 32, 0), "threads per block must be a whole number from 1 to 1024 on A100, got 0"),
        ((1025, 32, 0), "got 1025"),
        ((128, 256, 0), "registers per thread must be a whole number from 0 to 255"),
        ((128, 32, 163 * 1024 + 1), "from 0 to 166912 on A100"),
        ((128, 32, -1), "got -1"),
        ((128.0, 32, 0), r"got 128\.0"),
        ((True, 32, 0), "got True"),
    ],
)
def test_what_no_launch_may_have_is_refused(numbers, words):
    with pytest.raises(OccupancyError, match=words):
        occupancy(ACCELERATORS["A100"], *numbers)


def test_amd_has_other_rules():
    with pytest.raises(OccupancyError, match="MI300X hands out registers by other rules"):
        occupancy(ACCELERATORS["MI300X"], 256)


def test_it_prints_what_runs_out():
    got = occupancy(ACCELERATORS["A100"], 256, 64)
    assert isinstance(got, Occupancy)
    assert str(got) == "A100: 4 blocks, 32 of 64 warps (50%); first to run out: registers"
