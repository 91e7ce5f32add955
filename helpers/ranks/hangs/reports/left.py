"""A rank waits for one that has finished. Certain before any deadline. Chapter: hangs."""

from __future__ import annotations

from helpers.ranks.hangs.reporting import Evidence, When, report
from helpers.ranks.hangs.words import SHOWN, link
from helpers.ranks.notes.reader_lines import ranks_text


@report(When.NOTHING_MOVES, order=10, certain=True)
def left(evidence: Evidence) -> str | None:
    """In words: who has finished without what, and whom that keeps waiting."""
    for wait in evidence.waits.values():
        left = [rank for rank in wait.lacks if rank in evidence.gone]
        if not left or (wait.one and len(left) < len(wait.lacks)):
            continue
        if wait.note.collective:
            return f"{ranks_text(left, most=SHOWN)} finished without entering {wait.note}"
        if wait.one:
            return f"rank {wait.rank} waits to receive from anyone, and all others have finished"
        return f"{link(wait, left[0])}, which has finished"
    return None
