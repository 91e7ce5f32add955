"""The line through the published table, and the networks that were read off it."""

import random
from itertools import pairwise

import pytest

from helpers.facts import LINKS, public
from helpers.facts.fit import fit, minimax, worst
from helpers.units import GB, MIB

# links.toml holds seven or eight digits of each.
STORED = 1e-6


@pytest.mark.parametrize("draw", [fit, minimax])
def test_an_exact_line_is_found_exactly(draw):
    sizes = [8 * 4**k for k in range(14)]
    alpha, beta = draw(sizes, [25e-6 + n / 227e9 for n in sizes])
    assert (alpha, 1 / beta) == (pytest.approx(25e-6, rel=1e-9), pytest.approx(227e9, rel=1e-9))


def test_the_fit_has_the_least_sum_of_squared_relative_errors():
    sizes, seconds = _columns("nccl-tests-4xh100-all_reduce")
    alpha, beta = fit(sizes, seconds)

    def loss(a, b):
        return sum(((a + n * b) / t - 1) ** 2 for n, t in zip(sizes, seconds, strict=True))

    around = [(alpha * (1 + i), beta * (1 + j)) for i in (-1e-3, 0, 1e-3) for j in (-1e-3, 0, 1e-3) if i or j]
    assert all(loss(alpha, beta) < loss(*near) for near in around)


def test_relative_errors_are_what_counts():
    """A large size that is off by 1 ms must not drown the small sizes, as it would in an ordinary fit."""
    sizes, seconds = [10**3, 10**4, 10**9, 2 * 10**9], [20e-6, 20e-6, 10.5e-3, 19.5e-3]
    alpha, _ = fit(sizes, seconds)
    assert alpha == pytest.approx(20e-6, rel=0.02)


@pytest.mark.parametrize(
    ("sizes", "seconds", "words"),
    [
        ([1, 2], [1.0], "2 and 1"),
        ([], [], "two distinct"),
        ([4, 4], [1.0, 2.0], "two distinct"),
        ([0, 4], [1.0, 2.0], "size is a positive number, got 0"),
        ([2, 4], [1.0, 0.0], "time is a positive number, got 0.0"),
        ([2, 4], [1.0, float("nan")], "nan"),
    ],
)
def test_a_line_that_cannot_be_drawn_is_refused(sizes, seconds, words):
    for draw in (fit, minimax):
        with pytest.raises(ValueError, match=words):
            draw(sizes, seconds)


# the least largest error ------------------------------------------------------------------------------------------------
def points(seed):
    """3 to 12 random sizes in no order, with times on a line, near one, or anywhere."""
    draw = random.Random(seed)
    sizes = draw.sample(range(1, 10**7), draw.randint(3, 12))
    noise = draw.choice([0.01, 0.3, 0.9])
    return sizes, [(1e-5 + n * draw.choice([1e-9, 2e-9])) * (1 + draw.uniform(-noise, noise)) for n in sizes]


def least(f, low, high, turns=80):
    """The least value of a convex function, by cutting a third off its interval again and again."""
    for _ in range(turns):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if f(a) < f(b) else (a, high)
    return f((low + high) / 2)


