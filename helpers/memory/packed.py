"""A trace in few bytes: what recorded/memory/*.json, a page and a saved notebook hold. Chapters: training-memory, allocator, too-big.

Training repeats itself layer by layer, so an event is written as the layer before it was: what happened as an index into a short
list, a size likewise, and a block that is freed by its age in allocations. Seconds are kept to the microsecond; all else exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from helpers.memory.trace import Event, Sample, Trace, TraceError

TEXTS = ("kind", "cls", "phase", "op")


def pack(trace: Trace) -> dict[str, Any]:
    """The trace as plain data for JSON; `unpack` gives it back. TraceError if its events contradict themselves.

    what, sizes, modules: every distinct (kind, class, phase, op), size in bytes, module. events: per event its index in `what`.
    blocks: per event that is no mark, allocations ago (0: it is the allocation). bytes: per allocation, its index in `sizes`.
    module: runs of [index in `modules`, events]. ids: per allocation, its id less the id before, empty where they count 0, 1, 2.
    micros: per event, microseconds since the event before, empty where nothing takes time.
    """
    events = trace.events
    rows: dict[tuple[str, ...], int] = {}
    modules: dict[str, int] = {}
    sizes: dict[int, int] = {}
    blocks, ids = _ages(events)
    micros = [round(event.seconds * 1e6) for event in events]
    return {
        "source": trace.source,
        "about": dict(trace.about),
        "events": [rows.setdefault(tuple(getattr(e, name) for name in TEXTS), len(rows)) for e in events],
        "blocks": blocks,
        "bytes": [sizes.setdefault(e.nbytes, len(sizes)) for e in events if e.kind == "alloc"],
        "module": [
            [modules.setdefault(m, len(modules)), len(list(run))] for m, run in groupby(e.module for e in events)
        ],
        "ids": [] if ids == list(range(len(ids))) else _steps(ids),
        "micros": _steps(micros) if any(micros) else [],
        "what": [list(what) for what in rows],
        "sizes": list(sizes),
        "modules": list(modules),
        "samples": [list(sample) for sample in trace.samples],
    }


def unpack(data: Mapping[str, Any]) -> Trace:
    """The trace of such data. TraceError for anything else."""
    try:
        return Trace(tuple(_events(data)), data["source"], data["about"], tuple(map(_sample, data["samples"])))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise TraceError(f"not a packed trace: {error!r}") from None


def _ages(events: Iterable[Event]) -> tuple[list[int], list[int]]:
    """Per event that is no mark, how many allocations ago its block was made; and the ids of the blocks, in order of allocation."""
    blocks: list[int] = []
    ids: list[int] = []
    made: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for event in events:
        if event.kind == "alloc":
            made[event.block], sizes[event.block] = len(ids), event.nbytes
            ids.append(event.block)
            blocks.append(0)
        elif event.kind != "mark":
            if sizes.get(event.block) != event.nbytes:
                raise TraceError(f"block {event.block} was not allocated with {event.nbytes} bytes: {event}")
            blocks.append(len(ids) - made[event.block])
        elif (event.block, event.nbytes) != (-1, 0):
            raise TraceError(f"a mark has block -1 and 0 bytes, got {event}")
    return blocks, ids


def _steps(values: list[int]) -> list[int]:
    """Each value less the one before; the first less 0."""
    return [value - before for before, value in zip([0, *values], values, strict=False)]


def _events(data: Mapping[str, Any]) -> Iterable[Event]:
    blocks, micros = iter(data["blocks"]), _sums(data["micros"])
    made = _made(data)
    modules = [data["modules"][which] for which, length in data["module"] for _ in range(length)]
    if len(modules) != len(data["events"]) or (micros and len(micros) != len(modules)):
        raise ValueError(f"{len(data['events'])} events, {len(modules)} modules and {len(micros)} times")
    count = 0
    for index, which in enumerate(data["events"]):
        kind, cls, phase, op = data["what"][which]
        block, nbytes = -1, 0
        if kind != "mark":
            age = next(blocks, -1)
            count += kind == "alloc"
            if not 0 <= age <= count or (age == 0) != (kind == "alloc"):
                raise ValueError(f"event {index} is of a block {age} allocations ago, and {count} were made")
            block, nbytes = made[count - (age or 1)]
        yield Event(kind, block, nbytes, cls, modules[index], phase, op, micros[index] / 1e6 if micros else 0.0)


def _made(data: Mapping[str, Any]) -> list[tuple[int, int]]:
    """(id, bytes) of every allocation, in order."""
    sizes = [data["sizes"][which] for which in data["bytes"]]
    return list(zip(_sums(data["ids"]) or range(len(sizes)), sizes, strict=True))


def _sums(steps: Iterable[int]) -> list[int]:
    total, sums = 0, []
    for step in steps:
        total += step
        sums.append(total)
    return sums


def _sample(sample: Iterable[int]) -> Sample:
    index, allocated, reserved = sample
    return Sample(int(index), int(allocated), int(reserved))
