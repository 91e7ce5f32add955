"""What a puzzle forbids beside a wrong result: rules on single steps, each refused with the step and the ranks. Chapter: puzzles."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from helpers.collectives import Schedule, Transfer

from .answer import NotYetError

Rule = Callable[[Schedule], None]


def one_port(s: Schedule) -> None:
    """A rank sends to one place and receives from one place in a step; a switch has a port for every rank."""
    for number, step in enumerate(s.steps, 1):
        for verb, way, end, other in (("sends", "to", "src", "dst"), ("receives", "from", "dst", "src")):
            peers: dict[int, int] = {}
            for t in step:
                rank, peer = getattr(t, end), getattr(t, other)
                if rank < s.nranks and peers.setdefault(rank, peer) != peer:
                    raise NotYetError(
                        f"step {number}: rank {rank} {verb} {way} {_who(s, peers[rank])} and {way} {_who(s, peer)} at once;"
                        " here a rank has one port each way, so one message out and one in."
                    )


def one_chunk(s: Schedule) -> None:
    """A message carries one chunk."""
    for number, step in enumerate(s.steps, 1):
        carried: dict[tuple[int, int], int] = {}
        for t in step:
            first = carried.setdefault((t.src, t.dst), t.chunk)
            if first != t.chunk:
                raise NotYetError(
                    f"step {number}: {_who(s, t.src)} sends chunks {first} and {t.chunk} to {_who(s, t.dst)} in one message;"
                    " here a message carries one chunk, so that a step is as short as it can be."
                )


def matching(s: Schedule) -> None:
    """In every step each rank exchanges with one partner, both ways, and nobody sits out."""
    for number, step in enumerate(s.steps, 1):
        to = {t.src: t.dst for t in step}
        for rank in range(s.nranks):
            if rank not in to:
                raise NotYetError(
                    f"step {number}: rank {rank} sends nothing; here everybody has a partner in every step."
                )
            if to.get(to[rank]) != rank:
                raise NotYetError(
                    f"step {number}: rank {rank} sends to rank {to[rank]}, which sends to {_who(s, to.get(to[rank]))};"
                    " partners send to each other."
                )


def two_trees(s: Schedule) -> None:
    """Even chunks go down one tree and odd chunks down another; beside the root nobody passes on chunks of both."""
    above: dict[tuple[int, int], Transfer] = {}
    inner: dict[int, tuple[int, Transfer]] = {}
    for number, t in _moves(s):
        first = above.setdefault((t.dst, t.chunk % 2), t)
        if first.src != t.src:
            raise NotYetError(
                f"step {number}: rank {t.dst} gets chunk {t.chunk} from rank {t.src}, and got chunk {first.chunk} from rank"
                f" {first.src}; in a tree all {_parity(t.chunk)} chunks come from one rank."
            )
        before, other = inner.setdefault(t.src, (number, t))
        if t.src != s.root and other.chunk % 2 != t.chunk % 2:
            raise NotYetError(
                f"step {number}: rank {t.src} passes on chunk {t.chunk}, and passed on chunk {other.chunk} in step {before}:"
                " it is inner in both trees."
            )


def _moves(s: Schedule) -> Iterable[tuple[int, Transfer]]:
    return ((number, t) for number, step in enumerate(s.steps, 1) for t in step)


def _parity(chunk: int) -> str:
    return "odd" if chunk % 2 else "even"


def _who(s: Schedule, place: int | None) -> str:
    if place is None:
        return "nobody"
    return f"rank {place}" if place < s.nranks else "the switch"
