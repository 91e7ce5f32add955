"""The report of this room, made of dumps of torch's flight recorder: the same words, and the same care. Chapter: hangs.

print(flight_report({rank: path.read_bytes() for rank, path in files.items()}))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from helpers.nccl.output.flights.flight_entries import Operation
from helpers.nccl.output.flights.flight_recorder import NCCL_NAMES, FlightRecord, agreed, parse_flight_recorder
from helpers.ranks.notes.envelopes import Peer, pack_group, pack_peers
from helpers.ranks.notes.notes import Journal, Note, State

from .positions import Position, compose
from .verdict import pending_text

NO_LINE = "line not recorded"
SILENT = Position("not answering", "left no dump of its flight recorder")
_TYPES = {  # c10's names for torch's types
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Bool": "bool",
}


def flight_report(dumps: Mapping[int, Any] | Sequence[Any]) -> str:
    """The report of all ranks' dumps, by rank or in their order; refuses what `helpers.nccl.parse_flight_recorder` refuses."""
    return report(parse_flight_recorder(dumps))


def report(record: FlightRecord) -> str:
    """Who keeps whom waiting, then where every rank is, in the words of a RankError."""
    return compose(list(positions(record)), "the dumps say where the ranks were, not whether they went on")


def positions(record: FlightRecord) -> list[Position]:
    """By rank. A rank without a dump is never accused of anything."""
    ranks = sorted({*record.dumps, *record.absent})
    return [_position(record, rank, len(ranks)) if rank in record.dumps else SILENT for rank in range(ranks[-1] + 1)]


def _position(record: FlightRecord, rank: int, nranks: int) -> Position:
    whole = record.dumps[rank].whole
    world = next((name for name in sorted(record.groups) if len(record.members(name)) == nranks), None)
    sent: Counter[tuple[str, bool, int]] = Counter()
    notes = [_note(record, rank, one, world, whole, sent) for one in record.operations(rank)]
    told = [note.number for note in notes if note.collective and not note.group]
    journal = Journal(tuple(notes), max(told, default=0), 0, 0, len(notes) + (not whole))
    return Position("stuck", pending_text(journal, stack=" "), "", journal)


def _note(
    record: FlightRecord,
    rank: int,
    one: Operation,
    world: str | None,
    whole: bool,
    sent: Counter[tuple[str, bool, int]],
) -> Note:
    members = record.members(one.group)
    group = "" if one.group == world else pack_group(one.group, members)
    envelope, what = "", _typed(agreed(one))
    if one.p2p and one.peer is not None and whole and one.peer < len(members):
        other = members[one.peer]
        sent[one.group, one.sends, other] += 1
        envelope = pack_peers([Peer(one.sends, other, number=sent[one.group, one.sends, other])])
    op = NCCL_NAMES.get(one.op, one.op)
    state = _state(record, rank, one)
    return Note(op, 0 if one.p2p else one.number, what, "", group, envelope, one.where or NO_LINE, state, 0.0)


def _state(record: FlightRecord, rank: int, one: Operation) -> State:
    """The oldest of its group that is not over is the one that the rank is in; on a GPU the others wait behind it."""
    if not one.pending:
        return State.DONE
    first = next(other for other in record.pending(rank) if other.group == one.group)
    if one is first or one.state == "started":
        return State.INSIDE
    return State.LAUNCHED if one.backend == "gloo" else State.QUEUED


def _typed(text: str) -> str:
    """ "Float[4]" -> "float32[4]"."""
    kind, bracket, rest = text.partition("[")
    return "+".join(_TYPES.get(name, name.lower()) for name in kind.split("+")) + bracket + rest if text else ""
