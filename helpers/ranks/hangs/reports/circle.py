"""Ranks that wait for each other in a circle: sends and receives, or groups entered in different order. Chapter: hangs."""

from __future__ import annotations

import re
from collections import deque

from helpers.ranks.hangs.reporting import Evidence, When, report
from helpers.ranks.hangs.waits import Wait, stuck
from helpers.ranks.hangs.words import SHOWN, link
from helpers.ranks.notes.reader_lines import ranks_text

LINKS = 4  # links of a circle that are written out
_VERB = re.compile(r"waits (to send |to receive |in [a-z_]+ (?=for))")


@report(When.NOTHING_MOVES, order=20)
def circle(evidence: Evidence) -> str | None:
    """The shortest circle in words. It waits for the deadline: a second thread of a rank might still break it."""
    found = evidence.waits
    dead = stuck(found, evidence.gone)
    ring = _shortest(found, dead) if dead else []
    if not ring:
        return None
    waiting = [found[rank] for rank in ring]
    if all(wait.note.collective for wait in waiting):
        return f"{ranks_text(ring, most=SHOWN)} entered groups in different order: {_in_groups(waiting)}"
    links = [link(wait, rank) for wait, rank in zip(waiting, ring[1:] + ring[:1], strict=True)]
    if len(ring) == 2 and (what := _past_each_other(*waiting)):
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
