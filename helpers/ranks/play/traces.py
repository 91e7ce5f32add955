"""Real runs of schedules, message by message, as data: what the player replays beside the predicted run. Chapters: ring, trees.

    run = measured_or_recorded("trace-ring-cpu", lambda: traced(ranks, s, nbytes), ranks.label)

The traces of the book are in TRACES, and `python -m helpers.ranks record` measures all of them again on this machine (or those that
are named: `... record trace-late-emulated`) and writes them under recorded/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE, Schedule, ScheduleError, check
from helpers.facts import Link
from helpers.ranks import recorded
from helpers.ranks.network.ports import clock
from helpers.ranks.pool.ranks import Ranks
from helpers.ranks.timing.timing import fit_link
from helpers.ranks.worker import inside
from helpers.units import KIB, MIB, Bandwidth

from .buffers import ALL_TO_ONE, ONE_TO_ALL, WHOLE
from .play import play
from .stamps import HostWatch, Late, NetworkWatch, Stamp, Stamps, StreamWatch, offsets

ITEM = 4  # bytes of a float32
SIZES = (KIB, 32 * KIB, MIB, 8 * MIB)  # of the messages that a link is fitted to: far enough apart for a noisy machine


def traced(ranks: Ranks, schedule: Schedule, nbytes: int, reps: int = 7, late: Late | None = None) -> dict:
    """In the notebook: plays the schedule on the ranks, in place where it can be, and returns the median run as plain data.

    "schedule": text; "nbytes"; "dtype"; "seconds": from the common start to the last rank's end; "clock": {"offsets": by how much each
    rank's clock was ahead, already taken off, "error": how wrong that may be}; "link": {"alpha", "bandwidth"}, of the emulated
    link, or fitted to messages of these ranks while all send at once; "messages": [{"step", "src", "dst", "chunks", "nbytes",
    "send": [began, ended], "recv": [began, ended]}], seconds since the common start; `stamps` says what they mean.
    A message without bytes is not sent, and not there. late: a rank that sleeps in one step.
    ScheduleError when the schedule does not keep its promise, is for another number of ranks, or has switches (ranks host
    them: such times mean nothing); ValueError when nbytes, reps or late make no sense, or an emulated network has several links.
    """
    _check(ranks, schedule, nbytes, reps, late)
    link = _link(ranks)
    found = ranks.run(_stamped, schedule, nbytes, reps, ranks.network is not None, late)
    (ahead, error), runs = found[0].offsets, zip(*(rank.runs for rank in found), strict=True)
    aligned = sorted((_aligned(run, ahead) for run in runs), key=lambda run: run["seconds"])
    return {
        "schedule": str(schedule),
        "nbytes": nbytes,
        "dtype": "float32",
        "clock": {"offsets": ahead, "error": error},
        "link": {"alpha": link.alpha, "bandwidth": link.bandwidth.value},
        **aligned[(reps - 1) // 2],
    }


def _check(ranks: Ranks, s: Schedule, nbytes: int, reps: int, late: Late | None) -> None:
    check(s)
    if ranks.nranks < 2:
        raise ValueError(f"messages need two ranks or more, these are {ranks.label}")
    if s.nranks != ranks.nranks:
        raise ScheduleError(f"this schedule is for {s.nranks} ranks, these are {ranks.nranks}")
    if s.nswitches:
        raise ScheduleError(f"ranks host the {s.nswitches} switches of {s.algorithm}: times of that mean nothing")
    unit = ITEM * (1 if s.collective in WHOLE else s.nranks)
    if type(nbytes) is not int or nbytes < unit or nbytes % unit:
        raise ValueError(f"nbytes is a multiple of {unit} here (float32, equal parts), got {nbytes!r}")
    if type(reps) is not int or reps < 1:
        raise ValueError(f"reps is a whole number >= 1, got {reps!r}")
    if late and not (late.rank in range(s.nranks) and late.step in range(1, len(s.steps) + 1) and late.seconds >= 0):
        raise ValueError(f"late names a rank of {s.nranks}, a step from 1 to {len(s.steps)} and seconds, got {late}")
    if late and not any(late.rank in (t.src, t.dst) for t in s.steps[late.step - 1]):
        raise ValueError(f"rank {late.rank} has no message in step {late.step}: nobody would see that it is late")


def _link(ranks: Ranks) -> Link:
    """What a model of this run is priced with."""
    if ranks.network is None:
        return fit_link(ranks, busy=True, sizes=SIZES)
    costs = {cost for i, row in enumerate(ranks.network.costs) for j, cost in enumerate(row) if i != j}
    if len(costs) > 1:
        raise ValueError(f"a trace is compared with one link, {ranks.label} has {len(costs)}")
    alpha, beta = costs.pop()
    return Link(alpha, Bandwidth(1 / beta, "one way", "GPU", "fitted"))


# inside ranks ------------------------------------------------------------------------------------------------------------
class _Run(NamedTuple):
    """One repetition on one rank."""

    began: float
    ended: float
    stamps: list[Stamp]


class _Found(NamedTuple):
    offsets: tuple[list[float], float]
    runs: list[_Run]


def _stamped(s: Schedule, nbytes: int, reps: int, emulated: bool, late: Late | None) -> _Found:
    if inside.shares_a_gpu():
        raise RuntimeError("these ranks share a GPU: their times mean nothing")
    given, out = _buffers(s, nbytes)
    apart = offsets()
    runs = [_run(s, given, out, emulated, late) for _ in inside.parts(range(reps + 1))]
    return _Found(apart, runs[1:])  # the first is a warm-up


def _buffers(s: Schedule, nbytes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Zeros, which stay zeros however often they are summed: what this rank gives, and where its result goes."""
    whole, part = nbytes // ITEM, nbytes // ITEM // s.nranks
    small = s.collective in ONE_TO_ALL or (s.collective == "scatter" and dist.get_rank() != s.root)
    given = torch.zeros(part if small else whole)
    if s.collective in WHOLE:
        return given, given
    return given, torch.zeros(part if s.collective in ALL_TO_ONE else whole)


