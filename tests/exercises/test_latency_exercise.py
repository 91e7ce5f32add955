"""The checkers of latency-bandwidth accept what is right and refuse every seeded wrong answer, with the case that shows it."""

from math import ceil, sqrt

import pytest
from solutions import refused, solutions

from helpers.collectives import CATALOGUE, price_loads
from helpers.exercises import latency as exercise
from helpers.facts import public
from helpers.facts.fit import fit, minimax
from helpers.units import GB


# how many pieces -----------------------------------------------------------------------------------------------------
def right_pieces(nranks, nbytes, link):
    root = sqrt((nranks - 2) * nbytes * link.beta / link.alpha)
    cost = {s: (s + nranks - 2) * (link.alpha + nbytes / s * link.beta) for s in (max(1, int(root)), int(root) + 1)}
    return min(cost, key=cost.get)


def test_the_solution_on_the_page_solves_the_exercise():
    assert exercise.best_pieces(solutions("latency-bandwidth")["my_pieces"]).passed


def test_the_right_number_of_pieces_is_accepted():
    answer = exercise.best_pieces(right_pieces)
    assert answer.passed and "all 40 cases" in str(answer), answer


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda n, size, link: n, "For 4 B to 2 ranks over NVLink 4 (H100), Simple: 2 pieces take"),
        (lambda n, size, link: 1, "For 3 MiB to 3 ranks over InfiniBand NDR, Simple: 1 pieces take"),
        (lambda n, size, link: 64, "64 pieces take"),
        (lambda n, size, link: max(1, round(sqrt((n - 1) * size * link.beta / link.alpha))), "1 take"),
        (lambda n, size, link: max(1, ceil(sqrt((n - 2) * size * link.beta / link.alpha))), "pieces take"),
        (lambda n, size, link: max(1, int(sqrt(size * link.beta / link.alpha))), "to 2 ranks"),
        (
            lambda n, size, link: sqrt((n - 2) * size * link.beta / link.alpha),
            "a whole number of pieces, 1 or more, got 0.0",
        ),
        (lambda n, size, link: 0, "1 or more, got 0"),
        (lambda n, size, link: True, "got True"),
        (lambda n, size, link: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_wrong_numbers_of_pieces_are_refused(wrong, said):
    refused(exercise.best_pieces(wrong), said)


def test_the_scan_finds_what_the_whole_range_says():
    link = exercise.LINES[0]
    for nranks, nbytes in ((2, 10**6), (3, 10**7), (9, 10**6), (33, 5 * 10**6)):
        every = {s: exercise._pipelined(nranks, nbytes, link, s) for s in range(1, 400)}
        assert exercise._scanned(nranks, nbytes, link) == min(every, key=every.get)


# a line of your own --------------------------------------------------------------------------------------------------
def second():
    table = public(exercise.SECOND)
    return table.column("nbytes"), [
        n / a / GB for n, a in zip(table.column("nbytes"), table.column("algbw"), strict=True)
    ]


def test_a_line_of_the_second_table_itself_is_accepted():
    alpha, beta = minimax(*second())
    answer = exercise.own_line(alpha, 1 / beta)
    assert answer.passed and "32 KiB to 16 GiB" in str(answer), answer


def first_table():
    table = public("nccl-tests-4xh100-all_reduce")
    alpha, beta = minimax(table.column("nbytes"), table.column("seconds"))
    return alpha, 1 / beta


@pytest.mark.parametrize(
    "wrong, said",
    [
        (first_table, "At 32 KiB your line is 40.3% too fast, more than 6%. There it is mostly alpha"),
        (lambda: (41.7e-6, 450e9), "too fast, more than 6%. There it is mostly bandwidth"),
        (lambda: (41.7e-6, 367e9), "At 128 MiB"),
        (lambda: (41.7, 232e9), "too slow"),
        (lambda: (41.7e-6, 232), "too slow"),
        (lambda: (0, 232e9), "alpha is a positive number, got 0"),
        (lambda: (41.7e-6, "232 GB/s"), "bandwidth is a positive number, got '232 GB/s'"),
        (lambda: (float("nan"), 232e9), "got nan"),
        (lambda: (True, 232e9), "got True"),
        (lambda: (lambda a, b: (a, 1 / b))(*fit(*second())), "At 4 MiB your line is 6.2% too fast"),
    ],
)
def test_other_lines_are_refused_with_the_worst_size(wrong, said):
    refused(exercise.own_line(*wrong()), said)


# what belongs to the call --------------------------------------------------------------------------------------------
def right_split(nranks, seconds):
    step = (seconds[-1] - seconds[0]) / 2 / (nranks[-1] - nranks[0])
    return seconds[0] - 2 * (nranks[0] - 1) * step, step


def test_a_call_is_told_from_its_steps():
    assert exercise.split_alpha(right_split).passed


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda n, t: (0.0, t[-1] / 2 / (n[-1] - 1)), "you said 0.00 µs per call"),
        (lambda n, t: (t[0], (t[-1] - t[0]) / 2 / (n[-1] - n[0])), "it is 6.60 µs and 0.60 µs"),
        (lambda n, t: fit(n, t), "you said 5.40 µs per call and 1.20 µs per step"),
        (lambda n, t: right_split(n, t)[0], "expected two numbers"),
        (lambda n, t: None, "got None"),
        (lambda n, t: (6.6e-6, 0.6e-6), "8.40 µs and 3.40 µs"),
        (lambda n, t: n["a"], "TypeError"),
    ],
)
def test_wrong_splits_are_refused(wrong, said):
    refused(exercise.split_alpha(wrong), said)


# which one -----------------------------------------------------------------------------------------------------------
def right_choice(nranks, nbytes, link):
    return min(exercise.ALGORITHMS, key=lambda a: price_loads(CATALOGUE["all_reduce", a].profile(nranks), nbytes, link))


def test_the_cheapest_is_accepted():
    answer = exercise.quickest(right_choice)
    assert answer.passed and "all 132 cases" in str(answer), answer


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda n, size, link: "ring", "An all_reduce of 8 B on 2 ranks over NVLink 4 (H100), Simple: ring takes"),
        (lambda n, size, link: "binomial", "recursive-doubling takes"),
        (lambda n, size, link: "halving-doubling", "recursive-doubling takes"),
        (lambda n, size, link: "recursive-doubling", "recursive-doubling takes 232 µs, ring takes"),
        (lambda n, size, link: "ring" if size > 2**20 else "recursive-doubling", "2 MiB on 2 ranks"),
        (lambda n, size, link: right_choice(1 << (n - 1).bit_length(), size, link), "on 6 ranks"),
        (lambda n, size, link: right_choice(n, size, exercise.LINES[0]), "InfiniBand"),
        (lambda n, size, link: "tree", "expected one of ring, binomial"),
        (lambda n, size, link: {}[n], "KeyError"),
    ],
)
def test_other_choices_are_refused(wrong, said):
    refused(exercise.quickest(wrong), said)
