"""The checkers accept the solutions and refuse every seeded wrong answer, with the smallest failing case."""

from statistics import mean, median

import pytest
from solutions import refused

from helpers.exercises.benchmarking import average, counted, faster, three_numbers


def busbw(name, given, got, nranks, seconds):
    factor = {"all_reduce": 2}.get(name, 1) * (nranks - 1) / nranks
    return max(given, got) / seconds * factor


def three(rows):
    most = max(row["busbw"] for row in rows)
    return rows[0]["seconds"], most, min(row["nbytes"] for row in rows if row["busbw"] >= most / 2)


def last_line(rows, begin, end, factor, keys=("busbw", "in_place_busbw")):
    sizes = set()
    while begin <= end:
        sizes.add(begin)
        begin *= factor
    return mean(row[key] for row in rows if row["nbytes"] in sizes for key in keys)


def told(one, other):
    if max(one) < min(other):
        return "one"
    return "other" if max(other) < min(one) else "neither"


RIGHT = [
    (three_numbers, three, "A floor, a plateau"),
    (counted, busbw, "As nccl-tests counts, in all 8 cases"),
    (average, last_line, "The last line of 5 runs"),
    (faster, told, "What 7 pairs"),
]


@pytest.mark.parametrize(("checker", "solution", "says"), RIGHT, ids=[one[0].__name__ for one in RIGHT])
def test_accepts_the_solution(checker, solution, says):
    answer = checker(solution)
    assert answer.passed, answer
    assert str(answer).startswith(f"Solved. {says}")


def total_over_time(rows, begin, end, factor):
    inside = [row for row in rows if begin <= row["nbytes"] <= end]
    return 1.5 * sum(row["nbytes"] for row in inside) / sum(row["seconds"] for row in inside) / 1e9


def half_of_the_size(rows):
    return rows[0]["seconds"], max(row["busbw"] for row in rows), rows[-1]["nbytes"] // 2


WRONG = {
    "the blank: the last row": (
        three_numbers,
        lambda rows: (rows[0]["seconds"], rows[-1]["busbw"], rows[-1]["nbytes"]),
        "a table whose last row is slow: the plateau is 201.3",
    ),
    "the last row is the plateau": (
        three_numbers,
        lambda rows: (rows[0]["seconds"], rows[-1]["busbw"], three(rows)[2]),
        "a table whose last row is slow: the plateau is 201.3 GB/s",
    ),
    "the average is the plateau": (
        three_numbers,
        lambda rows: (rows[0]["seconds"], mean(row["busbw"] for row in rows), three(rows)[2]),
        "an average is no plateau",
    ),
    "half of the size": (three_numbers, half_of_the_size, "which is not half of the size"),
    "microseconds": (three_numbers, lambda rows: (rows[0]["seconds"] * 1e6, *three(rows)[1:]), "takes 9 µs"),
    "the fastest row": (three_numbers, lambda rows: (rows[-1]["seconds"], *three(rows)[1:]), "takes 9 µs"),
    "two numbers": (three_numbers, lambda rows: three(rows)[:2], "expected three numbers"),
    "the blank: by the output": (
        counted,
        lambda name, given, got, nranks, seconds: busbw(name, got, got, nranks, seconds),
        "reduce_scatter on 4 ranks, 400 MiB in and 100 MiB out, in 1 ms: you said 78.64 GB/s, it is 314.6 one way (0.25",
    ),
    "by the input": (counted, lambda name, given, got, *rest: busbw(name, given, given, *rest), "all_gather on 4"),
    "the sum of both": (counted, lambda name, given, got, *rest: busbw(name, given + got, 0, *rest), "1.25 times"),
    "an all_reduce's factor for all": (
        counted,
        lambda name, *rest: busbw("all_reduce", *rest),
        "(2 times). Hint: the size is the larger",
    ),
    "GiB": (counted, lambda *case: busbw(*case) * 1e9 / 2**30, "0.931 times"),
    "algbw": (counted, lambda name, given, got, nranks, seconds: max(given, got) / seconds, "(1.33 times)"),
    "a word": (counted, lambda *case: "fast", "expected bytes per second, got 'fast'"),
    "the blank: of the whole table": (
        average,
        lambda rows, *run: last_line(rows, 8, 2**30, 2),
        "From 1 MiB to 1 GiB by 2: the line says 245.272 GB/s, you say 98.414",
    ),
    "out of place only": (average, lambda *run: last_line(*run, keys=("busbw",)), "56 numbers are printed"),
    "bytes over time": (average, total_over_time, "From 8 B to 1 GiB by 2: the line says 98.414"),
    "by 2 always": (average, lambda rows, begin, end, factor: last_line(rows, begin, end, 2), "by 8: the line"),
    "the plateau": (average, lambda rows, *run: max(row["busbw"] for row in rows), "gives each the same weight"),
    "no number": (average, lambda *run: None, "expected GB/s, got None"),
    "the blank: the least": (
        faster,
        lambda one, other: "one" if min(one) < min(other) else "other",
        "[10.0, 11.0, 40.0] and [12.0, 13.0, 12.5] µs: you say one, these times tell neither",
    ),
    "the means": (faster, lambda one, other: "one" if mean(one) < mean(other) else "other", "tell neither"),
    "the medians": (faster, lambda one, other: "one" if median(one) < median(other) else "other", "tell neither"),
    "never": (faster, lambda one, other: "neither", "[10.0, 11.0] and [12.0, 13.0] µs: you say neither"),
    "the slower": (
        faster,
        lambda one, other: {"one": "other", "other": "one"}.get(told(one, other), "neither"),
        "tell",
    ),
    "where they touch": (
        faster,
        lambda one, other: "one" if max(one) <= min(other) else "other" if max(other) <= min(one) else "neither",
        "[9.0, 9.4] and [9.4, 9.6]",
    ),
    "yes": (faster, lambda one, other: True, "expected 'one', 'other' or 'neither', got True"),
    "raises": (faster, lambda one, other: 1 // 0, "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses_wrong_answers(name):
    checker, wrong, says = WRONG[name]
    refused(checker(wrong), says)