def _run(s: Schedule, given: torch.Tensor, out: torch.Tensor, emulated: bool, late: Late | None) -> _Run:
    watch = NetworkWatch() if emulated else StreamWatch() if given.is_cuda else HostWatch()
    stamps = Stamps(watch, late)
    dist.barrier()
    with clock.model(clock.start()):
        began = watch.now()
        play(s, given, out, stamps.post)
        ended = watch.now()
    return _Run(watch.seconds(began), watch.seconds(ended), stamps.read())


# in the notebook ---------------------------------------------------------------------------------------------------------
def _aligned(run: tuple[_Run, ...], ahead: list[float]) -> dict:
    """What all ranks saw of one repetition, on one clock: {"seconds", "messages"}."""
    start = min(rank.began - off for rank, off in zip(run, ahead, strict=True))
    ends: dict[tuple, dict[str, list[float]]] = {}
    for rank, (_, _, stamps) in enumerate(run):
        for stamp in stamps:
            pair = (rank, stamp.peer) if stamp.kind == "send" else (stamp.peer, rank)
            times = [round(t - ahead[rank] - start, 9) for t in (stamp.began, stamp.ended)]
            ends.setdefault((stamp.step, *pair, stamp.chunks, stamp.nbytes), {})[stamp.kind] = times
    messages = [
        {"step": step, "src": src, "dst": dst, "chunks": list(chunks), "nbytes": nbytes}
        | {end: ends[step, src, dst, chunks, nbytes][end] for end in ("send", "recv")}
        for step, src, dst, chunks, nbytes in sorted(ends)
    ]
    last = max(rank.ended - off for rank, off in zip(run, ahead, strict=True))
    return {"seconds": round(last - start, 9), "messages": messages}


# the book's ----------------------------------------------------------------------------------------------------------------
EMULATED = Link(5e-3, Bandwidth(100e6, "one way", "GPU", "fitted"), "an emulated link")


@dataclass(frozen=True)
class TraceSpec:
    """One trace of the book: an all_reduce on `nranks` CPU ranks. link: what is emulated between them, if anything."""

    algorithm: str
    nbytes: int
    link: Link | None = None
    late: Late | None = None
    nranks: int = 4

    @property
    def schedule(self) -> Schedule:
        return CATALOGUE["all_reduce", self.algorithm](nranks=self.nranks)


TRACES = {
    "trace-ring-cpu": TraceSpec("ring", 4 * MIB),
    "trace-binomial-cpu": TraceSpec("binomial", 4 * MIB),
    "trace-ring-emulated": TraceSpec("ring", MIB, EMULATED),
    "trace-binomial-emulated": TraceSpec("binomial", MIB, EMULATED),
    "trace-late-emulated": TraceSpec("ring", MIB, EMULATED, Late(rank=2, step=3, seconds=0.02)),
}


def record_traces(names: Iterable[str] = ()) -> Iterator[str]:
    """Measure these traces (all, if none is named) and write them under recorded/, one after another; a line for each.

    ValueError for a name that is not in TRACES, before anything is measured.
    """
    names = tuple(names) or tuple(TRACES)
    for name in names:
        if name not in TRACES:
            raise ValueError(f"no trace {name!r}: there is {', '.join(TRACES)}")
    return (_recorded(name, TRACES[name]) for name in names)


def _recorded(name: str, trace: TraceSpec) -> str:
    with Ranks(trace.nranks, backend="gloo", link=trace.link) as ranks:
        data = traced(ranks, trace.schedule, trace.nbytes, late=trace.late)
        path = recorded.record(name, data, f"python -m helpers.ranks record {name}", ranks.label)
        return f"{path.name}: {data['seconds'] * 1e3:.3f} ms, {len(data['messages'])} messages on {ranks.label}"
