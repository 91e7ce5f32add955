"""The checkers of the chapter `annotations`: right layouts train on real ranks, wrong ones are refused for their reason."""

import math
import re

import pytest
from solutions import refused, solutions

from helpers.exercises import annotations as exercise
from helpers.parallel import annotated
from helpers.parallel.annotated import LAYOUTS, Layout
from helpers.ranks import Ranks

WHOLE = ("", "")
OUT, IN = ("tensor", ""), ("", "tensor")


@pytest.fixture(scope="module")
def ranks():
    with Ranks(4, backend="gloo", timeout=30) as ranks:
        yield ranks


class Untouched:
    """Ranks that nobody may ask."""

    class world:
        nranks = 4

    def run(self, *args, **limits):
        pytest.fail("ranks were asked")


def pairs(batch=WHOLE, weights=(OUT, IN), outputs=(IN, WHOLE)):
    return lambda: Layout("mine", ("tensor",), batch, weights, outputs)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: "pairs", "Expected a Layout, got 'pairs'"),
        (pairs(weights=(OUT, WHOLE)), "A rank keeps 256 numbers of matrix 1, and 64 are its part"),
        (pairs(batch=OUT), "A rank has 32 numbers of the batch, expected 128"),
        (lambda: Layout("mine", ("data",), WHOLE, (OUT,)), "ValueError: mine: an axis of the mesh is one of data"),
    ],
)
def test_a_layout_that_keeps_too_much_is_refused_on_paper(answer, said):
    refused(exercise.as_pairs(answer, Untouched()), said)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (pairs(outputs=()), "It trains, with 5 all_reduce"),
        (pairs(weights=(OUT,), outputs=()), "It trains, with"),
        (pairs(outputs=(WHOLE, WHOLE)), "It trains, with"),
    ],
)
def test_pairs_that_send_more_are_told_how_much(ranks, answer, said):
    found = exercise.as_pairs(answer, ranks)
    assert not found.passed and said in str(found) and "3 all_reduce and" in str(found), found


def test_matrices_that_nobody_gathers_in_words_are_refused(ranks):
    refused(
        exercise.as_fsdp(lambda: LAYOUTS["batch and matrices"], ranks),
        "say that a matrix is whole in front of its product",
    )


# a line of HLO -------------------------------------------------------------------------------------------------------------
BYTES = {"bf16": 2, "f32": 4, "f64": 8}


def by_reading(line, factor=lambda op, n: {"all-reduce": 2 * (n - 1) / n}.get(op, (n - 1) / n), left=False):
    """Types of the output, which are the input's for all but gathers and scatters."""
    out, op, rest = re.fullmatch(r"%it = (\(.*?\)|\S+) ([a-z-]+)\((.*)", line).groups()
    total = sum(
        BYTES[kind] * math.prod(map(int, filter(None, dims.split(","))))
        for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]", out)
    )
    listed = re.search(r"replica_groups=\{\{([\d,]+)\}", rest)
    n = len(listed[1].split(",")) if listed else int(re.search(r"replica_groups=\[\d+,(\d+)\]", rest)[1])
    return factor(op, n) * total * (n if op == "reduce-scatter" and not left else 1)


def test_lines_that_are_read_pass():
    assert exercise.bytes_of_a_line(by_reading).passed


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda line: by_reading(line, lambda op, n: (n - 1) / n), "all-reduce"),
        (lambda line: by_reading(line, left=True), "reduce-scatter"),
        (lambda line: by_reading(line.replace("{0,1},{2,3}", "{0,1,2,3}")), "f32[16] all-reduce"),
        (lambda line: None, "you say None B"),
        (lambda line: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_lines_that_are_misread_are_refused(answer, said):
    refused(exercise.bytes_of_a_line(answer), said)


def test_the_lines_are_worth_what_the_formulas_say():
    """2 (P-1)/P of a sum's bytes, (P-1)/P of the whole for gathers and scatters; the group's size, not the machine's."""
    got = [exercise.sent_of(case) for case in exercise.LINES]
    assert got[0] == 16 * 4 and got[1] == 8 * 16 * 8 * 2 * 7 / 8 and got[2] == 4096 * 1024 * 2 * 7 / 8
    assert got[3] == 8 * 1024 * 4 * 3 / 4 and got[4] == 4 + 64 * 64 * 2 and got[5] == 8 * 8 * 4 * 7 / 8


def test_the_solutions_on_the_page_solve(ranks):
    place = solutions("annotations", annotated=annotated, re=re, math=math, exercise=exercise)
    assert exercise.as_pairs(place["my_pairs"], ranks).passed and exercise.as_fsdp(place["my_fsdp"], ranks).passed
    assert exercise.bytes_of_a_line(place["my_bytes"]).passed
