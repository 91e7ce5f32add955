"""A warp: what it issues, what it touches, what collides; against the CUDA guides' examples and by counting again."""

import random

import pytest

from helpers.memory.warps import (
    BRANCHES,
    WarpError,
    bank_conflicts,
    coalesce,
    diverge,
    pattern,
    strided,
)


@pytest.mark.parametrize(
    ("stride", "offset", "nbytes", "sectors", "lines"),
    [
        (1, 0, 4, 4, 1),  # the guide's coalesced load: 128 bytes in four transactions
        (1, 4, 4, 5, 2),  # misaligned: a fifth sector
        (2, 0, 4, 8, 2),  # every second word: half of what moves is used
        (8, 0, 4, 32, 8),
        (32, 0, 4, 32, 32),
        (0, 0, 4, 1, 1),  # all lanes on one word
        (1, 0, 16, 16, 4),
        (1, 0, 2, 2, 1),
        (3, 2, 2, 6, 2),
    ],
)
def test_sectors_and_lines_of_a_stride(stride, offset, nbytes, sectors, lines):
    got = coalesce(strided(stride, offset, nbytes), nbytes)
    assert (len(got.sectors), len(got.lines), got.moved) == (sectors, lines, 32 * sectors)


def test_stride_two_halves_the_efficiency_and_stride_eight_leaves_an_eighth():
    assert [coalesce(strided(n)).efficiency for n in (1, 2, 4, 8, 16)] == [1, 0.5, 0.25, 0.125, 0.125]


def test_sectors_are_those_counted_byte_by_byte():
    rng = random.Random(1)
    for _ in range(200):
        addresses = [rng.randrange(4096) for _ in range(32)]
        touched = {byte // 32 for start in addresses for byte in range(start, start + 4)}
        assert set(coalesce(addresses).sectors) == touched


@pytest.mark.parametrize(
    ("stride", "ways"), [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (31, 1), (32, 32), (33, 1), (64, 32)]
)
def test_ways_of_a_stride_are_its_common_divisor_with_32(stride, ways):
    assert bank_conflicts(strided(stride)).ways == ways


def test_lanes_on_one_word_share_it():
    assert bank_conflicts([0] * 16 + [128] * 16).ways == 2
    assert bank_conflicts([4] * 32).words[1] == (1,)


def test_two_branches_take_the_sum_of_their_lengths_and_the_lanes_wait():
    got = diverge(pattern("even or odd"), [6, 4])
    assert (got.steps, got.useful, got.efficiency) == (10, 160, 0.5)
    assert got.issued[0] == (0, tuple(range(0, 32, 2))) and got.issued[-1] == (1, tuple(range(1, 32, 2)))


def test_a_branch_that_no_lane_takes_costs_nothing():
    assert diverge(pattern("none"), [6, 4]).steps == 6


def test_one_lane_makes_31_wait():
    got = diverge(pattern("one lane"), [0, 8])
    assert (got.steps, got.useful, got.efficiency) == (8, 8, 1 / 32)


@pytest.mark.parametrize(("name", "lanes"), [("halves", 16), ("quarters", 8)])
def test_parts_of_a_warp_are_equal_runs_of_lanes(name, lanes):
    assert pattern(name) == tuple(part for part in range(32 // lanes) for _ in range(lanes))


def test_every_lane_its_own_is_a_loop_over_lanes():
    got = diverge(pattern("every lane its own"), [2] * 32)
    assert (got.steps, got.efficiency) == (64, 1 / 32)
    assert [lanes for _, lanes in got.issued[::2]] == [(lane,) for lane in range(32)]


@pytest.mark.parametrize("name", BRANCHES)
def test_every_lane_gets_exactly_its_own_steps(name):
    lengths = [3 + branch % 5 for branch in range(32)]
    got = diverge(pattern(name), lengths)
    for lane, branch in enumerate(pattern(name)):
        assert sum(lane in lanes for _, lanes in got.issued) == lengths[branch]


def test_nothing_to_do_is_no_waste():
    assert diverge(pattern("none"), [0]).efficiency == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: coalesce([0] * 31), "a warp has 32 lanes, got 31 addresses"),
        (lambda: bank_conflicts([-4] * 32), "got -4"),
        (lambda: coalesce([0.5] * 32), r"got 0\.5"),
        (lambda: diverge([0] * 33, [1]), "got 33 branches"),
        (lambda: diverge([1] * 32, [1]), "branch 1 has no length"),
        (lambda: diverge([0] * 32, [65]), "0 to 64 instructions"),
        (lambda: strided(1, 0, 3), "1, 2, 4, 8 or 16 bytes"),
        (lambda: strided(-1), "stride and offset are 0 or more"),
        (lambda: pattern("random"), "branch must be one of none, even or odd"),
    ],
)
def test_what_no_warp_can_have_is_refused(call, words):
    with pytest.raises(WarpError, match=words):
        call()
