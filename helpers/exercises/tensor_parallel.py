"""The exercises of the chapter `tensor-parallel`: two run on real ranks, and are held against one process that has everything."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from helpers.facts import MODELS, Model
from helpers.parallel.counting import counted
from helpers.parallel.tensor.matmul import W_DIMS, X_DIMS, Y_DIMS, case, part, sent
from helpers.ranks import Ranks
from helpers.units import nbytes_text

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

Backward = Callable[[Tensor], Tensor]
NEAR = 1e-9  # float64, a few additions in another order


# the backwards of f and g --------------------------------------------------------------------------------------------------
def two_backwards(backward_of_f: Backward, backward_of_g: Backward, ranks: Ranks) -> Answer:
    """Each answer gets the gradient of its function's output, inside a rank, and returns that of its input.

    f does nothing forward and stands in front of a matrix that is cut by its outputs; g is an all_reduce and stands behind one that is
    cut by its inputs. What stands in front of f is on every rank.
    """
    if not callable(backward_of_f) or not callable(backward_of_g):
        return Answer(False, f"Expected two functions of a gradient, got {backward_of_f!r} and {backward_of_g!r}.")
    praise = "Both matrices' gradients and that of what stands in front are those of one process, on every rank."
    return judge(("one pair", "two pairs"), lambda which: _pairs(backward_of_f, backward_of_g, which, ranks), praise)


def _pairs(f: Backward, g: Backward, which: str, ranks: Ranks) -> None:
    npairs = 1 if which == "one pair" else 2
    seen = on_ranks(ranks, _compare, f, g, npairs, where=f"With {which}")
    for rank, (factors, moved, least) in enumerate(seen):
        for name, factor in reversed(factors.items()):  # the order of backward
            if not abs(factor - 1) <= NEAR:  # nan, too
                raise NotYetError(
                    f"With {which}, rank {rank}: the gradient of {name} is {_off(factor)} that of one process."
                    " Hint: on how many ranks does a term of it lie, and did anybody add the terms already?"
                )
        if moved > least:
            raise NotYetError(
                f"With {which}: right, but rank {rank} sends {nbytes_text(float(moved))} in backward, and {nbytes_text(float(least))}"
                " are enough. Hint: which of the two gradients does every rank have already?"
            )


def _off(factor: float) -> str:
    """In words. A factor that is no number says that the directions differ, too."""
    return "not a multiple of" if factor != factor else f"{factor:.3g} times"


def _compare(f: Backward, g: Backward, npairs: int) -> tuple[dict[str, float], Fraction, Fraction]:
    """In a rank: by name the ratio of the gradient to one process's, nan where it is no multiple; bytes sent in backward, and enough."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    made, width = torch.Generator("cpu").manual_seed(npairs), 4 * nranks
    x, first, *pairs = (
        torch.randn(width, width, generator=made, dtype=torch.float64, device="cpu").to(torch.get_default_device())
        for _ in range(2 + 2 * npairs)
    )
    whole = [w.clone().requires_grad_() for w in (first, *pairs)]
    _through(x, whole, lambda y: y, lambda y: y).backward()
    cut = [first, *(part(w, "o" if i % 2 == 0 else "i", W_DIMS, rank, nranks) for i, w in enumerate(pairs))]
    mine = [w.clone().requires_grad_() for w in cut]
    out = _through(x, mine, lambda y: _Given.apply(y, f, False), lambda y: _Given.apply(y, g, True))
    with counted() as moved:
        out.backward()
    want = [w.grad for w in whole]
    want[1:] = [part(w, "o" if i % 2 == 0 else "i", W_DIMS, rank, nranks) for i, w in enumerate(want[1:])]
    names = ["what stands in front"] + [f"matrix {i + 1}" for i in range(2 * npairs)]
    factors = {name: _ratio(w.grad, one) for name, w, one in zip(names, mine, want, strict=True)}
    return factors, moved.sent(), npairs * Fraction(2 * x.nbytes * (nranks - 1), nranks)


def _through(x: Tensor, matrices: list[Tensor], f: Backward, g: Backward) -> Tensor:
    """One matrix that everybody has, then pairs: a number at the end."""
    x = torch.tanh(x @ matrices[0] / len(x))
    for first, second in zip(matrices[1::2], matrices[2::2], strict=True):
        x = x + g(torch.tanh(f(x) @ first) @ second)
    return x.square().sum()


def _ratio(got: Tensor | None, want: Tensor) -> float:
    if got is None or got.shape != want.shape:
        return float("nan")
    factor = ((got * want).sum() / want.square().sum()).item()
    return factor if (got - factor * want).abs().max() <= NEAR * want.abs().max() else float("nan")


class _Given(Function):
    """A function whose backward the reader wrote."""

    @staticmethod
    def forward(ctx, x: Tensor, backward: Backward, summed: bool) -> Tensor:
        ctx.by = backward
        out = x.clone()
        if summed:
            dist.all_reduce(out)
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        return ctx.by(grad.clone()), None, None


# which collective, and where -----------------------------------------------------------------------------------------------
class Cut(NamedTuple):
    """How X, W and Y lie: along which dimension they are cut among the ranks, "" where every rank has all."""

    x: str
    w: str
    y: str

    def __str__(self) -> str:
        words = (
            f"{n} {'whole' if not d else f'cut along {d}'}"
            for n, d in zip("XWY", (self.x, self.w, self.y), strict=True)
        )
        return ", ".join(words)


