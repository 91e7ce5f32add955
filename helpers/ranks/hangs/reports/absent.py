"""A rank waits for some that are still on their way. Chapter: hangs."""

from __future__ import annotations

from helpers.ranks.hangs.reporting import Evidence, When, report
from helpers.ranks.hangs.words import SHOWN, link
from helpers.ranks.notes.reader_lines import ranks_text


@report(When.NOTHING_MOVES, order=30)
def absent(evidence: Evidence) -> str | None:
    """Who has not come, and what it does instead."""
    found, gone, doing = evidence.waits, evidence.gone, evidence.doing
    for wait in found.values():
        late = [rank for rank in wait.lacks if rank not in gone and not (rank in found and found[rank].lacks)]
        if not late or wait.one:
            continue
        if wait.note.collective:
            return f"{ranks_text(late, most=SHOWN)} {'has' if len(late) == 1 else 'have'} not reached {wait.note}"
        return f"{link(wait, late[0])}, which is {doing[late[0]] if doing else 'on its way'}"
    return None
