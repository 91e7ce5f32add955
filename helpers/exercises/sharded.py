"""The exercises of the chapter `sharded`: two answers run on real ranks, which count what they send; the third is on paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.parallel.counting import counted
from helpers.ranks import Ranks

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

NRANKS = 4
STEPS = 2  # the second one meets the optimizer's state of the first
NUMBER = 8  # bytes of a float64


# ZeRO-1's step ------------------------------------------------------------------------------------------------------
def zero_1(answer: Callable, ranks: Ranks | None = None) -> Answer:
    """answer(x, g, update) runs on every rank: x are all parameters, flat, the same on all ranks; g are this rank's gradients.

    update(part, grad) changes a part of the parameters in place, given the mean over ranks of that part's gradients, and keeps
    state for it; each rank calls it once, for its own 1/P. Returns all new parameters, on every rank. Sizes that the ranks do not
    divide are filled up. ranks: a pool to run on (None: four ranks on Gloo).
    """
    praise = "The same parameters everywhere, state for a share only, and not a byte more than an all_reduce sends."
    return judge((8, 64, 10), lambda numel: _zero_1(answer, numel, ranks), praise)


class Update:
    """Gradient descent with momentum, in numbers that add up without rounding. What it is given stays in `sizes`."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.momentum: torch.Tensor | None = None

    def __call__(self, part: torch.Tensor, grad: torch.Tensor) -> None:
        """part -= momentum / 4, in place; momentum = momentum / 2 + grad. ValueError where the two differ in shape."""
        if part.shape != grad.shape:
            raise ValueError(f"update: {part.numel()} parameters and {grad.numel()} gradients")
        self.sizes.append(part.numel())
        self.momentum = grad.clone() if self.momentum is None else self.momentum / 2 + grad
        part -= self.momentum / 4


def _start(numel: int) -> torch.Tensor:
    return torch.arange(numel, dtype=torch.float64)


def _gradients(numel: int, rank: int, step: int) -> torch.Tensor:
    return (torch.arange(numel, dtype=torch.float64) + step) * (rank + 1)


