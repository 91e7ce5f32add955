"""A trace of memory in words and as a table: what a reader without JavaScript gets. Chapters: training-memory, allocator, too-big."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from helpers.memory import CLASSES, Trace
from helpers.units import GIB, MIB

NOUNS = ("parameter", "gradient", "optimizer state", "input", "cache", "activation", "communication", "temporary")
ROWS = 12  # a longer table is no longer read


def unit_for(nbytes: int) -> str:
    """The one unit of a picture whose highest value is `nbytes`: GiB from 4 GiB on, else MiB."""
    return "GiB" if nbytes >= 4 * GIB else "MiB"


def amount(nbytes: int, unit: str) -> str:
    """Bytes in "MiB" or "GiB" with two decimals, halves up: amount(1068764364, "MiB") is "1,019.25"."""
    size = GIB if unit == "GiB" else MIB
    hundredths = (nbytes * 200 + size) // (2 * size)
    return f"{hundredths // 100:,}.{hundredths % 100:02d}"


def trace_sentence(trace: Trace) -> str:
    """tracked (CPU tensors): the article's model; 1,564.50 MiB at the peak, in backward, layers.5 (event 900 of 1,440)."""
    label = trace.about.get("label", "")
    told = f"{trace.source}: {label}" if label else trace.source
    if not trace.events:
        return f"{told}; no event"
    peak = trace.peak
    where = ", ".join(part for part in (peak.phase, peak.module) if part)
    place = f"in {where}, " if where else ""
    unit = unit_for(peak.nbytes)
    return f"{told}; {amount(peak.nbytes, unit)} {unit} at the peak, {place}event {peak.index + 1:,} of {len(trace):,}"


def moments(trace: Trace) -> tuple[list[str], list[list[str]]]:
    """Header and rows: every mark and the peak, bytes by class and in all, in one unit; classes that never hold anything are left out."""
    unit = unit_for(trace.peak.nbytes)
    held = {e.cls for e in trace.events if e.kind in ("alloc", "class") and e.nbytes}
    used = [cls for cls in CLASSES if cls in held]
    named = {index: name for index, name, _ in trace.marks[: ROWS - 1]}
    named[trace.peak.index] = ", ".join(part for part in (named.get(trace.peak.index), "peak") if part)
    rows = [[name, *_alive(trace, i, used, unit)] for i, name in sorted(named.items())]
    return [f"in {unit}", *(NOUNS[CLASSES.index(cls)] for cls in used), "in all"], rows


def _alive(trace: Trace, index: int, used: Sequence[str], unit: str) -> list[str]:
    """Bytes alive after an event, of each class and in all."""
    alive = Counter()
    for block in trace.alive(index):
        alive[block.cls] += block.nbytes
    return [amount(nbytes, unit) for nbytes in (*(alive[cls] for cls in used), alive.total())]


def trace_table(traces: Sequence[Trace]) -> tuple[list[str], list[list[str]]]:
    """The moments of one trace; of several ranks, a row each: its peak by class."""
    if len(traces) == 1:
        return moments(traces[0])
    unit = unit_for(max(trace.peak.nbytes for trace in traces))
    rows = [
        [f"rank {rank}", *(amount(n, unit) for n in trace.peak.by_class.values()), amount(trace.peak.nbytes, unit)]
        for rank, trace in enumerate(traces)
    ]
    return [f"at its peak, in {unit}", *NOUNS, "in all"], rows
