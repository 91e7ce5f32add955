"""What was alive, when, and why: the one value that is tracked, predicted, replayed through the allocator's model, and drawn.

A trace is a list of events in order. It holds no tensor, so every floor can read it and a page can carry it as JSON.
Chapters: training-memory, allocator, too-big.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from helpers.arrays import numpy_for

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.int64]

# In the order in which a picture stacks them. "activation" is what autograd keeps for backward, and nothing else.
CLASSES = ("parameter", "gradient", "optimizer", "input", "cache", "activation", "communication", "temporary")
KINDS = ("alloc", "free", "class", "mark")
TAKEN_FROM = ("measured (CUDA allocator)", "tracked (CUDA tensors)", "tracked (CPU tensors)", "predicted (meta)")


class TraceError(ValueError):
    """A trace contradicts itself: a block freed twice, an unknown class, a size that changes."""


class Event(NamedTuple):
    """One thing that happened to one block.

    kind: "alloc", "free", "class" (the block is now seen as `cls`) or "mark" (a moment with a name, block -1, 0 bytes).
    block: an id that is never used twice. nbytes: the block's bytes, never negative. cls: its class from now on (a free: until now).
    module: the module whose forward or backward ran, "" outside. phase: "forward", "backward", "step", ... or "".
    op: what made it, e.g. "aten::mm"; a mark's name. seconds: since the trace began (0 on the meta device, where nothing takes time).
    """

    kind: str
    block: int
    nbytes: int
    cls: str
    module: str = ""
    phase: str = ""
    op: str = ""
    seconds: float = 0.0


class Sample(NamedTuple):
    """What an allocator held after event number `event`, in bytes: in blocks that hold a tensor, and in segments."""

    event: int
    allocated: int
    reserved: int


class Block(NamedTuple):
    """A block that is alive: its id, bytes, class, and the allocation that made it."""

    block: int
    nbytes: int
    cls: str
    made: Event


@dataclass(frozen=True)
class Peak:
    """The highest moment. index: of the event after which it stands; by_class: bytes of every class, in CLASSES' order."""

    index: int
    nbytes: int
    by_class: Mapping[str, int]
    phase: str
    module: str
    op: str


