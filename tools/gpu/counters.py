"""CUDA's own counters beside the tracker, before every operator. The difference is what no tracker of operators sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.memory import Event


class Held(NamedTuple):
    """Bytes that the caching allocator has handed out. requested: as asked for; allocated: in its blocks, rounded up, and whole.

    calls: mallocs and frees so far.
    """

    requested: int
    allocated: int
    calls: int = 0


def on_cuda() -> Held:
    """What torch.cuda.memory_stats says now. requested_bytes is the sum of what was asked for, before any rounding."""
    stats = torch.cuda.memory_stats()
    calls = stats["allocation.all.allocated"] + stats["allocation.all.freed"]
    return Held(stats["requested_bytes.all.current"], stats["allocated_bytes.all.current"], calls)


def highest_on_cuda() -> Held:
    """The most of each since torch.cuda.reset_peak_memory_stats()."""
    stats = torch.cuda.memory_stats()
    return Held(stats["requested_bytes.all.peak"], stats["allocated_bytes.all.peak"])


class Change(NamedTuple):
    """The counters moved away from the tracker by `nbytes` during `op`."""

    op: str
    nbytes: int


class Beside(TorchDispatchMode):
    """Compares at every operator's entry, when all that came before is settled. Enter it inside the tracker, after `start`.

    counters: on_cuda, or another source of Held. ops: how many were compared; equal: at how many both sides agreed to the byte.
    behind: at how many in a row, at most, the counters held less: a block that CUDA gets back a moment before Python hears of it is one.
    changes: where the difference moved; least, most: the difference in bytes, counters less tracker.
    """

    def __init__(self, counters: Callable[[], Held] = on_cuda):
        super().__init__()
        self.counters, self.total, self.base = counters, 0, 0
        self.ops = self.equal = self.least = self.most = self.now = self.behind = self._behind = 0
        self.changes: list[Change] = []
        self._before = "the start"

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler at the first operator, whose frames keep tensors alive

    def event(self, event: Event) -> None:
        """For track(on_event=)."""
        self.total += {"alloc": event.nbytes, "free": -event.nbytes}.get(event.kind, 0)

    def start(self) -> None:
        """What the counters hold beside the tracker's total now is not the tracker's business: CUDA's libraries' workspaces."""
        self.base = self.counters().requested - self.total

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.look(func._schema.name)
        return func(*args, **(kwargs or {}))

    def look(self, following: str) -> None:
        """Compare; `following` is the operator that runs next."""
        difference = self.counters().requested - self.base - self.total
        self.ops += 1
        self.equal += difference == 0
        self.least, self.most = min(self.least, difference), max(self.most, difference)
        self._behind = self._behind + 1 if difference < 0 else 0
        self.behind = max(self.behind, self._behind)
        if difference != self.now:
            self.changes.append(Change(self._before, difference - self.now))
            self.now = difference
        self._before = following
