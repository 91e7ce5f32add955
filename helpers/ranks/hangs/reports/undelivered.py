"""All ranks have finished, and one without the receive of what another has sent, or without the send. Chapter: hangs."""

from __future__ import annotations

from helpers.ranks.hangs.reporting import Evidence, When, report
from helpers.ranks.hangs.waits import answered, messages


@report(When.ALL_FINISHED, order=20)
def undelivered(evidence: Evidence) -> str | None:
    """In words: who finished without receiving, or sending, what."""
    journals = evidence.journals
    for rank, note, peer in messages(journals):
        if not answered(rank, note, peer, journals[peer.rank]):
            without = "receiving what it was sent by" if peer.sends else "sending what is received by"
            return f"rank {peer.rank} finished without {without} rank {rank}: {peer.what or note.agreed} ({note.where})"
    return None