@dataclass(frozen=True)
class Trace:
    """Events in order, what they were taken from (one of TAKEN_FROM), and what else is known (label, device, model, versions).

    samples: what the CUDA allocator itself said; empty elsewhere.
    """

    events: tuple[Event, ...]
    source: str
    about: Mapping[str, object] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()

    def __len__(self) -> int:
        return len(self.events)

    @cached_property
    def by_class(self) -> Bytes:
        """int64 [events, classes]: bytes alive of each class after each event. TraceError if the events contradict themselves."""
        np = numpy_for("Trace.by_class")
        changes = np.zeros((len(self.events), len(CLASSES)), dtype=np.int64)
        for index, (_, deltas) in enumerate(self._walk()):
            for cls, delta in deltas:
                changes[index, CLASSES.index(cls)] += delta
        by_class: Bytes = changes.cumsum(axis=0)
        return by_class

    @cached_property
    def total(self) -> Bytes:
        """int64 [events]: all bytes alive after each event; the sum over classes."""
        np = numpy_for("Trace.total")
        total: Bytes = np.array(self._totals, dtype=np.int64)
        return total

    @cached_property
    def _totals(self) -> list[int]:
        return list(accumulate(sum(delta for _, delta in deltas) for _, deltas in self._walk()))

    @cached_property
    def peak(self) -> Peak:
        """The first moment with the most bytes alive. TraceError for an empty trace."""
        if not self.events:
            raise TraceError("an empty trace has no peak")
        nbytes = max(self._totals)
        index = self._totals.index(nbytes)
        event, by_class = self.events[index], dict.fromkeys(CLASSES, 0)
        for block in self.alive(index):
            by_class[block.cls] += block.nbytes
        return Peak(index, nbytes, by_class, event.phase, event.module, event.op)

    def alive(self, index: int) -> list[Block]:
        """The blocks alive after event `index`, largest first; their bytes add up to total[index]. IndexError outside the trace."""
        if not 0 <= index < len(self.events):
            raise IndexError(f"the trace has events 0 to {len(self.events) - 1}, got {index}")
        blocks: dict[int, Block] = {}
        for event in self.events[: index + 1]:
            if event.kind == "alloc":
                blocks[event.block] = Block(event.block, event.nbytes, event.cls, event)
            elif event.kind == "class":
                blocks[event.block] = blocks[event.block]._replace(cls=event.cls)
            elif event.kind == "free":
                del blocks[event.block]
        return sorted(blocks.values(), key=lambda block: (-block.nbytes, block.block))

    @property
    def marks(self) -> list[tuple[int, str, int]]:
        """(event index, name, bytes alive there) of every mark, in order: the stages of the article's table."""
        return [(i, e.op, self._totals[i]) for i, e in enumerate(self.events) if e.kind == "mark"]

    def at(self, mark: str, number: int = -1) -> dict[str, int]:
        """{class: bytes alive} at the last mark of that name, or at another of them. TraceError naming the marks that there are."""
        found = [i for i, name, _ in self.marks if name == mark]
        if not found:
            raise TraceError(
                f"the marks are {', '.join(dict.fromkeys(name for _, name, _ in self.marks))}, got {mark!r}"
            )
        return dict(zip(CLASSES, map(int, self.by_class[found[number]]), strict=True))

    def rounded(self, nbytes: int = 512) -> Trace:
        """The same trace with every block rounded up to a multiple of `nbytes`, as the CUDA allocator rounds to 512."""
        if nbytes < 1:
            raise TraceError(f"blocks are rounded to a positive number of bytes, got {nbytes!r}")
        events = tuple(e._replace(nbytes=-(-e.nbytes // nbytes) * nbytes) for e in self.events)
        return replace(self, events=events)

    def between(self, start: int, stop: int) -> Trace:
        """Events start to stop - 1 as a trace of their own: what was alive before them is allocated first, in one go."""
        before = self.alive(start - 1) if start else []
        held = tuple(
            block.made._replace(cls=block.cls) for block in sorted(before, key=lambda block: block.made.seconds)
        )
        shift = len(held) - start
        samples = tuple(Sample(i + shift, a, r) for i, a, r in self.samples if start <= i < stop)
        return replace(self, events=held + self.events[start:stop], samples=samples)

    def _walk(self) -> Iterator[tuple[Event, list[tuple[str, int]]]]:
        """Every event with the changes it makes, (class, bytes)."""
        alive: dict[int, tuple[int, str]] = {}
        for event in self.events:
            if event.kind == "mark":
                yield event, []
                continue
            if event.cls not in CLASSES or event.nbytes < 0:
                raise TraceError(f"an event has a class of {', '.join(CLASSES)} and bytes, got {event}")
            yield event, list(_changes(event, alive))

    def to_json(self) -> str:
        """Compact JSON, column by column, names kept once; Trace.from_json gives an equal trace back."""
        return json.dumps(self.data(), separators=(",", ":"), sort_keys=True)

    def data(self) -> dict[str, Any]:
        """What to_json writes, as plain data: also what the widget draws. Times in whole microseconds."""
        names: dict[str, int] = {}
        spelled = [[names.setdefault(text, len(names)) for text in column] for column in self._texts()]
        columns = dict(zip(("kind", "cls", "module", "phase", "op"), spelled, strict=True))
        columns["block"] = [e.block for e in self.events]
        columns["nbytes"] = [e.nbytes for e in self.events]
        columns["micros"] = [round(e.seconds * 1e6) for e in self.events]
        return {
            "source": self.source,
            "about": dict(self.about),
            "classes": list(CLASSES),
            "names": list(names),
            "events": columns,
            "samples": [list(sample) for sample in self.samples],
        }

    def _texts(self) -> Iterable[list[str]]:
        return ([getattr(e, name) for e in self.events] for name in ("kind", "cls", "module", "phase", "op"))

    @classmethod
    def from_json(cls, text: str | Mapping[str, Any]) -> Trace:
        """The trace of such a text, or of its parsed data. TraceError for anything else."""
        try:
            data = json.loads(text) if isinstance(text, str) else text
            names, columns = data["names"], data["events"]
            texts = ([names[i] for i in columns[key]] for key in ("kind", "cls", "module", "phase", "op"))
            kinds, classes, modules, phases, ops = texts
            seconds = [micros / 1e6 for micros in columns["micros"]]
            rows = zip(kinds, columns["block"], columns["nbytes"], classes, modules, phases, ops, seconds, strict=True)
            samples = tuple(Sample(int(i), int(a), int(r)) for i, a, r in data["samples"])
            return cls(tuple(Event(*row) for row in rows), data["source"], data["about"], samples)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise TraceError(f"not a trace: {error!r}") from None


def _changes(event: Event, alive: dict[int, tuple[int, str]]) -> Iterator[tuple[str, int]]:
    """What one event adds and takes, class by class; keeps `alive` up to date."""
    if event.kind == "alloc":
        if event.block in alive:
            raise TraceError(f"block {event.block} is allocated twice: {event}")
        alive[event.block] = (event.nbytes, event.cls)
        yield event.cls, event.nbytes
        return
    if event.kind not in KINDS or event.block not in alive:
        raise TraceError(f"block {event.block} is not alive: {event}")
    nbytes, was = alive.pop(event.block)
    if nbytes != event.nbytes:
        raise TraceError(f"block {event.block} has {nbytes} bytes, not {event.nbytes}: {event}")
    yield was, -nbytes
    if event.kind == "class":
        alive[event.block] = (nbytes, event.cls)
        yield event.cls, nbytes
