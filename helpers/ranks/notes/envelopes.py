"""Whom an operation is with, as a note keeps it: the ranks of its group, and the peers of a send or a receive. Chapter: hangs.

A record has little room, so ranks travel as runs ("0-3", "0-62:2" for every second one). What has no room is left out whole and
marked, never cut: half a list would name the wrong ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .reader_lines import ranks_text

GROUP_ROOM = 80  # characters
PEERS_ROOM = 90
_PEER = re.compile(r"([<>])(\d+|\*)(?:t(-?\d+))?#(\d+)(~?)(?:=([^,]+))?")


class Group(NamedTuple):
    """name: the same on all its ranks, "" for the group of all. ranks: None where the note had no room. mesh: its dimension."""

    name: str
    ranks: tuple[int, ...] | None
    mesh: str = ""

    def __str__(self) -> str:
        """ "" or " in the group of ranks 0, 1 (mesh dim dp)"."""
        if not self.name:
            return ""
        of = f" {self.name}" if self.ranks is None else f" of {ranks_text(self.ranks, most=8)}"
        return f" in the group{of}{f' (mesh dim {self.mesh})' * bool(self.mesh)}"


class Peer(NamedTuple):
    """One message's other end. rank: None for "from anyone". what: in a batch, its tensor.

    number: the how many-th to or from that rank, with that tag and group. mixed: not the how many-th that was sent, since the
    rank also receives from anyone.
    """

    sends: bool
    rank: int | None
    tag: int = 0
    what: str = ""
    number: int = 0
    mixed: bool = False

    @property
    def way(self) -> tuple[bool, int | None, int]:
        """What a message must have in common with another so that the two keep their order."""
        return self[:3]

    def __str__(self) -> str:
        rank, tag = "*" if self.rank is None else self.rank, f"t{self.tag}" * bool(self.tag)
        return f"{'>' if self.sends else '<'}{rank}{tag}#{self.number}{'~' * self.mixed}" + f"={self.what}" * bool(
            self.what
        )


def pack_group(name: str, ranks: Sequence[int], mesh: str = "") -> str:
    """Group -> text of at most GROUP_ROOM characters; `unpack_group` is its inverse."""
    runs = ",".join(_run_text(run) for run in _runs(ranks))
    room = GROUP_ROOM - len(f"{name}||{mesh[:20]}")
    return f"{name}|{runs if len(runs) <= room else ''}|{mesh[:20]}"


def unpack_group(text: str) -> Group:
    if not text:
        return Group("", None)
    name, runs, mesh = text.split("|")
    ranks = tuple(rank for run in runs.split(",") for rank in _run(run)) if runs else None
    return Group(name, ranks, mesh)


def pack_peers(peers: Iterable[Peer]) -> str:
    """Peers -> text. Where room is short the tensors are left out first, then peers: a last "+" stands for these."""
    texts = [str(peer) for peer in peers]
    if len(",".join(texts)) > PEERS_ROOM:
        texts = [text.partition("=")[0] for text in texts]
    if len(",".join(texts)) <= PEERS_ROOM:
        return ",".join(texts)
    while len(",".join(texts)) > PEERS_ROOM - 2:
        texts.pop()
    return ",".join([*texts, "+"])


def unpack_peers(text: str) -> tuple[Peer, ...]:
    return tuple(
        Peer(way == ">", None if rank == "*" else int(rank), int(tag or 0), what, int(number), bool(mixed))
        for way, rank, tag, number, mixed, what in _PEER.findall(text)
    )


def peers_text(op: str, text: str) -> str:
    """ " to rank 1", " from anyone with tag 7"; of a batch ": to ranks 1, 3, from rank 2"."""
    peers = unpack_peers(text)
    parts = [_side_text(way, [p for p in peers if p.sends is sends]) for sends, way in ((True, "to"), (False, "from"))]
    said = ", ".join(filter(None, [*parts, "and more" if text.endswith("+") else ""]))
    return f"{':' * op.startswith('batch')} {said}" if said else ""


def _side_text(way: str, peers: list[Peer]) -> str:
    if not peers:
        return ""
    ranks = sorted({p.rank for p in peers if p.rank is not None})
    tags = sorted({p.tag for p in peers} - {0})
    who = ranks_text(ranks, most=8) if ranks else "anyone"
    return f"{way} {who}" + (f" with tag {', '.join(map(str, tags[:4]))}" if tags else "")


def _runs(ranks: Sequence[int]) -> list[list[int]]:
    """Ranks in order -> runs of one step each: [0, 2, 4, 9] -> [[0, 2, 4], [9]]."""
    runs: list[list[int]] = []
    for rank in ranks:
        run = runs[-1] if runs else []
        if (len(run) == 1 and rank > run[0]) or (len(run) > 1 and rank - run[-1] == run[1] - run[0]):
            run.append(rank)
        else:
            runs.append([rank])
    return runs


def _run_text(run: list[int]) -> str:
    if len(run) == 1:
        return str(run[0])
    return f"{run[0]}-{run[-1]}" + f":{run[1] - run[0]}" * (run[1] - run[0] > 1)


def _run(text: str) -> range:
    ends, _, step = text.partition(":")
    first, _, last = ends.partition("-")
    return range(int(first), int(last or first) + 1, int(step or 1))
