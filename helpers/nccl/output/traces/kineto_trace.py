"""A trace of torch's profiler: where the time of one rank went, and what of its talking nothing hid. Chapter: yours.

A device's time is shared out without a rest: computation; communication beside which nothing computes ("exposed"); copies beside
neither; and idle. On a GPU lanes are streams, on the CPU (Gloo) they are threads, and the one device is called "cpu".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from helpers.nccl.output.traces.kineto_checks import KinetoError, a_dict, a_list, a_text, a_whole
from helpers.nccl.output.traces.kineto_collectives import Collective, collective
from helpers.nccl.output.traces.kineto_cpu import computing, of_cpu
from helpers.nccl.output.traces.kineto_events import Event, events_of, loading_of, steps_of
from helpers.nccl.output.traces.kineto_intervals import Interval, both, minus, total, union, within
from helpers.nccl.output.traces.kineto_kernels import of_gpu, operators_of
from helpers.nccl.output.traces.kineto_launches import windows_of
from helpers.nccl.output.traces.kineto_sources import data_of

CPU = "cpu"
OF_TORCH = ("cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver")  # without a GPU


class Breakdown(NamedTuple):
    """A device's time in nanoseconds: wall = compute + exposed + copies + idle, to the last one.

    communication: all of it; what is not exposed is hidden behind computation. copies: beside neither computation nor
    communication. loading: the part of idle in which the process waited for its next batch.
    """

    wall: int
    compute: int
    exposed: int
    copies: int
    idle: int
    communication: int
    loading: int

    @property
    def hidden(self) -> int:
        return self.communication - self.exposed

    def share(self, name: str) -> float:
        """One of the fields over wall, 0 of an empty window."""
        return float(getattr(self, name)) / self.wall if self.wall else 0.0


class Lane(NamedTuple):
    """A stream of a GPU, or the threads of the CPU: how many spans, and nanoseconds in which at least one runs."""

    device: int | str
    stream: int | str
    spans: int
    busy: int


@dataclass(frozen=True)
class Work:
    """What one device did, each as intervals that do not touch. windows: {step: when it ran}, as far as the trace tells its launches."""

    compute: tuple[Interval, ...]
    communication: tuple[Interval, ...]
    copies: tuple[Interval, ...]
    windows: Mapping[int, Interval] = field(default_factory=dict)


@dataclass(frozen=True)
class KinetoTrace:
    """One rank's trace. rank, world_size: None where the trace names none. gpus: names of the machine's GPUs.

    wall: nanoseconds from the first event's begin to the last one's end. began: when that was, in the clock of the trace.
    steps: {number: span} of the profiler's steps. collectives: in order of their begin.
    """

    rank: int | None
    world_size: int | None
    backend: str
    nccl: str
    gpus: tuple[str, ...]
    wall: int
    began: int
    events: int
    steps: Mapping[int, Interval]
    lanes: tuple[Lane, ...]
    collectives: tuple[Collective, ...]
    loading: tuple[Interval, ...]
    work: Mapping[int | str, Work]

    @property
    def devices(self) -> tuple[int | str, ...]:
        """GPUs that did something, in order; ("cpu",) of a trace without any."""
        return tuple(self.work)

    def breakdown(self, device: int | str | None = None, step: int | None = None) -> Breakdown:
        """Of one device (the first that there is), over the whole trace or one of its steps. KeyError for others.

        A GPU's step lasts from the end of what the step before launched to the end of what it launched itself, however far the GPU lags
        behind the process; where the trace does not tell launches, it is the process's own span.
        """
        work = self.work[self.devices[0] if device is None else device]
        window = (0, self.wall) if step is None else work.windows.get(step, self.steps[step])
        compute, talk, copies = (within(one, window) for one in (work.compute, work.communication, work.copies))
        exposed = minus(talk, compute)
        copied = minus(copies, union([*compute, *talk]))
        idle = minus(union([window]), union([*compute, *talk, *copies]))
        waited = both(idle, within(self.loading, window))
        sums = map(total, (compute, exposed, copied, idle, talk, waited))
        return Breakdown(window[1] - window[0], *sums)

    def longest(self, count: int = 5) -> tuple[Collective, ...]:
        """The collectives of which most was exposed."""
        return tuple(sorted(self.collectives, key=lambda one: (-one.exposed, one.place))[:count])


def parse_kineto(source: str | bytes | Path) -> KinetoTrace:
    """The trace of one rank: a path (.json or .json.gz), its text, or its bytes, plain or packed.

    Reads nothing but data, and all of it: KinetoError names the event and the field that do not fit, or the letter where the text
    stops being JSON. Exact: kineto's nanoseconds are kept as whole numbers. OSError where a path leads to no file.
    """
    data = data_of(source)
    events, began = events_of(data)
    about = a_dict(data.get("distributedInfo", {}), "distributedInfo")
    work, calls, lanes = _on_gpus(events) if any(e.on_gpu for e in events) else _on_cpu(events, _one_group(about))
    return KinetoTrace(
        _rank(about, "rank"),
        _rank(about, "world_size"),
        a_text(about.get("backend", ""), "distributedInfo: backend"),
        a_text(about.get("nccl_version", ""), "distributedInfo: nccl_version"),
        tuple(
            _gpu(one, place) for place, one in enumerate(a_list(data.get("deviceProperties", []), "deviceProperties"))
        ),
        max(event.end for event in events),
        began,
        len(events),
        steps_of(events),
        lanes,
        tuple(sorted(calls, key=lambda one: (one.start, one.place))),
        tuple(union(event.span for event in loading_of(events))),
        work,
    )


def _rank(about: Mapping[str, Any], name: str) -> int | None:
    return None if about.get(name) is None else a_whole(about[name], f"distributedInfo: {name}")


def _gpu(properties: object, place: int) -> str:
    about = f"deviceProperties {place}"
    return a_text(a_dict(properties, about).get("name"), f"{about}: name")


def _on_gpus(events: Sequence[Event]) -> tuple[dict[int | str, Work], list[Collective], tuple[Lane, ...]]:
    """By device, which kineto writes as a kernel's pid."""
    mine: dict[int | str, list[Event]] = {}
    for event in events:
        if event.on_gpu:
            mine.setdefault(event.pid, []).append(event)
    work, calls, operators = {}, [], operators_of(events)
    for device in sorted(mine, key=_order):
        talk = of_gpu(mine[device], operators)
        places = {one.event.place for one in talk}
        kernels = [e for e in mine[device] if e.category == "kernel" and e.place not in places]
        compute = union(e.span for e in kernels)
        copies = union(e.span for e in mine[device] if e.category != "kernel")
        spans = tuple(union(one.event.span for one in talk))
        work[device] = Work(tuple(compute), spans, tuple(copies), windows_of(mine[device], events))
        calls += [collective(one.event, device, one.args, one.word, compute) for one in talk]
    return work, calls, _lanes(event for device in work for event in mine[device])


