"""All ranks have finished, and one without a collective that others of its group have entered. Chapter: hangs."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.ranks.hangs.reporting import Evidence, When, report
from helpers.ranks.hangs.waits import entered, members
from helpers.ranks.hangs.words import SHOWN
from helpers.ranks.notes.notes import Journal
from helpers.ranks.notes.reader_lines import ranks_text


@report(When.ALL_FINISHED, order=10)
def uneven(evidence: Evidence) -> str | None:
    """In words: who finished without which collective."""
    journals = evidence.journals
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
