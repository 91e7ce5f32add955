"""When a GPU ran a step: by who launched what, for a GPU lags behind the process that feeds it. Chapter: yours."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from helpers.nccl.output.traces.kineto_events import Event, steps_of
from helpers.nccl.output.traces.kineto_intervals import Interval

RUNTIMES = ("cuda_runtime", "cuda_driver")
ID = "correlation"  # of a call of the runtime, and of what it started on the GPU


def windows_of(device: Sequence[Event], events: Sequence[Event]) -> dict[int, Interval]:
    """{step: from the end of what earlier steps launched to the end of what it launched itself}, {} where no launch is told.

    device: what one GPU did. A step that launched nothing is empty.
    """
    steps = steps_of(events)
    if not steps:
        return {}
    launched = {e.args.get(ID): e.start for e in events if e.category in RUNTIMES and isinstance(e.args.get(ID), int)}
    spans = sorted((span, number) for number, span in steps.items())
    starts = [start for (start, _), _ in spans]
    ran: dict[int, list[Interval]] = {}
    for event in device:
        at = launched.get(event.args[ID]) if isinstance(event.args.get(ID), int) else None
        place = -1 if at is None else bisect_right(starts, at) - 1
        if at is not None and place >= 0 and at < spans[place][0][1]:
            ran.setdefault(spans[place][1], []).append(event.span)
    found, before = {}, 0
    for (start, _), number in spans if ran else ():
        mine = ran.get(number, [(before, before)])
        first, last = min(one[0] for one in mine), max(one[1] for one in mine)
        found[number] = max(before, min(start, first)), max(before, last)
        before = found[number][1]
    return found