LIE = (
    Cut("b", "", "b"),
    Cut("", "o", "o"),
    Cut("", "i", ""),
    Cut("i", "i", ""),
    Cut("i", "i", "b"),
    Cut("i", "o", "o"),
)


def a_product(answer: Callable[[Tensor, Tensor, Cut], Tensor], ranks: Ranks) -> Answer:
    """answer(x, w, cut) runs on every rank, gets its parts of X [b, i] and W [i, o], and returns its part of Y, which lies as cut.y says.

    It may send what the chapter's case needs, and no byte more.
    """
    praise = f"Right on every rank for {len(LIE)} ways to lie, and nothing was sent that need not be."
    return judge(LIE, lambda cut: _multiplied(answer, cut, ranks), praise)


def _multiplied(answer: Callable[[Tensor, Tensor, Cut], Tensor], cut: Cut, ranks: Ranks) -> None:
    seen = on_ranks(ranks, _multiply, answer, cut, where=str(cut))
    for rank, (shape, want, far, moved, least) in enumerate(seen):
        if shape != want:
            raise NotYetError(f"{cut}: rank {rank} returns {shape}, its part of Y is {want}.")
        if not far < NEAR:
            raise NotYetError(
                f"{cut}: rank {rank}'s part of Y is {far:.2g} off. Hint: which terms of the sum over i does a rank have?"
            )
        if moved > least:
            raise NotYetError(
                f"{cut}: right, but rank {rank} sends {nbytes_text(float(moved))}, and {nbytes_text(float(least))} are enough."
                " Hint: is there a cut of the other matrix that costs nothing, because it is whole?"
            )


def _multiply(answer: Callable[[Tensor, Tensor, Cut], Tensor], cut: Cut):
    """In a rank: (shape, the shape it should have, how far off, bytes sent, bytes that are enough)."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    made, sizes = torch.Generator("cpu").manual_seed(0), (2 * nranks, 8 * nranks, nranks)
    b, i, o = sizes
    x, w = (
        torch.randn(size, generator=made, dtype=torch.float64, device="cpu").to(torch.get_default_device())
        for size in ((b, i), (i, o))
    )
    with counted() as moved:
        got = answer(part(x, cut.x, X_DIMS, rank, nranks).clone(), part(w, cut.w, W_DIMS, rank, nranks).clone(), cut)
    want = part(x @ w, cut.y, Y_DIMS, rank, nranks)
    if not isinstance(got, Tensor) or got.shape != want.shape:
        return tuple(got.shape) if isinstance(got, Tensor) else repr(got), tuple(want.shape), 0.0, 0, 0
    return (
        tuple(got.shape),
        tuple(want.shape),
        (got - want).abs().max().item(),
        moved.sent(),
        _enough(cut, sizes, nranks),
    )


def _enough(cut: Cut, sizes: tuple[int, int, int], nranks: int) -> Fraction:
    """Bytes of the cheaper way: as the matrices lie, or with the whole one cut to match."""
    ways = [case(cut.x, cut.w, cut.y if (cut.x, cut.w) == ("i", "i") else "")]
    if "i" in (cut.x, cut.w) and "" in (cut.x, cut.w):
        ways.append(case("i", "i", cut.y))
    return min(sent(way, sizes, nranks, 8) for way in ways)


# bytes of a step -----------------------------------------------------------------------------------------------------------
class Job(NamedTuple):
    """model: of the facts; tokens: of one replica; nranks: tensor ranks; checkpoint: whether blocks are computed again."""

    model: str
    tokens: int
    nranks: int
    checkpoint: bool

    def __str__(self) -> str:
        again = ", checkpointed" if self.checkpoint else ""
        return f"{self.model}, {self.tokens:,} tokens, {self.nranks} ranks{again}"


JOBS = (
    Job("Llama-2-7B", 4096, 2, False),
    Job("Llama-2-7B", 32768, 8, False),
    Job("Llama-3-70B", 8192, 8, False),
    Job("Llama-3-70B", 8192, 8, True),
    Job("Llama-2-7B", 4096, 1, True),
)


def bytes_of_a_step(answer: Callable[[Model, int, int, bool], float]) -> Answer:
    """answer(model, tokens, nranks, checkpoint): bytes that a rank sends in a step in the blocks' all_reduces, at least, in bf16."""
    praise = (
        f"Right for all {len(JOBS)} jobs: {nbytes_text(float(least(JOBS[2])))} a sequence of Llama-3-70B among eight."
    )
    return judge(JOBS, lambda job: _bytes(answer, job), praise)


def least(job: Job) -> Fraction:
    """Four all_reduces a block, six where the forward is computed again; each of 2N(P-1)/P."""
    model = MODELS[job.model]
    n = job.tokens * model.hidden * 2
    return model.layers * (6 if job.checkpoint else 4) * Fraction(2 * n * (job.nranks - 1), job.nranks)


def _bytes(answer: Callable[[Model, int, int, bool], float], job: Job) -> None:
    got, want = answer(MODELS[job.model], *job[1:]), least(job)
    if isinstance(got, bool) or not isinstance(got, (int, float, Fraction)):
        raise NotYetError(f"{job}: expected a number of bytes, got {got!r}.")
    if abs(got - want) > 1:
        raise NotYetError(
            f"{job}: you say {nbytes_text(float(got))}, it is {nbytes_text(float(want))}."
            " Hint: how many pairs has a block, which way do they sum, and what does a rank send for one sum?"
        )
