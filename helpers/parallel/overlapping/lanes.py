"""What a rank does in a step, and when: its own computing, what keeps its link, and when it waits. Chapter: overlap."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch.distributed as dist

from helpers.ranks.network.ports import clock
from helpers.ranks.network.stage import Playing

KINDS = ("compute", "communication", "idle")
BUSY = 0.04  # of `oversleep`: beyond it others want the cores, and waits end as late as sleeps do


class Event(NamedTuple):
    """kind: one of KINDS; start, end: seconds after all ranks left the barrier before the step; nbytes: of a call, nccl-tests' size."""

    rank: int
    kind: str
    start: float
    end: float
    what: str
    nbytes: int


class Step(NamedTuple):
    """One rank's step. seconds: from the barrier to the end of all that it does. events: by their start."""

    rank: int
    seconds: float
    events: tuple[Event, ...]

    @property
    def computed(self) -> float:
        """Seconds in which it computed."""
        return _lasted(self.events, "compute")

    @property
    def communication(self) -> float:
        """Seconds in which a call of its own kept the link."""
        return _lasted(self.events, "communication")

    @property
    def exposed(self) -> float:
        """What the step was longer by than its computation."""
        return self.seconds - self.computed


def _lasted(events: tuple[Event, ...], kind: str) -> float:
    return sum(event.end - event.start for event in events if event.kind == kind)


def oversleep(steps: Iterable[Iterable[Step]], computed: float) -> float:
    """By how much sleeps were longer than asked, as a share of `computed` seconds a step, on average.

    1 to 3 % on two cores with nothing else to do. In twenty trials beside other work exposed time strayed from the model by more than
    9 % only where it was 5 % and more.
    """
    return statistics.mean(one.computed for step in steps for one in step) / computed - 1


class Lanes:
    """Notes one step at a time: `begin`, then what is done, then `finish`."""

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self._events: list[Event] = []
        self._start = 0.0

    def begin(self) -> None:
        """All ranks meet, and the step begins."""
        self._events = []
        dist.barrier()
        self._start = clock.start()

    def _now(self) -> float:
        return time.monotonic() - self._start

    @contextlib.contextmanager
    def span(self, kind: str, what: str, nbytes: int = 0) -> Iterator[None]:
        """Inside it the rank does this."""
        start = self._now()
        try:
            yield
        finally:
            self._events.append(Event(self.rank, kind, start, self._now(), what, nbytes))

    def called(self, what: str, nbytes: int, work: Playing) -> None:
        """An asynchronous call has just been made: it keeps the link until it is done, and calls before it come first."""
        called = self._now()
        work.when_done(
            lambda: self._events.append(Event(self.rank, "communication", called, self._now(), what, nbytes))
        )

    def finish(self) -> Step:
        """The step is over: nothing that was called is under way."""
        seconds = self._now()
        computed = [event for event in self._events if event.kind == "compute"]
        calls = _in_turn([event for event in self._events if event.kind == "communication"])
        every = [*computed, *calls, *self._idle(computed, seconds)]
        return Step(self.rank, seconds, tuple(sorted(every, key=lambda event: (event.start, event.end))))

    def _idle(self, computed: list[Event], seconds: float) -> Iterator[Event]:
        """Where nothing is computed."""
        free = 0.0
        for event in (*sorted(computed, key=lambda event: event.start), None):
            start = event.start if event else seconds
            if start > free:
                yield Event(self.rank, "idle", free, start, "", 0)
            free = max(free, event.end if event else seconds)


def _in_turn(calls: list[Event]) -> list[Event]:
    """What was called while the link was kept began when it was free."""
    free, found = 0.0, []
    for event in sorted(calls, key=lambda event: event.end):
        found.append(event._replace(start=min(max(event.start, free), event.end)))
        free = event.end
    return found
