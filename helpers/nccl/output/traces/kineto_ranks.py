"""Traces of several ranks: who waited for whom, without a common clock. Chapter: yours.

A collective ends at about the same moment everywhere, but a rank's span begins when that rank comes. So of one call the shortest span
is the last arriver's, and what it took; what the others' spans have more was waiting for that rank.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from helpers.nccl.output.traces.kineto_checks import KinetoError
from helpers.nccl.output.traces.kineto_collectives import Collective
from helpers.nccl.output.traces.kineto_intervals import Interval, total, union
from helpers.nccl.output.traces.kineto_trace import KinetoTrace

ALONE = ("send", "recv", "send_recv", "barrier")  # a message has two ends; a barrier moves nothing


class Held(NamedTuple):
    """One collective on several ranks. starts, spans: nanoseconds by rank, starts by its own clock. cost: the least span. last: whose."""

    group: str | None
    number: int
    op: str
    nbytes: int | None
    starts: Mapping[int, int]
    spans: Mapping[int, int]
    cost: int
    last: int

    @property
    def waited(self) -> dict[int, int]:
        """Nanoseconds that each rank waited for the last one."""
        return {rank: span - self.cost for rank, span in self.spans.items()}

    def waits(self, rank: int) -> Interval:
        """When one of `spans` waited: from its own coming to that of the last."""
        return self.starts[rank], self.starts[rank] + self.waited[rank]


@dataclass(frozen=True)
class KinetoRanks:
    """traces by rank. held: the collectives that could be laid beside each other. unmatched: (group, op) of those that could not."""

    traces: Mapping[int, KinetoTrace]
    held: tuple[Held, ...]
    unmatched: tuple[tuple[str | None, str], ...]

    def waited(self, rank: int) -> int:
        """Nanoseconds in which at least one collective of this rank waited for another; perhaps beside computation."""
        return _waited(self.held, rank)

    def caused(self, rank: int) -> int:
        """Nanoseconds that the others waited because this rank was last, all of them together."""
        because = [held for held in self.held if held.last == rank]
        return sum(_waited(because, other) for other in self.traces)

    def last(self) -> dict[int, int]:
        """{rank: in how many collectives it came last}, the most frequent first."""
        return dict(Counter(held.last for held in self.held).most_common())


def _waited(held: Iterable[Held], rank: int) -> int:
    return total(union(one.waits(rank) for one in held if rank in one.spans))


def together(traces: Iterable[KinetoTrace]) -> KinetoRanks:
    """Lays the collectives of several ranks beside each other: by torch's sequence number where each has one, else in their order.

    In their order only if every rank of the traces has as many of that group and operation; others are `unmatched`. KinetoError for
    two traces of one rank, for one that names no rank, and for worlds of different sizes.
    """
    by_rank: dict[int, KinetoTrace] = {}
    for trace in traces:
        if trace.rank is None or trace.rank in by_rank:
            raise KinetoError(f"a trace of rank {trace.rank}: expected one of each rank, with distributedInfo")
        by_rank[trace.rank] = trace
    if len({trace.world_size for trace in by_rank.values()}) > 1:
        sizes = {rank: trace.world_size for rank, trace in sorted(by_rank.items())}
        raise KinetoError(f"traces of worlds of different sizes: {sizes}")
    by_rank = dict(sorted(by_rank.items()))
    return KinetoRanks(by_rank, *_held(by_rank))


def _held(traces: Mapping[int, KinetoTrace]) -> tuple[tuple[Held, ...], tuple[tuple[str | None, str], ...]]:
    calls: dict[tuple[str | None, str], dict[int, list[Collective]]] = defaultdict(lambda: defaultdict(list))
    for rank, trace in traces.items():
        for one in trace.collectives:
            if one.op not in ALONE:
                calls[one.group, one.op][rank].append(one)
    held, unmatched = [], []
    for (group, op), by_rank in calls.items():
        matched = _numbered(by_rank) or _ordered(by_rank)
        held += [_of(group, op, number, same) for number, same in matched.items() if len(same) > 1]
        if not matched and len(traces) > 1:
            unmatched.append((group, op))
    return tuple(sorted(held, key=_when)), tuple(unmatched)


def _when(held: Held) -> tuple[str, str, int]:
    return held.group or "", held.op, held.number


def _numbered(by_rank: Mapping[int, Sequence[Collective]]) -> dict[int, dict[int, Collective]]:
    """By sequence number, {} where some call has none or two of a rank have the same."""
    found: dict[int, dict[int, Collective]] = defaultdict(dict)
    for rank, calls in by_rank.items():
        for one in calls:
            if one.number is None or rank in found[one.number]:
                return {}
            found[one.number][rank] = one
    return found


def _ordered(by_rank: Mapping[int, Sequence[Collective]]) -> dict[int, dict[int, Collective]]:
    if len({len(calls) for calls in by_rank.values()}) != 1:
        return {}
    rows = zip(*by_rank.values(), strict=True)
    return {number: dict(zip(by_rank, row, strict=True)) for number, row in enumerate(rows)}


def _of(group: str | None, op: str, number: int, same: Mapping[int, Collective]) -> Held:
    starts = {rank: one.start for rank, one in same.items()}
    spans = {rank: one.end - one.start for rank, one in same.items()}
    last = min(spans, key=lambda rank: (spans[rank], rank))
    sizes = {one.nbytes for one in same.values()}
    return Held(group, number, op, sizes.pop() if len(sizes) == 1 else None, starts, spans, spans[last], last)
