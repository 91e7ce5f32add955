"""The checkers of units accept what is right and refuse every seeded wrong answer, with the case that shows it."""

import pytest
from solutions import refused, solutions

from helpers.collectives import PROMISES
from helpers.exercises import units as exercise


# the two bandwidths --------------------------------------------------------------------------------------------------
def test_the_solution_on_the_page_solves_the_exercise():
    assert exercise.bus_bandwidth(solutions("units")["my_busbw"]).passed


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda name, size, n, t: 2 * (n - 1) / n * size / t, "you said 34.95 GB/s, it is 17.48"),
        (lambda name, size, n, t: size / t, "reduce_scatter of 1 MiB on 2 ranks"),
        (lambda name, size, n, t: (2 if name == "all_reduce" else 1) * (n - 1) / n * size / t, "you said"),
        (lambda name, size, n, t: PROMISES[name].bus_factor(n) * size / t / 1e9, "it is 34.95"),
        (lambda name, size, n, t: "35 GB/s", "expected a number, got '35 GB/s'"),
        (lambda name, size, n, t: {}[name], "KeyError"),
    ],
)
def test_wrong_bandwidths_are_refused(wrong, said):
    refused(exercise.bus_bandwidth(wrong), said)


# which can be compared -----------------------------------------------------------------------------------------------
def test_the_pairs_that_count_alike_are_accepted():
    answer = exercise.comparable("jgfdca")
    assert answer.passed and "6 of 10" in str(answer), answer


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        ("abcdefghij", "b: cannot mix 900 GB/s both ways per GPU with 63.02 GB/s one way per GPU"),
        ("", "a can be compared"),
        ("acdfg", "j can be compared"),
        ("acdefgj", "the scopes differ"),
        ("acdfghj", "the directions and scopes differ"),
        ("acdfgij", "1 / n"),
        ("xyz", "letters from a to j"),
        (["a"], "letters from a to j"),
    ],
)
def test_other_letters_are_refused(letters, said):
    refused(exercise.comparable(letters), said)


# one way per GPU -----------------------------------------------------------------------------------------------------
def right_line(sold, count):
    return sold.one_way.times({"link": count, "GPU": 1, "node": 1 / count}[sold.scope], "GPU")


def test_a_line_of_a_datasheet_is_turned():
    assert exercise.one_way_per_gpu(right_line).passed


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda sold, count: sold, "you said 900 GB/s both ways per GPU, it is 450 GB/s one way per GPU"),
        (lambda sold, count: sold.one_way, "25 GB/s one way per link, with 18"),
        (lambda sold, count: sold.one_way.times(count, "GPU"), "400 GB/s one way per node"),
        (lambda sold, count: right_line(sold, count) * 2, "you said 900 GB/s one way per GPU"),
        (lambda sold, count: right_line(sold, count).value, "expected a Bandwidth"),
        (lambda sold, count: sold.half, "AttributeError"),
    ],
)
def test_other_lines_are_refused(wrong, said):
    refused(exercise.one_way_per_gpu(wrong), said)


# a row of a table ----------------------------------------------------------------------------------------------------
def right_share(row, nranks, sold):
    return row["nbytes"] / row["seconds"] * 2 * (nranks - 1) / nranks / sold.one_way.value


def test_a_share_of_the_line_rate_is_accepted():
    answer = exercise.line_rate_share(right_share)
    assert answer.passed and "all 12 cases" in str(answer), answer


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda row, n, sold: right_share(row, n, sold) / 2, "256 MiB on 4 GPUs"),
        (lambda row, n, sold: row["nbytes"] / row["seconds"] / sold.one_way.value, "Hint: a message goes one way"),
        (
            lambda row, n, sold: right_share(row, n, sold) * sold.one_way.value / sold.value,
            "sold with 900 GB/s both ways",
        ),
        (lambda row, n, sold: right_share(row, 4, sold), "on 8 GPUs"),
        (lambda row, n, sold: 100 * right_share(row, n, sold), "it is 75"),
        (lambda row, n, sold: row["busbw"], "KeyError"),
        (lambda row, n, sold: None, "expected a number, got None"),
    ],
)
def test_other_shares_are_refused(wrong, said):
    refused(exercise.line_rate_share(wrong), said)
