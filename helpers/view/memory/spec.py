"""What the memory widget shows, as data: traces packed, or the name of recorded ones, and what the reader sees first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from helpers.facts import ACCELERATORS
from helpers.memory import Sample, Trace, pack
from helpers.view.memory.text import trace_sentence, trace_table
from helpers.view.shared.mount import Spec, fallback, mount
from helpers.view.shared.recorded import recorded_set, traces_of

# Bytes of a packed trace that a saved notebook may hold; a larger one is saved as its table, or recorded
LARGEST = 24_000
AXES = ("events", "seconds")


@dataclass(frozen=True)
class MemorySpec(Spec):
    """The state that the reader begins with: which recorded set of which, the event and the rank to stand at, and how it is drawn.

    show: "" for a trace of this session. limit: bytes of the device, a dashed line. at: None for the peak. axis: one of AXES.
    """

    show: str
    names: list[str]
    limit: int | None
    at: int | None
    rank: int
    axis: str


def devices() -> dict[str, int]:
    """Bytes of memory of every device that the facts know, the smallest first: the limits that a reader may choose."""
    sizes = {name: int(device.hbm_capacity.quantity) for name, device in ACCELERATORS.items()}
    return dict(sorted(sizes.items(), key=lambda item: item[1]))


def trace_set(traces: Sequence[Trace], title: str = "") -> dict:
    """Traces of this session as the widget takes them, a trace per rank. ValueError unless all are traces with events."""
    for trace in traces:
        if not isinstance(trace, Trace):
            raise ValueError(f"memory draws a Trace, a list of them, or a recorded one by name, got {trace!r}")
        if not trace.events:
            raise ValueError("a trace without events has nothing to draw")
        _ = trace.peak  # contradictions are named here, not on the page
    return {
        "name": "",
        "title": title,
        "label": "",
        "machine": "",
        "date": "",
        "ranks": [pack(trace) for trace in traces],
    }


def against(beside: Trace | None) -> dict:
    """What is compared with, as the widget takes it; of a prediction that is its name. ValueError unless it is a trace with events."""
    if beside is None:
        return {}
    name = "predicted" if beside.source.startswith("predicted") else str(beside.about.get("label", "the other"))
    return {"against": {**trace_set([beside]), "name": name}}


def with_reserved(traces: Sequence[object], reserved: Sequence[int]) -> Trace:
    """The one trace with what an allocator, or its model, had reserved after every event. ValueError unless there is one for each."""
    if len(traces) != 1 or not isinstance(traces[0], Trace):
        raise ValueError(f"reserved goes with one trace of this session, got {len(traces)}: {traces!r:.60}")
    if len(reserved) != len(traces[0]):
        raise ValueError(f"reserved has bytes for each of {len(traces[0])} events, got {len(reserved)}")
    changes = [i for i in range(len(reserved)) if not i or reserved[i] != reserved[i - 1]]
    return replace(traces[0], samples=tuple(Sample(i, int(traces[0].total[i]), int(reserved[i])) for i in changes))


def memory_spec(
    shown: Sequence[str] = (), *, limit: int | None = None, at: int | None = None, rank: int = 0, axis: str = "events"
) -> MemorySpec:
    """The state that the reader begins with. shown: recorded names, the first on show.

    limit: bytes of the device, a dashed line. at: the event to stand at (None: the peak). ValueError on anything else.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ValueError(f"limit is the device's memory in bytes, got {limit!r}")
    if axis not in AXES:
        raise ValueError(f"axis must be one of {', '.join(AXES)}, got {axis!r}")
    for name, value in (("at", at), ("rank", rank)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise ValueError(f"{name} is a number from 0, got {value!r}")
    return MemorySpec(shown[0] if shown else "", list(shown), limit, at, rank, axis)


def refuse_outside(spec: MemorySpec, traces: Sequence[Trace]) -> None:
    """ValueError when the spec asks for a rank or an event that is not there."""
    if spec.rank >= len(traces):
        raise ValueError(f"rank must lie in 0..{len(traces) - 1}, got {spec.rank}")
    if spec.at is not None and spec.at >= len(traces[spec.rank]):
        raise ValueError(f"at must be an event in 0..{len(traces[spec.rank]) - 1}, got {spec.at}")


def set_html(spec: MemorySpec, found: Mapping) -> str:
    """The mount: the spec alone for recorded traces, with the trace for small ones; for large ones of a session only sentence and table."""
    traces = traces_of(found)
    header, rows = trace_table(traces)
    text = fallback(f"{set_sentence(found, traces)}.", header, rows, found.get("label", ""))
    if found.get("recorded"):
        return mount("memory", spec.as_json(), text)
    whole = {**spec.as_json(), "trace": dict(found)}
    return mount("memory", whole, text) if len(json.dumps(found)) <= LARGEST else text


def set_sentence(found: Mapping, traces: Iterable[Trace] | None = None) -> str:
    """The set in one line: of several ranks, how many, and the fullest."""
    ranks = list(traces) if traces is not None else traces_of(found)
    fullest = max(range(len(ranks)), key=lambda rank: (ranks[rank].peak.nbytes, -rank))
    told = trace_sentence(ranks[fullest])
    return told if len(ranks) == 1 else f"{len(ranks)} ranks, rank {fullest} the fullest; {told}"


def page_html(shown: Sequence[str], **options: object) -> str:
    """The mount of recorded traces, for the directive. ValueError on a name that is not recorded."""
    spec = memory_spec(shown, **options)
    for name in shown:
        recorded_set(name)
    found = recorded_set(shown[0])
    refuse_outside(spec, traces_of(found))
    return set_html(spec, found)