def _on_cpu(
    events: Sequence[Event], nranks: int | None
) -> tuple[dict[int | str, Work], list[Collective], tuple[Lane, ...]]:
    """Gloo's calls and torch's operators, on whichever thread."""
    talk, ops = of_cpu(events, nranks), computing(events)
    if not any(event.category in OF_TORCH for event in events):
        raise KinetoError("no trace of torch's profiler: no kernel, no copy and no operator of torch is in it")
    compute = union(event.span for event in ops)
    calls = [collective(call.event, CPU, call.args, call.word, compute) for call in talk]
    work: dict[int | str, Work] = {CPU: Work(tuple(compute), tuple(union(call.event.span for call in talk)), ())}
    return work, calls, _lanes(event._replace(pid=CPU) for event in [*ops, *(call.event for call in talk)])


def _lanes(events: Iterable[Event]) -> tuple[Lane, ...]:
    spans: dict[tuple[int | str, int | str], list[Interval]] = {}
    for event in events:
        spans.setdefault((event.pid, event.tid), []).append(event.span)
    return tuple(Lane(*key, len(spans[key]), total(union(spans[key]))) for key in sorted(spans, key=_lane_order))


def _lane_order(key: tuple[int | str, int | str]) -> tuple[object, ...]:
    return _order(key[0]), _order(key[1])


def _order(place: int | str) -> tuple[bool, int, str]:
    """Numbers by size, before names."""
    return (True, 0, place) if isinstance(place, str) else (False, place, "")


def _one_group(about: Mapping[str, Any]) -> int | None:
    """Ranks of the only group: where there are more, a call of Gloo does not say which was its own."""
    count = about.get("pg_count", 1)
    return _rank(about, "world_size") if count == 1 and count is not True else None
