"""A message of one size or type at its sender and of another at its receiver. Chapter: hangs.

The n-th send from one rank to another belongs to the n-th receive there, with the same tag and group. Where a rank also receives
from anyone, that is not certain, and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from helpers.ranks.hangs.reporting import Evidence, When, report
from helpers.ranks.hangs.waits import messages
from helpers.ranks.notes.envelopes import Peer
from helpers.ranks.notes.notes import Journal, Note

_TENSOR = re.compile(r"([a-z]+(\d*)\w*)\[(\d+)\]")


@report(When.AT_ANY_TIME, order=20)
def unlike(evidence: Evidence) -> str | None:
    """In words: what differs, who sends what, who receives what.

    Gloo says nothing when the receiver's tensor is the larger: its end then stays what it was. The same bytes seen otherwise, as
    int64[2] and uint8[16], are no fault.
    """
    journals = evidence.journals
    for rank, note, peer in messages(journals):
        received = _counterpart(journals, rank, note, peer) if peer.sends else None
        if received and (what := _difference(peer.what or note.agreed, received[1])):
            there, text = received
            return (
                f"{what} differ: rank {rank} sends {peer.what or note.agreed} to rank {peer.rank} ({note.where}),"
                f" which receives {text} ({there.where})"
            )
    return None


def _counterpart(journals: Sequence[Journal], rank: int, note: Note, peer: Peer) -> tuple[Note, str] | None:
    """The receive that takes what `rank` sends, and its tensor; None where that is not certain."""
    same = [n for n in journals[peer.rank].notes if n.envelope and n.group == note.group]
    ways = [(n, p) for n in same for p in n.peers if not p.sends and p.tag == peer.tag and p.rank in (rank, None)]
    if any(p.mixed for _, p in ways):
        return None
    return next(((n, p.what or n.agreed) for n, p in ways if p.number == peer.number), None)


def _difference(sent: str, received: str) -> str:
    """ "sizes" or "types" or ""."""
    one, other = _TENSOR.fullmatch(sent), _TENSOR.fullmatch(received)
    if not one or not other or one[0] == other[0]:
        return ""
    if one[3] == other[3]:
        return "types"
    return "sizes" if _nbytes(one) != _nbytes(other) else ""


def _nbytes(tensor: re.Match) -> float:
    """float32[8] -> 32.0; bool[8] -> 8.0; float8_e4m3fn[8] -> 8.0."""
    return int(tensor[2] or 8) / 8 * int(tensor[3])
