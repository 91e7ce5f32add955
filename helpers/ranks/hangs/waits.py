"""Who waits for whom: what the operation lacks that a rank is in, and who can never go on. Chapter: hangs.

Pure functions over journals. They say only what is certain: a journal that nobody could read, or that has overwritten what we look
for, counts as having come. So a healthy program, however its ranks run ahead of each other, is never called stuck.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from helpers.ranks.notes.envelopes import Peer
from helpers.ranks.notes.notes import Journal, Note, State

Journals = Sequence[Journal | None]  # by rank; None: that rank did not answer


@dataclass(frozen=True)
class Wait:
    """One rank in one operation. lacks: ranks that have certainly not come to it. one: any one of them would be enough."""

    rank: int
    note: Note
    lacks: tuple[int, ...]
    one: bool = False

    def freed_by(self, moving: Collection[int]) -> bool:
        """Can it go on once these ranks have?"""
        return (any if self.one else all)(rank in moving for rank in self.lacks)


def waits(journals: Journals, gone: Collection[int]) -> dict[int, Wait]:
    """What every rank that is in an operation lacks there, by rank."""
    inside = {r: journal.inside for r, journal in enumerate(journals) if journal and r not in gone}
    came: dict[tuple[str, int], set[int]] = {}
    return {r: _wait(r, note, journals, came) for r, note in inside.items() if note}


def stuck(found: dict[int, Wait], gone: Collection[int]) -> set[int]:
    """The ranks that can never go on by themselves, whatever those that are still running do."""
    needed = {rank for wait in found.values() for rank in wait.lacks}
    moving = {rank for rank in needed if rank not in found and rank not in gone}
    moving |= {rank for rank, wait in found.items() if not wait.lacks}
    while more := {rank for rank, wait in found.items() if rank not in moving and wait.freed_by(moving)}:
        moving |= more
    return found.keys() - moving


# what an operation lacks -------------------------------------------------------------------------------------------------
def _wait(rank: int, note: Note, journals: Journals, came: dict[tuple[str, int], set[int]]) -> Wait:
    """came: by group and number, the ranks that have come to a collective: most ranks wait in the same one."""
    if note.collective:
        ranks, key = members(note, journals), (note.group, note.number)
        if key not in came:
            came[key] = {r for r in ranks if _came(journals[r], note)}
        return Wait(rank, note, tuple(r for r in ranks if r != rank and r not in came[key]))
    lacks = [_lacks(rank, note, peer, journals) for peer in note.peers]
    one = any(peer.rank is None for peer in note.peers)
    return Wait(rank, note, tuple(sorted({r for ranks in lacks for r in ranks})), one)


def messages(journals: Sequence[Journal]) -> Iterator[tuple[int, Note, Peer]]:
    """Every message that a rank sends to, or receives from, a certain rank."""
    for rank, journal in enumerate(journals):
        for note in journal.notes:
            yield from ((rank, note, p) for p in note.peers if p.rank is not None and p.rank < len(journals))


def members(note: Note, journals: Journals) -> Sequence[int]:
    """The group's ranks; () where the note had no room for them."""
    return note.within.ranks or (() if note.group else range(len(journals)))


def _came(journal: Journal | None, note: Note) -> bool:
    """Has that rank, perhaps, come to this collective too? One that is queued on its GPU has not."""
    if journal is None:
        return True
    if (known := entered(journal, note.group)) is None:
        return True
    queued = State.QUEUED in (n.state for n in journal.notes if (n.number, n.group) == (note.number, note.group))
    return known >= note.number and not queued


def entered(journal: Journal, group: str) -> int | None:
    """How many collectives of a group a rank has entered; None when its journal does not tell any more."""
    if not group:
        return journal.entered
    numbers = [note.number for note in journal.notes if note.collective and note.group == group]
    return max(numbers) if numbers else None if journal.forgot else 0


def _lacks(rank: int, note: Note, peer: Peer, journals: Journals) -> tuple[int, ...]:
    """The peers that one message of `rank` lacks: its receiver or sender, or every possible sender."""
    if peer.rank is not None:
        other = journals[peer.rank] if peer.rank < len(journals) else None
        return () if answered(rank, note, peer, other) else (peer.rank,)
    others = [r for r in members(note, journals) if r != rank]
    known = all(journals[r] and not journals[r].forgot for r in (rank, *others))
    return () if not others or not known or _anyone_sent(rank, note, peer, others, journals) else tuple(others)


def answered(rank: int, note: Note, peer: Peer, other: Journal | None) -> bool:
    """Has the other rank, perhaps, posted the matching send or receive?"""
    if other is None:
        return True
    posted = _posted(other, note, not peer.sends, rank, peer.tag)
    if peer.sends:  # a receive from anyone takes it too
        posted = (
            None
            if posted is None or (anyone := _posted(other, note, False, None, peer.tag)) is None
            else posted + anyone
        )
    return posted is None or posted >= peer.number


def _anyone_sent(rank: int, note: Note, peer: Peer, others: list[int], journals: Journals) -> bool:
    """Are there, perhaps, more messages for `rank` than its receives from a certain rank take?"""
    spare = 0
    for other in others:
        sent = _posted(journals[other], note, True, rank, peer.tag)
        taken = _posted(journals[rank], note, False, other, peer.tag)
        spare += max(0, (sent or 0) - (taken or 0))
    return spare >= peer.number


def _posted(journal: Journal, note: Note, sends: bool, rank: int | None, tag: int) -> int | None:
    """How many such messages a rank has posted; None when its journal does not tell any more. Queued on its GPU is not posted."""
    same = [n for n in journal.notes if n.envelope and n.group == note.group]
    if any(n.envelope.endswith("+") for n in same):
        return None
    found = [(n.state == State.QUEUED, p.number) for n in same for p in n.peers if p.way == (sends, rank, tag)]
    if not found:
        return None if journal.forgot else 0
    return max((number for queued, number in found if not queued), default=min(found)[1] - 1)