@pytest.mark.parametrize("seed", range(20))
def test_no_line_has_a_smaller_largest_error(seed):
    """Against brute force: for every slope the best height, and of these the best slope; both by search, knowing no theory."""
    sizes, seconds = points(seed)
    top, steep = 2 * max(seconds), 2 * max(seconds) / (max(sizes) - min(sizes)) * 10
    brute = least(lambda b: least(lambda a: worst(sizes, seconds, a, b), -20 * top, 20 * top), -steep, steep)
    assert worst(sizes, seconds, *minimax(sizes, seconds)) == pytest.approx(brute, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_three_points_hold_the_line_from_both_sides_in_turns(seed):
    sizes, seconds = points(seed)
    alpha, beta = minimax(sizes, seconds)
    off = [(alpha + n * beta) / t - 1 for n, t in sorted(zip(sizes, seconds, strict=True))]
    most = max(map(abs, off))
    sides = [e > 0 for e in off if abs(e) > most * (1 - 1e-9)]
    assert sum(a != b for a, b in pairwise(sides)) >= 2


def test_two_points_are_met_and_the_order_does_not_matter():
    assert minimax([4, 1], [14.0, 5.0]) == (pytest.approx(2), pytest.approx(3))
    sizes, seconds = _columns("nccl-tests-4xh100-all_reduce")
    assert minimax(sizes[::-1], seconds[::-1]) == minimax(sizes, seconds)


def test_three_points_by_hand():
    """The chord from 1 to 3 is 2 high in the middle, and the point there is at 3: e = (3 - 2) / (3 + 2)."""
    assert minimax([1, 2, 3], [1.0, 3.0, 3.0]) == (pytest.approx(0), pytest.approx(1.2))
    assert worst([1, 2, 3], [1.0, 3.0, 3.0], 0, 1.2) == pytest.approx(0.2)


def test_a_size_that_comes_twice_is_refused():
    with pytest.raises(ValueError, match="every size comes once, got 4 more than once"):
        minimax([4, 8, 4], [1.0, 2.0, 1.1])


def test_the_published_table_lies_within_six_per_cent_of_a_line():
    sizes, seconds = _columns("nccl-tests-4xh100-all_reduce")
    alpha, beta = minimax(sizes, seconds)
    assert worst(sizes, seconds, alpha, beta) == pytest.approx(0.05624, abs=5e-6)
    assert (alpha * 1e6, 1 / beta / GB) == (pytest.approx(24.61, abs=0.005), pytest.approx(226.98, abs=0.005))


def test_the_second_table_of_that_machine_does_not():
    """Large sizes by 6 to 8 %, small ones by a third and more."""
    line = minimax(*_columns("nccl-tests-4xh100-all_reduce"))
    table = public("torch-4xh100-all_reduce")
    off = {
        n: (line[0] + n * line[1]) / (n / algbw / GB) - 1
        for n, algbw in zip(table.column("nbytes"), table.column("algbw"), strict=True)
    }
    assert all(0.06 < off[n] < 0.08 for n in off if n > 2**30)
    assert all(-0.41 < off[n] < -0.31 for n in off if n <= 4 * MIB)


def test_nvlink_4_is_the_straight_end_of_the_published_table():
    """A ring passes 2(P-1)/P buffers through each wire: the slope from 64 MiB on."""
    sizes, seconds = _columns("nccl-tests-4xh100-all_reduce")
    ends = [place for place, nbytes in enumerate(sizes) if nbytes >= 64 * MIB]
    _, slope = minimax([sizes[place] for place in ends], [seconds[place] for place in ends])
    assert LINKS["nvlink-4"].bandwidth.value == pytest.approx(6 / 4 / slope, rel=STORED)


def test_that_line_in_the_numbers_that_the_prose_gives():
    sizes, seconds = _columns("nccl-tests-4xh100-all_reduce")
    intercept, slope = fit(sizes, seconds)
    assert intercept * 1e6 == pytest.approx(24.3, abs=0.05)
    assert 1 / slope / GB == pytest.approx(226.8, abs=0.05)
    assert worst(sizes, seconds, intercept, slope) == pytest.approx(0.068, abs=0.0005)
    assert intercept / slope / MIB == pytest.approx(5.26, abs=0.005)


def test_a_line_drawn_for_the_smallest_worst_error_is_close_by():
    """24.7 µs and 227.5 GB/s, known from elsewhere, trade a larger sum of squares for a smaller worst error."""
    sizes, seconds = _columns("nccl-tests-4xh100-all_reduce")
    intercept, slope = fit(sizes, seconds)
    assert worst(sizes, seconds, 24.7e-6, 1 / 227.5e9) == pytest.approx(0.058, abs=0.0005)
    assert (intercept, 1 / slope) == (pytest.approx(24.7e-6, rel=0.02), pytest.approx(227.5e9, rel=0.005))


def test_nvlink_3_takes_its_bandwidth_from_the_straight_end_of_its_table():
    table = public("nccl-tests-8xa100-all_reduce")
    large = [row for row in table.rows if row["nbytes"] >= 512 * MIB]
    sizes, seconds = [row["nbytes"] for row in large], [row["seconds"] for row in large]
    intercept, slope = fit(sizes, seconds)
    assert len(large) == 6 and worst(sizes, seconds, intercept, slope) < 0.003
    assert LINKS["nvlink-3"].bandwidth.value == pytest.approx(14 / 8 / slope, rel=STORED)


def test_why_nvlink_3_is_no_single_line():
    sizes, seconds = _columns("nccl-tests-8xa100-all_reduce")
    assert worst(sizes, seconds, *fit(sizes, seconds)) > 0.35


def _columns(name):
    table = public(name)
    return table.column("nbytes"), table.column("seconds")
