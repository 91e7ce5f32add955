"""The exercises of the chapter `reading-a-trace`: who is late and a loader that runs ahead, on real ranks; exposed time on paper."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.ranks import Ranks

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

NRANKS = 4
BEGINS = 2.0  # seconds in which the next batch has to be begun
Span = tuple[float, float]


# exposed time -------------------------------------------------------------------------------------------------------
class Step(NamedTuple):
    """When a rank computes and when a call of its own runs, in whole milliseconds; in any order, and several at once."""

    compute: tuple[tuple[int, int], ...]
    calls: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return f"computes {_spans(self.compute)}; calls {_spans(self.calls)}"

    @property
    def exposed(self) -> int:
        """Millisecond by millisecond."""
        return len(_moments(self.calls) - _moments(self.compute))


def _spans(spans: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{start} to {end}" for start, end in spans) or "never"


def _moments(spans: Sequence[tuple[int, int]]) -> set[int]:
    return {at for start, end in spans for at in range(start, end)}


STEPS = (
    Step(((0, 10),), ((10, 14),)),
    Step(((0, 10),), ((6, 14),)),
    Step(((0, 10), (12, 20)), ((4, 16),)),
    Step(((0, 8), (4, 12)), ((6, 15),)),
    Step(((0, 10),), ((8, 14), (9, 16))),
    Step(((20, 30), (0, 10)), ((28, 34), (5, 24), (40, 41), (33, 36))),
)


def exposed_time(answer: Callable[[Sequence[Span], Sequence[Span]], float]) -> Answer:
    """answer(compute, calls) -> the time in which at least one call runs and nothing computes.

    Both are lists of (start, end), in no order; spans of one list may overlap, as on several threads or streams.
    """
    return judge(
        STEPS, lambda step: _exposed(answer, step), "Every moment is counted once, as a reader of traces has to."
    )


def _exposed(answer: Callable, step: Step) -> None:
    got = answer(list(step.compute), list(step.calls))
    if got == step.exposed:
        return
    hint = "what of the calls lies beside no computation?"
    if got == sum(end - start for start, end in step.calls):
        hint = "that is how long the calls last; some of it runs beside computation."
    elif got == len(_moments(step.calls) & _moments(step.compute)):
        hint = "that is what is hidden."
    elif isinstance(got, int | float) and got > step.exposed:
        hint = "two calls at once, or two computations, are counted once."
    raise NotYetError(f"{step}: {step.exposed} ms are exposed, you said {got!r}. Hint: {hint}")


# who is late --------------------------------------------------------------------------------------------------------
class Calls(NamedTuple):
    """cost: ms of each call once all are there. comes: by rank, ms after the first rank at which it comes to each call."""

    what: str
    cost: tuple[int, ...]
    comes: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return self.what

    def spans(self, rank: int) -> list[Span]:
        """In seconds of this rank's own clock, each of which was set on another day."""
        clock = 86_400.0 * (7 - 3 * rank)
        ends = [100 * call + max(self.comes[call]) + self.cost[call] for call in range(len(self.cost))]
        begins = [100 * call + self.comes[call][rank] for call in range(len(self.cost))]
        return [(clock + begin / 1e3, clock + end / 1e3) for begin, end in zip(begins, ends, strict=True)]

    @property
    def late(self) -> int:
        """The rank for which the others waited longest, over all calls."""
        caused = [0] * NRANKS
        for comes in self.comes:
            caused[comes.index(max(comes))] += sum(max(comes) - one for one in comes)
        return caused.index(max(caused))


CALLS = (
    Calls("one call, rank 2 comes last", (4,), ((0, 1, 20, 2),)),
    Calls("three calls, rank 0 comes last", (3, 9, 1), ((30, 1, 0, 2), (25, 0, 3, 3), (31, 2, 2, 0))),
    Calls("rank 1 is a little late three times, rank 3 once by much", (2,) * 4, (*((0, 2, 1, 0),) * 3, (0, 1, 2, 50))),
)


