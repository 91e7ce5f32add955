"""The checkers of the primitives' exercises accept what is right and refuse what is not, with the case that shows it."""

import re

import pytest
import torch
import torch.distributed as dist
from solutions import solutions

from helpers.exercises.primitives import NEEDS, all_reduce_from_halves, which_one
from helpers.ranks import Ranks


@pytest.fixture(scope="module")
def ranks():
    with Ranks(3, backend="gloo", timeout=2.0) as made:
        yield made


def test_the_solution_on_the_page_solves_the_exercise(ranks):
    answer = all_reduce_from_halves(solutions("primitives", torch=torch, dist=dist)["my_all_reduce"], ranks)
    assert answer.passed, answer


def as_given(x):
    return x


def cheats(x):
    dist.all_reduce(x)
    return x


def cuts_off(x):
    """Right where the length divides; the rest is dropped."""
    nranks = dist.get_world_size()
    x = x[: len(x) // nranks * nranks].contiguous()
    part, out = x.new_empty(len(x) // nranks), torch.empty_like(x)
    dist.reduce_scatter_tensor(part, x)
    dist.all_gather_into_tensor(out, part)
    return out


def only_one_rank(x):
    if dist.get_rank():
        dist.reduce_scatter_tensor(x.new_empty(1), x)
    return x


@pytest.mark.parametrize(
    "wrong, said",
    [
        (as_given, r"At 3 elements: rank 0 got \[0.0, 1.0, 2.0\], the sum is \[30.0, 33.0, 36.0\]"),
        (cheats, "all_reduce is what you are to build"),
        (cuts_off, r"At 4 elements: rank 0 got \[30.0, 33.0, 36.0\], the sum is"),
        (only_one_rank, "At 3 elements: .*rank 0 finished without entering reduce_scatter"),
        (lambda x: None, r"rank 0 got None"),
    ],
)
def test_wrong_answers_are_refused_with_the_case(ranks, wrong, said):
    answer = all_reduce_from_halves(wrong, ranks)
    assert not answer.passed and re.search(said, str(answer), re.S), answer


def test_the_checker_leaves_all_reduce_as_it_was(ranks):
    all_reduce_from_halves(as_given, ranks)
    assert ranks.run(lambda: (dist.all_reduce(x := torch.ones(1)), x.item())[1]) == [3.0] * 3


def test_which_one():
    assert which_one(NEEDS).passed
    swapped = NEEDS | {"rank 0 has read one large batch for all": "broadcast"}
    assert "scatter" not in str(which_one(swapped)) and "broadcast is not it" in str(which_one(swapped))
    assert "expected one of all_reduce" in str(which_one({}))
