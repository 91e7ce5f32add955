"""The line through the published table, and the networks that were read off it."""

import pytest

from helpers.facts import LINKS, lookup, public
from helpers.facts.fit import fit, worst
from helpers.units import GB, MIB

# links.toml holds seven or eight digits of each.
STORED = 1e-6


def test_an_exact_line_is_found_exactly():
    sizes = [8 * 4**k for k in range(14)]
    alpha, beta = fit(sizes, [25e-6 + n / 227e9 for n in sizes])
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
    with pytest.raises(ValueError, match=words):
        fit(sizes, seconds)


def test_nvlink_4_is_the_fit_of_the_published_table():
    """t = 2(P-1) alpha + 2(P-1)/P nbytes beta: what a ring all_reduce costs."""
    sizes, seconds = _columns("nccl-tests-4xh100-all_reduce")
    intercept, slope = fit(sizes, seconds)
    assert lookup("nvlink-4.alpha").quantity == LINKS["nvlink-4"].alpha == pytest.approx(intercept / 6, rel=STORED)
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


def test_why_nvlink_3_does_not_take_its_alpha_from_there():
    sizes, seconds = _columns("nccl-tests-8xa100-all_reduce")
    assert worst(sizes, seconds, *fit(sizes, seconds)) > 0.35
    assert LINKS["nvlink-3"].alpha == 3.4e-6


def _columns(name):
    table = public(name)
    return table.column("nbytes"), table.column("seconds")
