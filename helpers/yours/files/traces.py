"""The verdict on traces of torch's profiler: where the time went, and what to look at first. Chapter: yours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from helpers.nccl import KinetoTrace, together
from helpers.nccl.limited import limited_by
from helpers.nccl.output.traces.kineto_collectives import Collective
from helpers.nccl.output.traces.kineto_ranks import KinetoRanks
from helpers.nccl.output.traces.kineto_trace import Breakdown
from helpers.nccl.releases import LATEST, release_of
from helpers.units import KIB, bandwidth_text, nbytes_text, seconds_text
from helpers.yours.causes import cause
from helpers.yours.places import Place, gpu_place
from helpers.yours.verdict import Cause, Verdict

EXPOSED = 0.1  # of the wall time: from here on exposed communication is a cause
LATE = 0.05  # waited for one rank, by the others on average
LOADS = 0.05  # idle in a loader
IDLE = 0.3  # of a GPU, outside of a loader
SHORT = 50_000_000  # nanoseconds of a trace
NOTHING = 0.95  # idle; a shorter trace than that tells nothing of a job
FEW = 8  # small collectives that are worth a word
SMALL = 64 * KIB  # small, where no model says what a call's start costs
MOST = 24  # lines


class Said(NamedTuple):
    """A collective, and by what its size is limited: "latency", "bandwidth", or None where nobody knows."""

    call: Collective
    limit: str | None

    @property
    def small(self) -> bool:
        """By NCCL's model, and where that says nothing by SMALL."""
        return self.limit == "latency" or (self.limit is None and 0 < (self.call.nbytes or 0) < SMALL)


def of_traces(traces: Sequence[KinetoTrace], told: Place | None) -> Verdict:
    """One rank's, or several ranks' of one run. KinetoError where these do not belong together."""
    ranks = together(traces) if len(traces) > 1 else None
    first = max(traces, key=lambda one: one.breakdown().exposed)
    place = told or gpu_place(first.gpus[:1])
    said = [Said(one, _limit(one, place, first.nccl)) for one in first.collectives]
    causes = tuple(sorted(_causes(first, ranks, said), key=lambda one: -one[0]))
    parts = first.breakdown()
    return Verdict(
        "trace",
        _what(traces, first),
        _sentence(first, parts),
        machine="" if place is None else place.title if place.told else f"GPUs taken to be joined as in {place.title}",
        causes=tuple(one for _, one in causes),
        lines=tuple(_lines(traces, first, said))[:MOST],
    )


def _limit(one: Collective, place: Place | None, version: str) -> str | None:
    if place is None or one.nbytes is None or one.nranks is None:
        return None
    if not place.alone(one.nranks) and not place.ports:
        return None
    return limited_by(one.op, one.nbytes, place, one.nranks, _known(version))


def _known(version: str) -> str:
    try:
        release_of(version)
    except ValueError:
        return LATEST
    return version


def _what(traces: Sequence[KinetoTrace], first: KinetoTrace) -> str:
    world = "" if first.world_size is None else f" of {first.world_size}"
    if len(traces) > 1:
        return f"traces of torch's profiler, of {len(traces)} ranks{world}"
    name = "" if first.rank is None else f", of rank {first.rank}{world}"
    return f"a trace of torch's profiler{name}: {first.events} events, {seconds_text(first.wall / 1e9)}"


def _sentence(first: KinetoTrace, b: Breakdown) -> str:
    who = f"rank {first.rank}" if first.rank is not None else "this rank"
    device = "its CPU" if first.devices == ("cpu",) else f"GPU {first.devices[0]}"
    parts = f"computed {b.share('compute'):.0%}, talked {b.share('exposed'):.0%} beside no computation"
    copied = f", copied {b.share('copies'):.0%}" if b.copies else ""
    said = f"Of {_time(b.wall)} of {who}, {device} {parts}{copied} and was idle {b.share('idle'):.0%}."
    if b.communication:
        said += f" {b.hidden / b.communication:.0%} of its communication was hidden."
    return said


