"""The timed events of a trace, each with its lane and what it is. Chapter: yours.

Fields as kineto writes them, read in libkineto/src/output_json.cpp at 002d99198b93aa6eed09014a7c8b4959eb545372: times in microseconds
with three places, of a GPU's work the device as pid and the stream as tid. Names of categories: libkineto/src/ActivityType.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from helpers.nccl.output.traces.kineto_checks import KinetoError, a_dict, a_list, a_place, a_text, nanoseconds

MOST_EVENTS = 4 << 20
KERNEL, COPIES = "kernel", ("gpu_memcpy", "gpu_memset")
FORMERLY = {  # up to torch 1.12
    "Kernel": KERNEL,
    "Memcpy": COPIES[0],
    "Memset": COPIES[1],
    "Operator": "cpu_op",
    "Runtime": "cuda_runtime",
}
OWN = "Trace"  # the profiler's own span, which begins before the first event and ends after the last
LOADER = re.compile(r"enumerate\(DataLoader\)#\w+\.__next__", re.ASCII)
STEP = re.compile(r"ProfilerStep#(\d{1,9})", re.ASCII)


class Event(NamedTuple):
    """place: its number in traceEvents. start, end: nanoseconds since the first event. args: {} where there are none."""

    place: int
    category: str
    name: str
    pid: int | str
    tid: int | str
    start: int
    end: int
    args: Mapping[str, Any]

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end

    @property
    def on_gpu(self) -> bool:
        """Whether it took a GPU's time: a kernel, a copy, a memset."""
        return self.category == KERNEL or self.category in COPIES


def events_of(data: Mapping[str, Any]) -> tuple[list[Event], int]:
    """All complete events in order, and the microsecond clock's nanosecond at which the first begins. KinetoError names what is wrong."""
    rows = a_list(data["traceEvents"], "traceEvents")
    if len(rows) > MOST_EVENTS:
        raise KinetoError(f"{len(rows)} events, expected at most {MOST_EVENTS}")
    found = [made for place, row in enumerate(rows) if (made := _event(row, place)) is not None]
    if not found:
        raise KinetoError("no event in it has a duration: expected some of 'ph' 'X'")
    first = min(event.start for event in found)
    return [event._replace(start=event.start - first, end=event.end - first) for event in found], first


def _event(row: object, place: int) -> Event | None:
    """None for marks, arrows and names of lanes, and for the profiler's own span."""
    about = f"event {place}"
    event = a_dict(row, about)
    if a_text(event.get("ph"), f"{about}: ph") != "X" or event.get("cat") == OWN:
        return None
    start = nanoseconds(event.get("ts"), f"{about}: ts")
    category = a_text(event.get("cat", ""), f"{about}: cat")
    return Event(
        place,
        FORMERLY.get(category, category),
        a_text(event.get("name"), f"{about}: name"),
        a_place(event.get("pid"), f"{about}: pid"),
        a_place(event.get("tid"), f"{about}: tid"),
        start,
        start + nanoseconds(event.get("dur"), f"{about}: dur"),
        a_dict(event.get("args", {}), f"{about}: args"),
    )


def steps_of(events: Sequence[Event]) -> dict[int, tuple[int, int]]:
    """{step: its span} of the marks that a profiler's schedule sets; the longest of two with one number."""
    found: dict[int, tuple[int, int]] = {}
    for event in events:
        number = STEP.fullmatch(event.name)
        if number and not event.on_gpu and event.category == "user_annotation":
            found[int(number[1])] = max(
                found.get(int(number[1]), (0, 0)), event.span, key=lambda span: span[1] - span[0]
            )
    return dict(sorted(found.items()))


def loading_of(events: Sequence[Event]) -> list[Event]:
    """Where a process waited for its next batch: torch marks each __next__ of a DataLoader."""
    return [event for event in events if LOADER.fullmatch(event.name)]
