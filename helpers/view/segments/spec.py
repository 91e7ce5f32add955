"""A replay of the allocator's model as data for the widget `segments`: actions in segments and offsets. Chapter: allocator.

The page replays nothing: it applies these actions one after the other, as PyTorch's own viewer does with a memory history.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.memory.allocator import Action, Replay, program, replay
from helpers.memory.allocator.expandable import space_size
from helpers.memory.allocator.programs import WRITTEN
from helpers.memory.allocator.rules import MIN_BLOCK
from helpers.memory.trace import CLASSES, Event, Trace
from helpers.units import MIB, nbytes_text, parse_nbytes
from helpers.view.shared.mount import Spec
from helpers.view.shared.recorded import names, recorded_set, traces_of
from helpers.view.shared.words import counted

MODES = ("fixed", "expandable", "both")
EVENTS = 2500  # more do not fit into a page's mount, nor on a screen
KINDS = {"alloc": "+", "free": "-", "class": "c", "mark": "m"}
CODES = {
    "segment_alloc": "S",
    "segment_free": "F",
    "segment_map": "M",
    "segment_unmap": "U",
    "alloc": "+",
}


@dataclass(frozen=True)
class SegmentsSpec(Spec):
    """The whole state of the widget: a trace, and its replay with fixed and with expandable segments.

    program: the text, where one was written. mode: which replay is on show. step: how many events have happened. limit: bytes.
    texts: what events name by number. events: as `_event` packs them. views: as `_view` does.
    """

    label: str
    source: str
    program: str | None
    written: bool
    mode: str
    step: int
    limit: int | None
    classes: list[str]
    texts: list[str]
    events: list[list]
    views: list[dict]


def segments_spec(
    what: Trace | str, mode: str = "both", limit: int | str | None = None, step: int = 0, label: str = ""
) -> SegmentsSpec:
    """The state that the reader begins with.

    what: a trace, the name of a recorded one, or a program as `allocator.program` reads it.
    mode: "fixed" segments, "expandable" ones, or "both" beside each other.
    limit: what the device has. ValueError on another mode, more than 2,500 events, or a step outside the trace.
    """
    trace = _read(what, label)
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    if len(trace) > EVENTS:
        raise ValueError(f"the widget steps through at most {EVENTS} events, got {len(trace)}: take Trace.between")
    if not isinstance(step, int) or not 0 <= step <= len(trace):
        raise ValueError(f"step must lie in 0..{len(trace)}, got {step!r}")
    limit = None if limit is None else parse_nbytes(limit)
    texts: dict[str, int] = {}
    events = [_event(e, texts) for e in trace.events]
    views = [_view(replay(trace, expandable, limit, raises=False)) for expandable in (False, True)]
    return SegmentsSpec(
        label=label or str(trace.about.get("label", "a trace")),
        source=f"model of the allocator; trace {trace.source}",
        program=what if trace.source == WRITTEN and isinstance(what, str) else None,
        written=trace.source == WRITTEN,
        mode=mode,
        step=step,
        limit=limit,
        classes=list(CLASSES),
        texts=list(texts),
        events=events,
        views=views,
    )


def _read(what: Trace | str, label: str) -> Trace:
    """The trace that is meant; of a recorded set with several ranks, the first."""
    if not isinstance(what, str):
        return what
    return traces_of(recorded_set(what))[0] if what in names() else program(what, label or "a program")


def _event(event: Event, texts: dict[str, int]) -> list:
    """["+", block, bytes, class, text], ["-", block], ["c", block, class] or ["m", text]: no more than its kind needs."""
    kind = KINDS[event.kind]
    if kind == "m":
        return [kind, texts.setdefault(event.op, len(texts))]
    if kind == "-":
        return [kind, event.block]
    cls = CLASSES.index(event.cls)
    if kind == "c":
        return [kind, event.block, cls]
    return [kind, event.block, event.nbytes, cls, texts.setdefault(_name(event), len(texts))]


def _name(event: Event) -> str:
    """What a sentence calls the block: the program's name, or module and operator."""
    return " ".join(part for part in (event.module, event.op) if part) or f"block {event.block}"


def _view(made: Replay) -> dict:
    """One replay: its segments in order of their making as [pool, units], and its actions; a unit is 512 bytes."""
    spaces = _Spaces(made)
    actions = [spaces.row(action) for action in made.actions]
    return {
        "expandable": made.rules.expandable,
        "segments": [[pool, size // MIN_BLOCK] for pool, size in spaces.made],
        "actions": actions,
        "oom": str(made.oom) if made.oom else None,
        "peaks": [made.peak_allocated, made.peak_reserved],
    }


class _Spaces:
    """Addresses as (segment, offset). made: of every segment its pool and the most bytes that it ever spans."""

    def __init__(self, replay: Replay):
        self.limit = replay.rules.limit
        self.made: list[tuple[str, int]] = []
        self.live: dict[int, tuple[int, int, int]] = {}  # number -> first address, end of its address space, number

    def row(self, action: Action) -> list:
        """[event, code, segment, offset, size], in units; of a free [event, "-"], of the error [event, "!", size]."""
        if action.action == "oom":
            return [action.event, "!", action.size // MIN_BLOCK]
        if action.action == "free_completed":
            return [action.event, "-"]
        if action.action in ("segment_alloc", "segment_map"):
            self._open(action)
        number = self._at(action.address)
        offset = action.address - self.live[number][0]
        if action.action == "segment_map":
            pool, size = self.made[number]
            self.made[number] = pool, max(size, offset + action.size)
        if action.action == "segment_free":
            del self.live[number]
        return [action.event, CODES[action.action], number, offset // MIN_BLOCK, action.size // MIN_BLOCK]

    def _at(self, address: int) -> int | None:
        return next((n for n, (first, end, _) in self.live.items() if first <= address < end), None)

    def _open(self, action: Action) -> None:
        """A new segment, or the first pages of a new address space."""
        if self._at(action.address) is not None:
            return
        number, mapped = len(self.made), action.action == "segment_map"
        size = space_size(action.pool, self.limit) if mapped else action.size
        self.live[number] = action.address, action.address + size, number
        self.made.append((action.pool, action.size))


def segments_sentence(spec: SegmentsSpec) -> str:
    """a program in the model of the allocator: 6 events, peak 20 MiB reserved (expandable segments: 20 MiB)."""
    fixed, grown = (view["peaks"][1] for view in spec.views)
    oom = ["runs out of memory" if view["oom"] else f"{_mib(view['peaks'][1])} reserved at most" for view in spec.views]
    return (
        f"{spec.label} in the model of the allocator, {counted(len(spec.events), 'event')}:"
        f" {oom[0]} with fixed segments, {oom[1]} with expandable ones"
    ) + ("" if fixed or grown else " (nothing was allocated)")


def _mib(nbytes: int) -> str:
    return nbytes_text(nbytes) if nbytes < MIB else f"{nbytes / MIB:g} MiB"
