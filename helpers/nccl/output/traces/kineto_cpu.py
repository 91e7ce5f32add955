"""The trace of a rank without a GPU: Gloo's calls on their own threads, and when torch's operators compute. Chapter: yours.

Gloo marks each call from its begin to its end (ProcessGroupGloo's work takes a title, "gloo:all_reduce"), with the input's size where
the profiler records shapes. An operator in which a call or a wait for the next batch stands is no computation; what stands in it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from helpers.nccl.output.traces.kineto_checks import a_list, a_text, a_whole
from helpers.nccl.output.traces.kineto_collectives import INPUT, OUTPUT, op_of
from helpers.nccl.output.traces.kineto_events import LOADER, Event

GLOO = "gloo:"
C10D = ("c10d::", "record_param_comms")
TYPES = {  # as C++ names them, and as torch does
    "float": "Float",
    "double": "Double",
    "c10::Half": "Half",
    "c10::BFloat16": "BFloat16",
    "long int": "Long",
    "long": "Long",
    "int": "Int",
    "short int": "Short",
    "short": "Short",
    "signed char": "Char",
    "unsigned char": "Byte",
    "bool": "Bool",
}


class Call(NamedTuple):
    """One of Gloo's calls. args: what it was, in kineto's own words for a kernel of NCCL. word: "all_reduce"."""

    event: Event
    args: Mapping[str, Any]
    word: str


def of_cpu(events: Sequence[Event], nranks: int | None) -> list[Call]:
    """nranks: of the one group that there is, None where there are several or nobody tells."""
    calls = [event for event in events if event.category == "user_annotation" and event.name.startswith(GLOO)]
    return [Call(event, _args(event, nranks), event.name.removeprefix(GLOO)) for event in calls]


def _args(event: Event, nranks: int | None) -> dict[str, Any]:
    """Gloo tells one rank's input: an all_gather's output is as many times as large."""
    about = f"event {event.place}"
    found: dict[str, Any] = {"Group size": nranks}
    dims, types = event.args.get("Input Dims"), event.args.get("Input type")
    if dims is None or types is None:
        return found
    names = [a_text(one, f"{about}: Input type") for one in a_list(types, f"{about}: Input type")]
    sizes = [_numbers(one, f"{about}: Input Dims") for one in a_list(dims, f"{about}: Input Dims")]
    if not names or names[0] not in TYPES or len(set(names)) > 1:
        return found
    times = (nranks or 0) if op_of(event.name.removeprefix(GLOO)) == "all_gather" else 1
    return found | {INPUT: sum(sizes), OUTPUT: sum(sizes) * times, "dtype": TYPES[names[0]]} if times else found


def _numbers(extents: object, about: str) -> int:
    return a_whole(prod(a_whole(extent, about) for extent in a_list(extents, about)), about)


def computing(events: Sequence[Event]) -> list[Event]:
    """Operators that compute: not those that talk, in which something talks, or that make the next batch."""
    threads: dict[object, list[Event]] = {}
    for event in events:
        if event.category == "cpu_op" or _talks(event) or LOADER.fullmatch(event.name):
            threads.setdefault((event.pid, event.tid), []).append(event)
    return [event for thread in threads.values() for event in _of_thread(thread)]


def _talks(event: Event) -> bool:
    return event.name.startswith((GLOO, *C10D))


def _of_thread(events: Sequence[Event]) -> list[Event]:
    """Walks down a thread: what is open is the stack, outermost first."""
    found: list[Event] = []
    talking: set[int] = set()
    stack: list[Event] = []
    for event in sorted(events, key=lambda one: (one.start, -one.end, one.place)):
        while stack and stack[-1].end <= event.start:
            stack.pop()
        if _talks(event):
            talking.update(one.place for one in stack)
        loads = any(LOADER.fullmatch(one.name) for one in stack)
        if event.category == "cpu_op" and not loads and not _talks(event) and not any(map(_talks, stack)):
            found.append(event)
        stack.append(event)
    return [event for event in found if event.place not in talking]
