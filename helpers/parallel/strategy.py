"""What every strategy offers: training inside ranks, and on paper what it moves and holds. Chapters: data-parallel to meshes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction

import torch
from torch import Tensor

from helpers.memory import CLASSES
from helpers.tracker.tracker import Tracker, track

from .counting import Moved, counted
from .model import Model, Params
from .module import Module
from .reference import Trained, Training, kept, train

AFTER_BACKWARD = "after backward"  # the mark at which states are held against the formula
STATES = ("parameter", "gradient", "optimizer")


@dataclass(frozen=True)
class Predicted:
    """On paper, for one rank and all steps together: calls and bytes by operation, and what is held between backward and step.

    sent: in the convention of `Moved.sent`. held: bytes by class, the STATES.
    """

    calls: Mapping[str, int]
    sent: Mapping[str, Fraction | int]
    held: Mapping[str, int]

    @property
    def total(self) -> Fraction:
        """Bytes sent by all operations."""
        return sum(map(Fraction, self.sent.values()), Fraction(0))


@dataclass(frozen=True)
class Strategy:
    """A line of the table. train(training) runs inside every rank; predicted(training, nranks, rank) needs none.

    training: what the table runs; nranks: the ranks that this is made for. by: "ours", or the name of torch's own.
    reference(training, nranks): the single process that it is compared with.
    """

    name: str
    train: Callable[[Training], Trained]
    predicted: Callable[[Training, int, int], Predicted]
    training: Training = field(default_factory=Training)
    nranks: int = 4
    by: str = "ours"
    reference: Callable[[Training, int], Trained] = field(default=lambda training, nranks: train(training))


class Watch:
    """Counts and tracks a rank's steps. After the block: `moved`, `held`, `peak`."""

    def __init__(self, moved: Moved, tracker: Tracker):
        self.moved, self.tracker = moved, tracker
        self.held: dict[str, int] = {}
        self.peak = 0

    def after_backward(self) -> None:
        """Gradients are there, the optimizer has not stepped: what is alive now is what the formula says."""
        self.tracker.mark(AFTER_BACKWARD)

    def see(self, what: object, cls: str) -> None:
        """Say what a tensor is for, by hand: cls is a class of helpers.memory.trace."""
        self.tracker.register(what, cls)

    def finish(self) -> None:
        trace = self.tracker.trace
        at = [i for i, name, _ in trace.marks if name == AFTER_BACKWARD]
        if at:
            self.held = {cls: self._alive(cls, at) for cls in STATES}
        self.peak = trace.peak.nbytes

    def _alive(self, cls: str, at: Sequence[int]) -> int:
        """Bytes at the last mark; of what a collective may move, the least of the last three steps.

        A thread of Gloo lets go of a tensor only when it comes to it, and on a busy machine that may be a step later.
        """
        column = CLASSES.index(cls)
        return min(int(self.tracker.trace.by_class[i][column]) for i in at[-1 if cls == "optimizer" else -3 :])

    def trained(self, losses: list[float], params: Mapping[str, Tensor]) -> Trained:
        """The answer of `train`: call it after the block. params: whole ones, by name."""
        return Trained(losses, kept(params), self.moved, self.held, self.peak)


class Unwatched(Watch):
    """Counts and tracks nothing, so that steps take the time that they take."""

    def __init__(self) -> None:
        self.moved, self.held, self.peak = Moved(), {}, 0

    def after_backward(self) -> None:
        """Nobody asks."""

    def see(self, what: object, cls: str) -> None:
        """Nobody asks."""


_TIMES: ContextVar[list[float] | None] = ContextVar("times", default=None)


@contextmanager
def unwatched() -> Iterator[list[float]]:
    """While it lasts, `watched` watches nothing and appends the seconds of its block, all steps together, to the list given."""
    times: list[float] = []
    before = _TIMES.set(times)
    try:
        yield times
    finally:
        _TIMES.reset(before)


@contextmanager
def watched(
    model: Model, params: Params | torch.nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> Iterator[Watch]:
    """Inside a rank: collectives are counted and memory is tracked meanwhile. params: what this rank holds, whole or sliced."""
    if (times := _TIMES.get()) is not None:
        start = time.perf_counter()
        yield Unwatched()
        times.append(time.perf_counter() - start)
        return
    module = params if isinstance(params, torch.nn.Module) else Module(model, params)
    with counted() as moved, track(module, optimizer) as tracker:
        watch = Watch(moved, tracker)
        try:
            yield watch
        finally:
            watch.finish()