def _zero_1(answer: Callable, numel: int, ranks: Ranks | None) -> None:
    found = on_ranks(ranks or NRANKS, _steps, answer, numel)
    nranks = len(found)
    share = -(-numel // nranks)
    most = STEPS * share * NUMBER * 2 * (nranks - 1)  # 2N(P-1)/P with N = P * share
    want, update = _start(numel), Update()
    for step in range(STEPS):
        update(want, sum(_gradients(numel, rank, step) for rank in range(nranks)) / nranks)
    for rank, (got, sizes, sent) in enumerate(found):
        where = f"{numel} parameters on {nranks} ranks"
        if sizes != [share] * STEPS:
            raise NotYetError(
                f"{where}: rank {rank} updates {sizes} parameters in {STEPS} steps, its share is {share} in each."
            )
        if got != want.tolist():
            raise NotYetError(f"{where}: rank {rank} returns {_few(got)}, not {_few(want.tolist())}. {_why(got)}")
        if sent > most:
            raise NotYetError(
                f"{where}: rank {rank} sends {sent:g} bytes, an all_reduce would send {most}. Hint: does every rank need all gradients?"
            )


def _why(got: object) -> str:
    if not isinstance(got, list):
        return "Hint: it is a tensor of all parameters that every rank returns."
    return "Hint: the mean of the gradients for a rank's own part, then everybody's new part for all."


def _few(values: object) -> str:
    if not isinstance(values, list) or len(values) <= 4:
        return str(values)
    return f"[{', '.join(f'{value:g}' for value in values[:4])}, ...] ({len(values)} numbers)"


def _steps(answer: Callable, numel: int) -> tuple[object, list[int], float]:
    """In a rank: what the answer returns after STEPS steps, how many parameters it updated, what it sent at least."""
    x, update = _start(numel), Update()
    with counted() as moved:
        for step in range(STEPS):
            x = answer(x, _gradients(numel, dist.get_rank(), step), update)
    return _plain(x), update.sizes, float(moved.sent())


# the norm of gradients that are shared out --------------------------------------------------------------------------
VALUES = {"3, 4, 0 and 12": (3, 4, 0, 12), "1, 2, 2 and nothing": (1, 2, 2, None)}
LONG = 1000  # gradients of a rank in the last case


def global_norm(answer: Callable, ranks: Ranks | None = None) -> Answer:
    """answer(shards) runs on every rank: shards are this rank's parts of several gradients, flat; some ranks have none.

    Returns the 2-norm of all gradients of all ranks, as a number, on every rank; ranks send each other a few numbers, not gradients.
    """
    praise = "The norm of the whole gradient on every rank, for one all_reduce of one number."
    return judge((*VALUES, f"{LONG} gradients a rank"), lambda case: _norm(answer, case, ranks), praise)


def _shards(case: str, rank: int) -> list[torch.Tensor]:
    if case not in VALUES:
        return [torch.full((LONG // 2,), rank + 1.0, dtype=torch.float64) for _ in range(2)]
    value = VALUES[case][rank] if rank < len(VALUES[case]) else None
    return [] if value is None else [torch.tensor([float(value)], dtype=torch.float64)]


def _norm(answer: Callable, case: str, ranks: Ranks | None) -> None:
    found = on_ranks(ranks or NRANKS, _normed, answer, case)
    want = sum(t.square().sum().item() for rank in range(len(found)) for t in _shards(case, rank)) ** 0.5
    for rank, (got, sent) in enumerate(found):
        if not isinstance(got, float) or abs(got - want) > 1e-9 * want:
            raise NotYetError(
                f"{case}: rank {rank} returns {got if isinstance(got, str) else f'{got:g}'}, the norm of all is {want:g}."
                " Hint: squares add up over ranks, norms do not."
            )
        if sent > 8 * NUMBER:
            raise NotYetError(
                f"{case}: rank {rank} sends {sent:g} bytes. Hint: which one number of its own must a rank tell?"
            )


def _normed(answer: Callable, case: str) -> tuple[float | str, float]:
    with counted() as moved:
        got = answer(_shards(case, dist.get_rank()))
    number = isinstance(got, int | float) or (isinstance(got, torch.Tensor) and got.numel() == 1)
    return (float(got) if number else repr(_plain(got))), float(moved.sent())


# the bytes of a step ------------------------------------------------------------------------------------------------
class Part(NamedTuple):
    """A unit of a sharded model: how many parameters, and whether it drops what it has gathered after its forward."""

    numel: int
    reshards: bool


class Case(NamedTuple):
    """gather, reduce: bytes of a parameter and of a gradient as they travel."""

    parts: tuple[Part, ...]
    nranks: int
    gather: int
    reduce: int

    def __str__(self) -> str:
        units = " + ".join(f"{part.numel} {'resharded' if part.reshards else 'kept'}" for part in self.parts)
        return f"{units} on {self.nranks} ranks, gathered in {self.gather} bytes, reduced in {self.reduce}"


CASES = (
    Case((Part(64, False),), 2, 4, 4),
    Case((Part(64, True),), 2, 4, 4),
    Case((Part(64, True),), 4, 2, 4),
    Case((Part(64, True), Part(128, True), Part(32, False)), 4, 4, 4),
    Case((Part(640, True), Part(640, True), Part(80, False)), 8, 2, 4),
    Case((Part(640, False), Part(640, False)), 8, 2, 2),
)


def step_bytes(answer: Callable[[Sequence[Part], int, int, int], float]) -> Answer:
    """answer(parts, nranks, gather, reduce): the bytes that each rank sends in one step. A part has numel and reshards."""
    praise = "Kept or resharded, in any types: the bytes of a step, to the byte."
    return judge(CASES, lambda case: _step_bytes(answer, case), praise)


def _volume(case: Case, gathers: Callable[[Part], int]) -> Fraction:
    each = sum(part.numel * (gathers(part) * case.gather + case.reduce) for part in case.parts)
    return each * Fraction(case.nranks - 1, case.nranks)


def _step_bytes(answer: Callable, case: Case) -> None:
    want, got = _volume(case, lambda part: 1 + part.reshards), answer(case.parts, case.nranks, case.gather, case.reduce)
    if got == want:
        return
    hint = "a gather for each time that the parameters are needed and not there, and one reduce_scatter."
    if got == _volume(case, lambda part: 1):
        hint = "you count one gather of what is gone before backward needs it."
    elif got == _volume(case, lambda part: 2):
        hint = "what is kept after forward need not be gathered again."
    raise NotYetError(f"{case}: {float(want):g} bytes, you said {got!r}. Hint: {hint}")


def _plain(got: object) -> object:
    return got.tolist() if isinstance(got, torch.Tensor) else repr(got)
