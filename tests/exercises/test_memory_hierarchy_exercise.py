"""The checkers of memory-hierarchy accept what is right and refuse every seeded wrong answer, with the case that shows it."""

from math import ceil

import pytest
from solutions import refused, solutions

from helpers.exercises import memory_hierarchy as exercise


def right_links(nbytes, flops, peak, links):
    seconds = {name: nbytes / link.one_way.value for name, link in links.items()} | {"recompute": flops / peak}
    return min(seconds, key=seconds.get)


def as_counted(nbytes, flops, peak, links):
    """Takes every link's number as it stands, one way or both."""
    seconds = {name: nbytes / link.value for name, link in links.items()} | {"recompute": flops / peak}
    return min(seconds, key=seconds.get)


def test_the_solution_on_the_page_solves_the_exercise():
    assert exercise.tile(solutions("memory-hierarchy")["my_tile"]).passed


@pytest.mark.parametrize(
    "checker, right, said",
    [
        (exercise.banks, lambda banks, clock, sms: (banks * 4 * clock, banks * 4 * clock * sms), "for 4 chips"),
        (exercise.from_memory, lambda w, c, t: w if w <= c else w * t, "in 6 cases"),
        (exercise.tile, lambda flops, rate, nbytes: ceil(flops * nbytes / rate), "all 27 cases"),
        (exercise.nearest, right_links, "all 15 cases"),
    ],
)
def test_right_answers_are_accepted(checker, right, said):
    answer = checker(right)
    assert answer.passed and said in str(answer), answer


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda b, f, n: (b * 4 * f * n, b * 4 * f * n), "one SM moves 203.5 GB/s, you said 8141"),
        (lambda b, f, n: (b * 4 * f, b * 4 * f), "the chip moves 8141 GB/s, you said 203.5"),
        (lambda b, f, n: (b * f, b * f * n), "Hint: 128 bytes a clock"),
        (lambda b, f, n: b * 4 * f, "expected two rates"),
        (lambda b, f, n: (None, 1.0), "expected bytes per second, got None"),
        (lambda b, f, n: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_wrong_banks_are_refused(wrong, said):
    refused(exercise.banks(wrong), said)


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda w, c, t: w * t, "a cache of 40 and 5 tokens: 10 lines come from memory, you said 50"),
        (
            lambda w, c, t: w,
            "For 41 lines of weights, a cache of 40 and 3 tokens: 123 lines come from memory, you said 41",
        ),
        (lambda w, c, t: w + max(0, w - c) * (t - 1), "123 lines come from memory, you said 43"),
        (lambda w, c, t: w if w < c else w * t, "For 40 lines of weights, a cache of 40 and 3 tokens: 40 lines"),
        (lambda w, c, t: "all", "expected a number of lines, got 'all'"),
    ],
)
def test_wrong_counts_of_lines_are_refused(wrong, said):
    refused(exercise.from_memory(wrong), said)


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda f, r, e: ceil(f / r), "2 bytes an element: it is 307, you said 154"),
        (lambda f, r, e: round(f * e / r), "it is 154, you said 153"),
        (lambda f, r, e: 128, "it is 154, you said 128"),
        (lambda f, r, e: 4096, "you said 4096"),
        (lambda f, r, e: f * e / r, "expected a whole number of rows"),
        (lambda f, r, e: 0, "1 or more, got 0"),
    ],
)
def test_wrong_tiles_are_refused(wrong, said):
    refused(exercise.tile(wrong), said)


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda n, f, p, links: "recompute", "4096 FLOP a byte to make again: recompute takes"),
        (lambda n, f, p, links: "nvlink-4", "1 FLOP a byte to make again: nvlink-4 takes"),
        (as_counted, "a tensor travels one way"),
        (lambda n, f, p, links: "hbm", "expected one of nvlink-4, pcie-5, infiniband-ndr, recompute, got 'hbm'"),
        (lambda n, f, p, links: None, "got None"),
    ],
)
def test_wrong_ways_are_refused(wrong, said):
    refused(exercise.nearest(wrong), said)


@pytest.mark.parametrize("weights, cache, tokens, want", [(3, 2, 2, 6), (2, 2, 9, 2), (5, 4, 3, 15)])
def test_the_cache_that_is_played_does_what_the_arithmetic_says(weights, cache, tokens, want):
    assert exercise.misses(weights, cache, tokens) == want
