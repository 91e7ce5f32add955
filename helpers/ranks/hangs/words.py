"""Words that several fault reports use. Chapter: hangs."""

from __future__ import annotations

from .waits import Wait

SHOWN = 8  # lines of states in a message, and runs of ranks in a line; `details()` has every rank


def link(wait: Wait, rank: int) -> str:
    """ "rank 0 waits to receive from rank 1"."""
    if wait.note.collective:
        return f"rank {wait.rank} waits in {wait.note.op} #{wait.note.number} for rank {rank}"
    if len(wait.note.peers) > 1:
        return f"rank {wait.rank} waits in {wait.note.op} for rank {rank}"
    (peer,) = wait.note.peers
    tag = f" with tag {peer.tag}" * bool(peer.tag)
    return f"rank {wait.rank} waits to {'send to' if peer.sends else 'receive from'} {'anyone' if wait.one else f'rank {rank}'}{tag}"
