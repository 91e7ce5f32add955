"""Wrong answers are refused on paper, before any rank is asked. What real ranks say: tests/parallel/test_meshes_exercise_ranks.py."""

import re
from math import prod

import pytest
from solutions import refused, solutions

from helpers.exercises.meshes import groups_of, innermost, repaired
from helpers.parallel.meshes import PipelineAxes


class Untouched:
    """Four ranks that nobody may ask."""

    nranks = 4

    def run(self, *args):
        pytest.fail("ranks were asked")


SOLVED = solutions("meshes", prod=prod, PipelineAxes=PipelineAxes)


def test_the_order_of_the_page_is_accepted():
    assert str(innermost(SOLVED["my_order"])).startswith("Solved. No order sends fewer bytes")


def neighbours(axes, name):
    return [range(first, first + axes[name]) for first in range(0, prod(axes.values()), axes[name])]


def outermost_fastest(axes, name):
    """Right for one axis and for none of several."""
    turned = dict(reversed(axes.items()))
    return SOLVED["my_groups"](turned, name)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (neighbours, r"'tensor': 2}, data: you say \(0, 1\) \(2, 3\), it is \(0, 2\) \(1, 3\)"),
        (outermost_fastest, r"'tensor': 2}, data: you say \(0, 1\) \(2, 3\)"),
        (lambda axes, name: neighbours(axes, name)[:1], r"you say \(0, 1\), it is"),
        (lambda axes, name: None, "expected groups of ranks, got None"),
        (lambda axes, name: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_wrong_groups_are_refused_on_paper(wrong, says):
    answer = groups_of(wrong, Untouched())
    assert not answer.passed and re.search(says, str(answer)), answer


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda axes, exposed, gpus: list(axes), "in the order tensor, data 844 GiB leave the node, 57 GiB would"),
        (lambda axes, exposed, gpus: sorted(axes, key=exposed.get), "23 GiB leave the node, 20 GiB would be enough"),
        (lambda axes, exposed, gpus: sorted(axes, key=axes.get), "leave the node"),
        (lambda axes, exposed, gpus: list(axes)[:1], "expected data, tensor in some order, got"),
        (lambda axes, exposed, gpus: "data", "in some order, got 'data'"),
    ],
)
def test_wrong_orders_are_refused(wrong, says):
    refused(innermost(wrong), says)


@pytest.mark.parametrize(
    ("axes", "nmicrobatches", "says"),
    [
        (
            {"data": 2, "pipeline": 2, "tensor": 2},
            4,
            "Refused before anything starts: data 2 x pipeline 2 x tensor 2 are 8 ranks",
        ),
        ({"tensor": 4}, 1, "4 tensor ranks do not divide kv_heads 2"),
        ({"data": 4}, 1, "4 pipelines do not divide batch 6"),
        ({"data": 2, "tensor": 2}, 1, "a rank holds 63% of what one process holds, and 35% is all there is"),
        ({"data": 2, "pipeline": 2}, 3, "a rank holds 51%"),
        ({"pipeline": 4}, 3, "a rank holds 38%"),
        ({"pipeline": 2, "tensor": 2}, 4, "4 microbatches do not divide a batch of 6"),
        ({"pipeline": 2, "tensor": 2}, 0, "nmicrobatches is a whole number from 1 on, got 0"),
        (None, 1, "Expected PipelineAxes and a number of micro-batches"),
    ],
)
def test_meshes_that_cannot_be_are_refused_before_ranks_are_asked(axes, nmicrobatches, says):
    refused(repaired(lambda nranks: (axes and PipelineAxes(**axes), nmicrobatches), Untouched()), says)


def test_an_answer_that_raises_is_shown():
    assert str(repaired(lambda nranks: 1 // 0, Untouched())).startswith("Not yet. At your mesh: ZeroDivisionError")