def late_rank(answer: Callable[[Sequence[Span]], int], ranks: Ranks | None = None) -> Answer:
    """answer(spans) runs on every rank: spans are the (begin, end) of this rank's own calls, in seconds of this rank's own clock.

    Call k is the same collective on all ranks. Returns, on every rank, the rank for which the others waited longest in all. ranks: a
    pool of four (None: four ranks on Gloo).
    """
    return judge(
        CALLS, lambda calls: _late(answer, calls, ranks), "Found from durations alone: no clock of two hosts agrees."
    )


def _late(answer: Callable, calls: Calls, ranks: Ranks | None) -> None:
    found = on_ranks(ranks or NRANKS, lambda: answer(calls.spans(dist.get_rank())))
    for rank, got in enumerate(found):
        if got != calls.late:
            raise NotYetError(
                f"{calls}: rank {rank} returns {_plain(got)!r}, the others waited for rank {calls.late}. {_why(got, calls)}"
            )


def _why(got: object, calls: Calls) -> str:
    totals = [sum(end - begin for begin, end in calls.spans(rank)) for rank in range(NRANKS)]
    if got == totals.index(max(totals)):
        return "Hint: the longest spans are those of a rank that waits."
    return "Hint: of each call, whose span is the shortest, and how much longer are the others'?"


# a loader that runs ahead -------------------------------------------------------------------------------------------
def loads_ahead(answer: Callable[[Callable, Callable, int], list], ranks: Ranks | None = None) -> Answer:
    """answer(load, compute, n) runs on every rank: load(k) makes batch k and takes its time; compute(k, batch) trains on it.

    Returns what compute returned for 0 to n - 1. While batch k is computed on, batch k + 1 has to be in the making, and no other.
    """
    praise = "The next batch is made while this one is computed on, and no third one takes memory."
    return judge((1, 2, 5), lambda n: _ahead(answer, n, ranks), praise)


def _ahead(answer: Callable, n: int, ranks: Ranks | None) -> None:
    for rank, (wrong, got) in enumerate(on_ranks(ranks or NRANKS, _watched, answer, n)):
        if wrong:
            raise NotYetError(f"{n} batches, rank {rank}: {wrong}")
        want = [NRANKS * 10.0 * k for k in range(n)]
        if got != want:
            raise NotYetError(f"{n} batches, rank {rank}: returns {got!r}, not what compute returned, {want}.")


class Watch:
    """load and compute of one rank: which batches were begun, and what went wrong first."""

    def __init__(self, n: int):
        self.begun = [threading.Event() for _ in range(n)]
        self.done = 0
        self.wrong = ""

    def load(self, k: int) -> Tensor:
        """Batch k, whose numbers say so."""
        if not isinstance(k, int) or not 0 <= k < len(self.begun):
            raise ValueError(f"load: there are {len(self.begun)} batches, got {k!r}")
        if self.begun[k].is_set():
            self._says(f"batch {k} is made twice.")
        if k > self.done + 1:
            self._says(f"batch {k} is begun before batch {self.done} has been computed on: only the next one may be.")
        self.begun[k].set()
        return torch.full((4,), 10.0 * k)

    def compute(self, k: int, batch: Tensor) -> float:
        """A step, which ends on all ranks together."""
        if k != self.done or batch[0].item() != 10.0 * k:
            self._says(f"step {self.done} is computed as {k}, on batch {batch[0].item() / 10:g}.")
        ahead = k + 1 == len(self.begun) or bool(self.wrong) or self.begun[k + 1].wait(BEGINS)
        if not ahead:
            self._says(f"batch {k + 1} is not begun while batch {k} is computed on. Hint: who else could make it?")
        mean = batch.mean()
        dist.all_reduce(mean)
        self.done = k + 1
        return mean.item()

    def _says(self, words: str) -> None:
        self.wrong = self.wrong or words


def _watched(answer: Callable, n: int) -> tuple[str, object]:
    """In a rank: what went wrong, and what the answer returns."""
    watch = Watch(n)
    got = answer(watch.load, watch.compute, n)
    return watch.wrong, _plain(got)


def _plain(got: object) -> object:
    return got.tolist() if isinstance(got, Tensor) else got
