"""The checkers of interconnects accept the solutions and refuse every seeded wrong answer, with the smallest failing case."""

import pytest
from solutions import refused, solutions

import helpers.facts
import helpers.nccl
from helpers.exercises.interconnects import copies, like_for_like, stays_inside

SOLVED = solutions("interconnects", **vars(helpers.facts) | vars(helpers.nccl))


def test_the_solutions_on_the_page_are_right():
    assert copies(SOLVED["my_copies"]).passed
    assert like_for_like(SOLVED["my_rate"]).passed
    assert stays_inside(SOLVED["my_choice"]).passed


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda machine, src, dst, gpudirect: 1, "8xL40S, rank 0 to rank 1, GPUDirect RDMA on: expected 2, got 1"),
        (lambda machine, src, dst, gpudirect: 2, "HGX-H100, rank 0 to rank 7, GPUDirect RDMA on: expected 1, got 2"),
        (
            lambda machine, src, dst, gpudirect: 2 if machine == "8xL40S" else 1,
            "2x8-IB, rank 0 to rank 8, GPUDirect RDMA off: expected 3, got 1",
        ),
        (lambda machine, src, dst, gpudirect: None, "got None"),
        (lambda machine, src, dst, gpudirect: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_wrong_counts_are_refused(wrong, says):
    refused(copies(wrong), says)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda value, unit, both, count: value, "200 Gb/s one way, 1 of them for each GPU: expected 25 GB/s"),
        (lambda value, unit, both, count: value / (8 if unit == "Gb/s" else 1), "600 GB/s both ways"),
        (
            lambda value, unit, both, count: value / (8 if unit == "Gb/s" else 1) / (1 + both),
            "50 GB/s both ways, 12 of them for each GPU: expected 300 GB/s one way per GPU",
        ),
        (lambda value, unit, both, count: "25", "got '25'"),
    ],
)
def test_wrong_rates_are_refused(wrong, says):
    refused(like_for_like(wrong), says)


def most_bytes(traffic, inside, across):
    return max(traffic, key=lambda name: traffic[name][1] * traffic[name][0])


def most_messages(traffic, inside, across):
    return max(traffic, key=lambda name: traffic[name][0])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (most_bytes, "with data inside, a step talks for"),
        (most_messages, "with pipeline inside"),
        (lambda traffic, inside, across: "nobody", "expected one of tensor, data, got 'nobody'"),
    ],
)
def test_wrong_choices_are_refused(wrong, says):
    refused(stays_inside(wrong), says)
