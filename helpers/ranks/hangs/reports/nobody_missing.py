"""All of a group are in the same collective, and it does not end. Chapter: hangs."""

from __future__ import annotations

from helpers.ranks.hangs.reporting import Evidence, When, report
from helpers.ranks.hangs.waits import members


@report(When.NOTHING_MOVES, order=40)
def nobody_missing(evidence: Evidence) -> str | None:
    """Then it is not the ranks that are at fault."""
    found, journals = evidence.waits, evidence.journals
    for wait in found.values():
        ranks = members(wait.note, journals)
        inside = [found[rank].note for rank in ranks if rank in found]
        same = [note for note in inside if (note.number, note.group) == (wait.note.number, wait.note.group)]
        if wait.note.collective and len(ranks) > 1 and len(same) == len(ranks):
            return f"nobody is missing from {wait.note}: what carries it is slow or broken"
    return None
