"""The checkers accept the solutions on real ranks and refuse every seeded wrong answer, with what is wrong."""

from fractions import Fraction

import pytest
import torch
import torch.distributed as dist
from solutions import refused

from helpers.exercises.tensor_parallel import a_product, bytes_of_a_step, two_backwards
from helpers.ranks import Ranks


@pytest.fixture(scope="module")
def ranks():
    with Ranks(4, backend="gloo", timeout=20) as ranks:
        yield ranks


def nothing(grad):
    return grad


def summed(grad):
    dist.all_reduce(grad)
    return grad


def averaged(grad):
    dist.all_reduce(grad)
    return grad / dist.get_world_size()


def alone(grad):
    if dist.get_rank() == 0:
        dist.all_reduce(grad)
    return grad


def test_accepts_the_two_backwards(ranks):
    answer = two_backwards(summed, nothing, ranks)
    assert answer.passed and "on every rank" in answer.message, answer


@pytest.mark.parametrize(
    ("f", "g", "says"),
    [
        (nothing, nothing, "With one pair, rank 0: the gradient of what stands in front is not a multiple of"),
        (averaged, nothing, "not a multiple of"),
        (summed, summed, "the gradient of matrix 2 is 4 times"),
        (nothing, summed, "rank 0: the gradient of"),
        (summed, averaged, "right, but rank 0 sends 6 KiB in backward, and 3 KiB are enough"),
        (lambda grad: None, nothing, "what stands in front"),
        (None, nothing, "Expected two functions"),
    ],
    ids=["the blank", "averaged", "g sums too", "turned round", "g tells what all know", "no gradient", "no function"],
)
def test_refuses_other_backwards(ranks, f, g, says):
    refused(two_backwards(f, g, ranks), says)


def placed(x, w, cut):
    if cut.w == "i" and cut.x == "":  # cut X to match: it is here
        x = x.chunk(dist.get_world_size(), 1)[dist.get_rank()]
        cut = cut._replace(x="i")
    if cut.x == "i" and cut.w == "o":
        every = [torch.empty_like(x.contiguous()) for _ in range(dist.get_world_size())]
        dist.all_gather(every, x.contiguous())
        return torch.cat(every, 1) @ w
    y = x @ w
    if cut.x != "i":
        return y
    if cut.y == "":
        dist.all_reduce(y)
        return y
    part = y.new_empty(len(y) // dist.get_world_size(), y.shape[1])
    dist.reduce_scatter_tensor(part, y)
    return part


def gathers_all(x, w, cut):
    """Everything whole on every rank, then its part."""
    for name, dims in (("x", "bi"), ("w", "io")):
        dim, mine = getattr(cut, name), x if name == "x" else w
        if dim:
            every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
            dist.all_gather(every, mine.contiguous())
            whole = torch.cat(every, dims.index(dim))
            x, w = (whole, w) if name == "x" else (x, whole)
    y = x @ w
    return y.chunk(dist.get_world_size(), "bo".index(cut.y))[dist.get_rank()] if cut.y else y


def never_scatters(x, w, cut):
    if cut == ("i", "i", "b"):
        y = x @ w
        dist.all_reduce(y)
        return y.chunk(dist.get_world_size())[dist.get_rank()]
    return placed(x, w, cut)


def gathers_the_matrix(x, w, cut):
    if (cut.x, cut.w) != ("", "i"):
        return placed(x, w, cut)
    every = [torch.empty_like(w) for _ in range(dist.get_world_size())]
    dist.all_gather(every, w)
    return x @ torch.cat(every)


def leaves_partial_sums(x, w, cut):
    return x @ w if cut[:2] == ("i", "i") and not cut.y else placed(x, w, cut)


def test_accepts_the_placed_collectives(ranks):
    answer = a_product(placed, ranks)
    assert answer.passed and "6 ways to lie" in answer.message, answer


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda x, w, cut: x @ w, "X whole, W cut along i, Y whole: "),
        (gathers_all, "X cut along b, W whole, Y cut along b: "),
        (gathers_the_matrix, "X whole, W cut along i, Y whole: right, but rank 0 sends"),
        (never_scatters, "X cut along i, W cut along i, Y cut along b: right, but rank 0 sends"),
        (leaves_partial_sums, "X cut along i, W cut along i, Y whole: rank 0's part of Y is"),
        (lambda x, w, cut: None, "rank 0 returns None, its part of Y is (2, 4)"),
    ],
    ids=["the blank", "all whole", "gathers W", "no reduce_scatter", "partial sums", "nothing"],
)
def test_refuses_other_collectives(ranks, wrong, says):
    refused(a_product(wrong, ranks), says)


def step(model, tokens, nranks, checkpoint):
    return model.layers * (6 if checkpoint else 4) * Fraction(2 * tokens * model.hidden * 2 * (nranks - 1), nranks)


def test_accepts_the_bytes():
    answer = bytes_of_a_step(step)
    assert answer.passed and "70 GiB a sequence of Llama-3-70B" in answer.message, answer


WRONG = {
    "forward alone": lambda m, t, n, c: step(m, t, n, c) / 2,
    "no checkpointing": lambda m, t, n, c: step(m, t, n, False),
    "a buffer for a sum": lambda m, t, n, c: m.layers * (6 if c else 4) * t * m.hidden * 2,
    "parameters": lambda m, t, n, c: 2 * m.nparams * (n - 1) / n,
    "one pair": lambda m, t, n, c: step(m, t, n, c) * 2 / 4,
    "a text": lambda m, t, n, c: "70 GiB",
    "twice": lambda m, t, n, c: 2 * step(m, t, n, c),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_refuses_other_bytes(wrong):
    answer = bytes_of_a_step(WRONG[wrong])
    assert not answer.passed and ("it is" in answer.message or "expected a number" in answer.message), answer
