"""The verdict on dumps of torch's flight recorder: who waits for whom. Chapter: yours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from helpers.nccl import FlightRecord
from helpers.nccl.output.flights.flight_entries import ISSUED, Operation
from helpers.nccl.output.flights.flight_recorder import Disagreement, Unmet
from helpers.yours.causes import cause
from helpers.yours.verdict import Cause, Verdict
from helpers.yours.words.said import ranks_text

One = TypeVar("One", Unmet, Disagreement)
MOST = 64  # lines of ranks
TOGETHER = ("all_reduce", "allreduce", "all_reduce_barrier", "barrier")  # over nowhere before all have come


def of_dumps(record: FlightRecord) -> Verdict:
    """Ranks that do different things come first, then who has not come, then who left no dump."""
    several = len(record.dumps) != 1
    what = f"the flight recorder's {'dumps' if several else 'dump'} of {_ranks(sorted(record.dumps))}"
    causes, lines = tuple(_causes(record)), tuple(str(record).split("\n"))[:MOST]
    if causes:
        return Verdict("dumps", what, f"{causes[0].why[:1].upper()}{causes[0].why[1:]}.", causes=causes, lines=lines)
    said = "Every rank that left a dump has come to all that the others are in: nobody waits."
    return Verdict("dumps", what, said, lines=lines)


def _causes(record: FlightRecord) -> Iterator[Cause]:
    """Of each group the first call: what is queued behind it waits for it."""
    unmet, differing = record.unmet(), record.disagreements()
    for one in _firsts(differing):
        yield cause("ranks disagree", _disagree(one))
    missing = _firsts([told for told in unmet if told.missing])
    for told in sorted(missing, key=lambda told: any(record.pending(rank) for rank in told.missing)):
        yield cause("missing rank", _missing(record, told))
    alone = list(_unanswered(record))
    yield from alone
    if record.absent:
        yield cause("no dump", _absent(record, unmet))
    pending = [rank for rank in sorted(record.dumps) if record.pending(rank)]
    if pending and not (unmet or differing or alone):
        yield _waiting(record, pending)


def _firsts(told: Sequence[One]) -> list[One]:
    return list({one.group: one for one in reversed(told)}.values())[::-1]


def _unanswered(record: FlightRecord) -> Iterator[Cause]:
    """Sends and receives whose other end has fewer of them, where both dumps are whole."""
    for rank, dump in sorted(record.dumps.items()):
        waits = next((one for one in record.pending(rank) if one.p2p and one.peer is not None), None)
        members = record.members(waits.group) if waits else ()
        if waits is None or (waits.peer or 0) >= len(members) or rank not in members:
            continue
        other = members[waits.peer or 0]
        there = record.dumps.get(other)
        if there is None or not (there.whole and dump.whole):
            continue
        mine = [
            one
            for one in dump.operations
            if one.record <= waits.record and _ends(one) == (waits.group, waits.sends, waits.peer)
        ]
        theirs = [one for one in there.operations if _ends(one) == (waits.group, not waits.sends, members.index(rank))]
        if len(theirs) < len(mine):
            way = "to" if waits.sends else "from"
            why = f"rank {rank} waits in {waits.op} #{waits.number} {way} rank {other}; rank {other} has not come{_after(record, other)}"
            yield cause("missing rank", why)


def _ends(one: Operation) -> tuple[str, bool, int | None]:
    return one.group, one.sends, one.peer


def _waiting(record: FlightRecord, pending: Sequence[int]) -> Cause:
    """All came. Where a call that needs all is over on some rank, the dumps were written while it ended: nothing hangs for certain."""
    first = record.pending(pending[0])[0]
    call = first.group, first.number, first.p2p
    over = [
        rank
        for rank in sorted(record.dumps)
        if any((one.group, one.number, one.p2p) == call and not one.pending for one in record.operations(rank))
    ]
    name = f"{first.op} #{first.number}"
    if over and first.op in TOGETHER:
        why = f"{name} is over on {_ranks(over)} and not on {_ranks(pending)}: the dumps may have been written while it ended"
        return cause("all waiting", why, accuses=False)
    unknown = [rank for rank in sorted(record.dumps) if not record.entered(rank, *call[:2])]
    if not first.p2p and first.group not in record.groups and unknown:
        whose = f"{name} of group {first.group!r}, whose ranks no dump tells"
        return cause(
            "missing rank",
            f"{_ranks(pending)} {_verb(pending, 'wait')} in {whose}; {_ranks(unknown)} did not come to it, or did not belong to it",
        )
    if first.state == ISSUED:
        why = f"{_ranks(pending)} handed over {name} last: whether it is over, backend {first.backend} does not tell"
        return cause("all waiting", why, accuses=False)
    came = "all came" if len(pending) > 1 else "came"
    return cause(
        "all waiting", f"{_ranks(pending)} {came} to {name}, and it is not over: a link, a card or a kernel hangs"
    )


def _disagree(one: Disagreement) -> str:
    calls = "; ".join(
        f"{_ranks(ranks)}: {op}{f' of {what}' if what else ''}" for (op, what), ranks in one.calls.items()
    )
    return f"number {one.number} of group {one.group!r} is not the same call everywhere: {calls}"


def _missing(record: FlightRecord, one: Unmet) -> str:
    """Who waits, in which line of the reader's, and what the first that has not come did last."""
    first = next((rank for rank in one.missing if not record.pending(rank)), one.missing[0])
    calls = (call for rank in one.entered for call in record.pending(rank))
    where = next((f", {call.where}" for call in calls if (call.group, call.number) == one[:2] and call.where), "")
    waits = (
        f"{_ranks(one.entered)} {_verb(one.entered, 'wait')} in {one.op} #{one.number} of group {one.group!r}{where}"
    )
    return (
        f"{waits}; {_ranks(one.missing)} {'has' if len(one.missing) == 1 else 'have'} not come{_after(record, first)}"
    )


def _after(record: FlightRecord, rank: int) -> str:
    """What a rank that has not come does instead, or did last."""
    pending = record.pending(rank)
    waits = next((one for one in pending if one.state != ISSUED), None)
    last = pending[-1] if pending else record.completed(rank)
    if waits:
        return f"; rank {rank} waits itself, in {waits.op} #{waits.number} of group {waits.group!r}"
    return f"; the last of rank {rank} is {last.op} #{last.number}" if last else ""


def _absent(record: FlightRecord, unmet: Sequence[Unmet]) -> str:
    """A rank without a dump is not accused: it may have died, or its file was not collected."""
    waiting = next((one for one in unmet if one.unknown), None)
    beside = (
        f", and {_ranks(waiting.entered)} wait in {waiting.op} #{waiting.number}" if waiting and waiting.entered else ""
    )
    if not any(map(record.pending, record.dumps)):
        beside = ", and nothing hangs in what is here"
    return f"there is no dump of {_ranks(record.absent)}{beside}: dead, or the file was not brought along"


def _verb(ranks: Sequence[int], verb: str) -> str:
    return f"{verb}s" if len(ranks) == 1 else verb


def _ranks(ranks: Sequence[int]) -> str:
    return ranks_text(ranks) or "nobody"