def _causes(first: KinetoTrace, ranks: KinetoRanks | None, said: Sequence[Said]) -> Iterator[tuple[float, Cause]]:
    """Each with the nanoseconds that it stands for, by which they are sorted."""
    b, gpu = first.breakdown(), first.devices != ("cpu",)
    if ranks and ranks.held:
        yield from _late(ranks, b)
    if b.share("loading") >= LOADS:
        why = f"for {_time(b.loading)} of {_time(b.wall)} nothing ran while the process waited for its next batch"
        yield b.loading, cause("data loading", why)
    small = [one for one in said if one.small and one.call.exposed]
    waited = ranks.waited(first.rank or 0) if ranks else 0
    lost = max(0, sum(one.call.exposed for one in small) - waited)
    if len(small) >= FEW and lost >= EXPOSED * b.wall:
        yield lost, cause("small collectives", _smalls(small, lost, len(said)))
    if b.share("exposed") >= EXPOSED:
        yield b.exposed - min(lost, b.exposed), cause("exposed communication", _exposed(first, b))
    if gpu and (b.idle - b.loading) >= IDLE * b.wall:
        yield b.idle - b.loading, _idle(b)


def _idle(b: Breakdown) -> Cause:
    """A remark where the trace is of next to nothing: a toy, or a start."""
    why = f"for {_time(b.idle - b.loading)} of {_time(b.wall)} the GPU had nothing to do, and no loader was waited for"
    if b.wall < SHORT and b.idle >= NOTHING * b.wall:
        why += f"; it worked for {_time(b.wall - b.idle)} in all, which tells nothing of a job: trace some whole steps"
        return cause("idle GPU", why, accuses=False)
    return cause("idle GPU", f"{why}: kernels come too late, or too few events were recorded")


def _late(ranks: KinetoRanks, b: Breakdown) -> Iterator[tuple[float, Cause]]:
    rank = max(ranks.traces, key=lambda one: (ranks.caused(one), -one))
    others = len(ranks.traces) - 1
    waited, times = ranks.caused(rank) / others, ranks.last().get(rank, 0)
    if waited < LATE * b.wall:
        return
    cost = sum(held.cost for held in ranks.held)
    why = (
        f"rank {rank} came last in {times} of {len(ranks.held)} collectives, for which the others waited {_time(waited)} of"
        f" {_time(b.wall)}; by the last to come, all of them together took {_time(cost)}"
    )
    yield waited, cause("late rank", why)


def _smalls(small: Sequence[Said], lost: int, count: int) -> str:
    known = all(one.limit for one in small)
    how = "by NCCL's model half of their time is their start" if known else f"below {nbytes_text(SMALL)} each"
    why = f"{len(small)} of {count} collectives are small ({how}), and {_time(lost)} of them ran beside no computation"
    return f"{why}: fewer and larger ones start less often"


def _exposed(first: KinetoTrace, b: Breakdown) -> str:
    (one,) = first.longest(1)
    size = "" if one.nbytes is None else f" of {nbytes_text(one.nbytes)}"
    return (
        f"for {_time(b.exposed)} of {_time(b.wall)} a collective ran beside no computation; the longest is {one.op}{size},"
        f" {_time(one.exposed)}, and waiting for another rank looks the same: give the traces of all ranks"
    )


def _lines(traces: Sequence[KinetoTrace], first: KinetoTrace, said: Sequence[Said]) -> Iterator[str]:
    for one in traces:
        for device in one.devices:
            b = one.breakdown(device)
            where = "CPU" if device == "cpu" else f"GPU {device}"
            sums = f"{_time(b.compute)} computation + {_time(b.exposed)} exposed + {_time(b.copies)} copies + {_time(b.idle)} idle"
            yield f"rank {'?' if one.rank is None else one.rank}, {where}: {_time(b.wall)} = {sums}"
    by_place = {one.call.place: one for one in said}
    for call in first.longest(5):
        yield _line(by_place[call.place])


def _line(said: Said) -> str:
    one = said.call
    size = "" if one.nbytes is None else f" of {nbytes_text(one.nbytes)}"
    ranks = "" if one.nranks is None else f" on {one.nranks} ranks"
    rate = "" if one.busbw is None else f", {bandwidth_text(one.busbw)} busbw one way per rank"
    limit = "" if said.limit is None else f", limited by {said.limit}"
    return f"event {one.place}, {one.op}{size}{ranks}: {_time(one.exposed)} exposed of {_time(one.end - one.start)}{rate}{limit}"


def _time(nanoseconds: float) -> str:
    return seconds_text(nanoseconds / 1e9)
