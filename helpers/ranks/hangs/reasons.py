"""Why nothing moves, in one line: from who waits for whom to words, root cause first. Chapter: hangs."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Sequence

from helpers.ranks.notes.notes import Journal
from helpers.ranks.notes.reader_lines import ranks_text

from .waits import Journals, Wait, entered, members, stuck, waits

LINKS = 4  # links of a circle that are written out
SHOWN = 8  # runs of ranks that are written out
_VERB = re.compile(r"waits (to send |to receive |in [a-z_]+ (?=for))")


def cause(journals: Journals, gone: Collection[int], doing: Sequence[str] = ()) -> str | None:
    """Why nothing moves, root cause first, in one line; None when the journals do not tell.

    gone: ranks that have finished. doing: in words, by rank, what each does ("running at cell line 7").
    """
    found = waits(journals, gone)
    return _left(found, gone) or _circle(found, gone) or _absent(found, gone, doing) or _nobody_missing(found, journals)


def hopeless(journals: Journals, gone: Collection[int]) -> str | None:
    """Why waiting longer cannot help, where that is certain before any deadline: a rank waits for one that has finished.

    A circle is left to the deadline: a second thread of a rank might still break it.
    """
    return _left(waits(journals, gone), gone)


def uneven(journals: Sequence[Journal]) -> str | None:
    """All ranks have finished, and one without a collective that others of its group have entered: in words."""
    groups = {note.group: members(note, journals) for j in journals for note in j.notes if note.collective}
    for group, ranks in sorted({**groups, "": range(len(journals))}.items()):
        counts = {rank: count for rank in ranks if (count := entered(journals[rank], group)) is not None}
        if len(set(counts.values())) > 1:
            return _left_out(journals, group, counts)
    return None


def _left_out(journals: Sequence[Journal], group: str, counts: dict[int, int]) -> str:
    """The first collective that somebody lacks, as far as a journal still has it."""
    ahead = max(counts, key=counts.get)
    later = (n for n in journals[ahead].notes if n.collective and n.group == group and n.number > min(counts.values()))
    if (note := next(later, None)) is None:
        return f"rank {ahead} has entered more collectives than others: {counts[ahead]} in all"
    without = ranks_text([rank for rank, count in counts.items() if count < note.number], most=SHOWN)
    others = ranks_text([rank for rank, count in counts.items() if count >= note.number], most=SHOWN)
    return f"{without} finished without entering {note}, which {others} entered ({note.where})"


def _left(found: dict[int, Wait], gone: Collection[int]) -> str | None:
    """A rank waits for one that has finished."""
    for wait in found.values():
        left = [rank for rank in wait.lacks if rank in gone]
        if not left or (wait.one and len(left) < len(wait.lacks)):
            continue
        if wait.note.collective:
            return f"{ranks_text(left, most=SHOWN)} finished without entering {wait.note}"
        if wait.one:
            return f"rank {wait.rank} waits to receive from anyone, and all others have finished"
        return f"{_link(wait, left[0])}, which has finished"
    return None


def _circle(found: dict[int, Wait], gone: Collection[int]) -> str | None:
    dead = stuck(found, gone)
    circle = _shortest(found, dead) if dead else []
    if not circle:
        return None
    waiting = [found[rank] for rank in circle]
    if all(wait.note.collective for wait in waiting):
        return f"{ranks_text(circle, most=SHOWN)} entered groups in different order: {_in_groups(waiting)}"
    links = [_link(wait, rank) for wait, rank in zip(waiting, circle[1:] + circle[:1], strict=True)]
    if len(circle) == 2 and (what := _past_each_other(*waiting)):
        return f"{what} differ: {', '.join(links)}"
    said, size = _shortened(links), len(links)
    if size <= LINKS:
        return f"{', '.join(said)}: a circle"
    return f"{', '.join(said[: LINKS - 1])}, ..., {said[-1]}: a circle of {size} ranks"


def _past_each_other(one: Wait, other: Wait) -> str:
    """One sends to the other, which receives from it, and yet the message does not arrive: what keeps them apart."""
    if any(len(wait.note.peers) != 1 or wait.one for wait in (one, other)):
        return ""
    mine, theirs = one.note.peers[0], other.note.peers[0]
    if mine.sends == theirs.sends:
        return ""
    return "tags" if mine.tag != theirs.tag else "groups" if one.note.group != other.note.group else ""


def _shortened(links: list[str]) -> list[str]:
    """What all do is said once: "rank 0 waits to receive from rank 1", "rank 1 from rank 2"."""
    verbs = [_VERB.search(link) for link in links]
    if not all(verbs) or len({verb[0] for verb in verbs}) > 1:
        return links
    return [links[0], *(_VERB.sub("", link) for link in links[1:])]


def _shortest(found: dict[int, Wait], dead: set[int]) -> list[int]:
    """The shortest circle through a rank that is in one; [] if the dead wait for ranks that have gone."""
    seen: list[int] = []
    rank = min(dead)
    while rank not in seen:
        seen.append(rank)
        rank = next((r for r in found[rank].lacks if r in dead), None)
        if rank is None:
            return []
    start, before = min(seen[seen.index(rank) :]), {}
    queue = deque([start])
    while queue:
        rank = queue.popleft()
        for after in found[rank].lacks:
            if after == start:
                return _back(rank, before)
            if after in dead and after not in before:
                before[after] = rank
                queue.append(after)
    return []


def _back(rank: int, before: dict[int, int]) -> list[int]:
    way = [rank]
    while way[-1] in before:
        way.append(before[way[-1]])
    return way[::-1]


def _in_groups(waiting: list[Wait]) -> str:
    """Two groups of the same ranks look alike: the second is "another"."""
    texts, seen = [], set()
    for wait in waiting[:LINKS]:
        text = str(wait.note)
        text = text.replace("in the group of", "in another group of") if wait.note.within[1:] in seen else text
        seen.add(wait.note.within[1:])
        texts.append(f"rank {wait.rank}{' is' * (not texts)} in {text} ({wait.note.where})")
    return ", ".join([*texts, *["..."] * (len(waiting) > LINKS)])


def _absent(found: dict[int, Wait], gone: Collection[int], doing: Sequence[str]) -> str | None:
    """A rank waits for some that are still on their way."""
    for wait in found.values():
        late = [rank for rank in wait.lacks if rank not in gone and not (rank in found and found[rank].lacks)]
        if not late or wait.one:
            continue
        if wait.note.collective:
            return f"{ranks_text(late, most=SHOWN)} {'has' if len(late) == 1 else 'have'} not reached {wait.note}"
        return f"{_link(wait, late[0])}, which is {doing[late[0]] if doing else 'on its way'}"
    return None


def _nobody_missing(found: dict[int, Wait], journals: Journals) -> str | None:
    """All of a group are in the same collective."""
    for wait in found.values():
        ranks = members(wait.note, journals)
        inside = [found[rank].note for rank in ranks if rank in found]
        same = [note for note in inside if (note.number, note.group) == (wait.note.number, wait.note.group)]
        if wait.note.collective and len(ranks) > 1 and len(same) == len(ranks):
            return f"nobody is missing from {wait.note}: what carries it is slow or broken"
    return None


def _link(wait: Wait, rank: int) -> str:
    """ "rank 0 waits to receive from rank 1"."""
    if wait.note.collective:
        return f"rank {wait.rank} waits in {wait.note.op} #{wait.note.number} for rank {rank}"
    if len(wait.note.peers) > 1:
        return f"rank {wait.rank} waits in {wait.note.op} for rank {rank}"
    (peer,) = wait.note.peers
    tag = f" with tag {peer.tag}" * bool(peer.tag)
    return f"rank {wait.rank} waits to {'send to' if peer.sends else 'receive from'} {'anyone' if wait.one else f'rank {rank}'}{tag}"
