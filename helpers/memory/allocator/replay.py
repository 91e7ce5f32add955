"""A trace through the model of the allocator: allocated and reserved after every event. Chapters: allocator, too-big."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from helpers.arrays import numpy_for
from helpers.memory.allocator.books import Action
from helpers.memory.allocator.caching import Allocator
from helpers.memory.allocator.errors import OutOfMemory
from helpers.memory.allocator.fragmentation import Fragmentation
from helpers.memory.allocator.rules import Rules
from helpers.memory.allocator.state import Segment, segments
from helpers.memory.trace import Trace, TraceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.int64]

EMPTY_CACHE = "empty_cache"  # a mark of this name empties the cache


@dataclass(frozen=True)
class Replay:
    """A trace as the model of the allocator saw it. curve: (allocated, reserved) after each event, in bytes, as torch counts them.

    actions: all it did, in order. device_calls: cudaMallocs, or maps of pages. oom: the error that ended it, or None.
    """

    trace: Trace
    rules: Rules
    curve: tuple[tuple[int, int], ...]
    actions: tuple[Action, ...]
    device_calls: int
    retries: int
    oom: OutOfMemory | None = None

    def __len__(self) -> int:
        """Events that were replayed: all of the trace's, or those up to the one that found no memory."""
        return len(self.curve)

    @cached_property
    def allocated(self) -> Bytes:
        """int64 [events]: bytes in blocks that hold a tensor, after each event."""
        return self._column(0)

    @cached_property
    def reserved(self) -> Bytes:
        """int64 [events]: bytes in segments, after each event."""
        return self._column(1)

    def _column(self, which: int) -> Bytes:
        np = numpy_for("a replay's curve")
        column: Bytes = np.array([row[which] for row in self.curve], dtype=np.int64)
        return column

    @property
    def peak_allocated(self) -> int:
        """The most bytes in blocks that hold a tensor: what torch.cuda.max_memory_allocated() would say."""
        return max((allocated for allocated, _ in self.curve), default=0)

    @property
    def peak_reserved(self) -> int:
        """The most bytes in segments: what torch.cuda.max_memory_reserved() would say."""
        return max((reserved for _, reserved in self.curve), default=0)

    @cached_property
    def _starts(self) -> list[int]:
        return [action.event for action in self.actions]

    def during(self, index: int) -> tuple[Action, ...]:
        """What the allocator did at event `index`; mostly one action, none where a block only changed its class."""
        self._refuse(index)
        return self.actions[bisect_right(self._starts, index - 1) : bisect_right(self._starts, index)]

    def segments(self, index: int = -1) -> list[Segment]:
        """Segments and their blocks after event `index` (-1: the last), by address. IndexError outside the replay."""
        index = self._refuse(index)
        classes = {e.block: e.cls for e in self.trace.events[: index + 1] if e.kind in ("alloc", "class")}
        return segments(self.actions[: bisect_right(self._starts, index)], classes)

    def measure(self, index: int = -1) -> Fragmentation:
        """Fragmentation after event `index`."""
        return Fragmentation.of(self.segments(index))

    @property
    def fragmentation(self) -> Fragmentation:
        """Fragmentation at the first moment with the most bytes reserved; at the end where it ran out of memory."""
        return self.measure(len(self) - 1 if self.oom else max(range(len(self)), key=lambda i: self.curve[i][1]))

    def _refuse(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"the replay has events 0 to {len(self) - 1}, got {index}")
        return index % len(self)


def replay(
    trace: Trace,
    expandable: bool = False,
    limit: int | None = None,
    *,
    addresses: Sequence[int] = (),
    raises: bool = True,
    **settings: Any,
) -> Replay:
    """The trace through the model of the allocator. A mark named "empty_cache" empties the cache.

    limit: bytes that the device can give, None for enough. settings: of `Rules` (allowed, max_split_size, ...).
    addresses: where the segments stood, in order of their making, e.g. from a snapshot; else one behind the other.
    OutOfMemory where no memory is found, with the replay up to there as its `.replay`; raises=False returns that replay instead.
    TraceError if the trace frees what is not alive.
    """
    allocator = Allocator(Rules(expandable=expandable, limit=limit, **settings), addresses)
    curves, oom = _run(allocator, trace)
    made = Replay(
        trace,
        allocator.rules,
        tuple(curves),
        tuple(allocator.actions),
        allocator.device_calls,
        allocator.retries,
        oom,
    )
    if oom and raises:
        oom.replay = made
        raise oom
    return made


def _run(allocator: Allocator, trace: Trace) -> tuple[list[tuple[int, int]], OutOfMemory | None]:
    """(allocated, reserved) after every event, and the error that ended it, if one did."""
    curves: list[tuple[int, int]] = []
    alive: set[int] = set()
    for index, event in enumerate(trace.events):
        allocator.event = index
        try:
            if event.kind == "alloc":
                alive.add(event.block)
                allocator.malloc(event.block, event.nbytes)
            elif event.kind == "free":
                if event.block not in alive:
                    raise TraceError(f"block {event.block} is not alive: {event}")
                alive.remove(event.block)
                allocator.free(event.block)
            elif event.kind == "mark" and event.op == EMPTY_CACHE:
                allocator.empty_cache()
        except OutOfMemory as error:
            return [*curves, (allocator.allocated, allocator.reserved)], error
        curves.append((allocator.allocated, allocator.reserved))
    return curves, None
