"""The verdict on dumps of torch's flight recorder: who waits for whom. Chapter: yours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from helpers.nccl import FlightRecord
from helpers.nccl.output.flights.flight_recorder import Disagreement, Unmet
from helpers.yours.causes import cause
from helpers.yours.verdict import Cause, Verdict

MOST = 64  # lines of ranks


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
    unmet = record.unmet()
    for one in record.disagreements():
        yield cause("ranks disagree", _disagree(one))
    for told in unmet:
        if told.missing:
            yield cause("missing rank", _missing(record, told))
    if record.absent:
        yield cause("no dump", _absent(record, unmet))
    pending = [rank for rank in sorted(record.dumps) if record.pending(rank)]
    if pending and not unmet and not record.disagreements():
        first = record.pending(pending[0])[0]
        why = f"{_ranks(pending)} all came to {first.op} #{first.number}, and it is not over: a link, a card or a kernel hangs"
        yield cause("all waiting", why)


def _disagree(one: Disagreement) -> str:
    calls = "; ".join(
        f"{_ranks(ranks)}: {op}{f' of {what}' if what else ''}" for (op, what), ranks in one.calls.items()
    )
    return f"number {one.number} of group {one.group!r} is not the same call everywhere: {calls}"


def _missing(record: FlightRecord, one: Unmet) -> str:
    """Who waits, in which line of the reader's, and what the first that has not come did last."""
    wait = "waits" if len(one.entered) == 1 else "wait"
    has = "has" if len(one.missing) == 1 else "have"
    calls = (call for rank in one.entered for call in record.pending(rank))
    where = next((f", {call.where}" for call in calls if (call.group, call.number) == one[:2] and call.where), "")
    last = record.completed(one.missing[0])
    after = f"; the last of rank {one.missing[0]} is {last.op} #{last.number}" if last else ""
    waits = f"{_ranks(one.entered)} {wait} in {one.op} #{one.number} of group {one.group!r}{where}"
    return f"{waits}; {_ranks(one.missing)} {has} not come{after}"


def _absent(record: FlightRecord, unmet: Sequence[Unmet]) -> str:
    """A rank without a dump is not accused: it may have died, or its file was not collected."""
    waiting = next((one for one in unmet if one.unknown), None)
    beside = (
        f", and {_ranks(waiting.entered)} wait in {waiting.op} #{waiting.number}" if waiting and waiting.entered else ""
    )
    return f"there is no dump of {_ranks(record.absent)}{beside}: dead, or the file was not brought along"


def _ranks(ranks: Sequence[int]) -> str:
    """ "nobody", "rank 3", "ranks 0, 1 and 2", "ranks 0, 1, 2 and 5 more"."""
    if len(ranks) < 2:
        return f"rank {ranks[0]}" if ranks else "nobody"
    shown = list(map(str, ranks[:8]))
    last = shown.pop() if len(ranks) <= 8 else f"{len(ranks) - 8} more"
    return f"ranks {', '.join(shown)} and {last}"
