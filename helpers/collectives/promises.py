"""What each collective promises: who holds what before and after, apart from how any algorithm gets there.

A promise is two int arrays [rank, chunk, origin]: how often origin's contribution is inside that slot. -1 afterwards means
that it does not matter what is there. Every collective is linear, so a run on these counts is a proof for all inputs.
Chapters: ring, primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .schedule import ScheduleError

Counts = NDArray[np.int32]  # [rank, chunk, origin]: how often origin is inside
ROOTED = ("broadcast", "reduce", "scatter", "gather")


def owner(chunk: int, nranks: int, nchunks: int) -> int:
    """The rank that a chunk belongs to in all_gather, reduce_scatter, scatter and gather: rank r owns chunk r when nchunks = nranks."""
    return chunk // (nchunks // nranks)


def peer(root: int, nranks: int) -> int:
    """The rank that send_recv sends to here: the next one, as in a pipeline; after the last comes rank 0."""
    return (root + 1) % nranks


# Whom a word means, for one chunk: {word: (chunk, nranks, nchunks, root) -> ranks}. "self": each holder its own contribution.
_WHO: dict[str, Callable[[int, int, int, int | None], Sequence[int]]] = {
    "all": lambda c, nranks, nchunks, root: range(nranks),
    "root": lambda c, nranks, nchunks, root: () if root is None else (root,),
    "root and next": lambda c, nranks, nchunks, root: () if root is None else (root, peer(root, nranks)),
    "owner": lambda c, nranks, nchunks, root: (owner(c, nranks, nchunks),),
    "from": lambda c, nranks, nchunks, root: (c // nranks,),
    "to": lambda c, nranks, nchunks, root: (c % nranks,),
}


@dataclass(frozen=True)
class State:
    """Who holds a chunk, and whose contributions are inside, in two words each. Called, it is an int array [rank, chunk, origin].

    fill: what stands in the slots of those who hold nothing: 0 before (undefined), -1 after (does not matter).
    """

    holders: str
    inside: str
    fill: int

    def __call__(self, nranks: int, nchunks: int, root: int | None = None) -> Counts:
        state = np.full((nranks, nchunks, nranks), self.fill, dtype=np.int32)
        for c in range(nchunks):
            for rank, inside in self._rows(c, nranks, nchunks, root):
                state[rank, c] = 0
                state[rank, c, list(inside)] = 1
        return state

    def masks(self, chunk: int, nranks: int, nchunks: int, root: int | None = None) -> list[tuple[int, int]]:
        """The same for one chunk, without arrays: (rank, mask) of every holder; bit o of the mask is origin o."""
        masks: dict[Sequence[int], int] = {}
        rows = self._rows(chunk, nranks, nchunks, root)
        return [(r, masks[i] if i in masks else masks.setdefault(i, sum(1 << o for o in i))) for r, i in rows]

    def _rows(self, chunk: int, nranks: int, nchunks: int, root: int | None) -> Iterator[tuple[int, Sequence[int]]]:
        holders = _WHO[self.holders](chunk, nranks, nchunks, root)
        everyone = () if self.inside == "self" else _WHO[self.inside](chunk, nranks, nchunks, root)
        return ((rank, everyone or (rank,)) for rank in holders)


@dataclass(frozen=True)
class Promise:
    """One collective: its state before and after, and nccl-tests' factor from algbw to busbw.

    before(nranks, nchunks, root), after(...): int arrays [nranks, nchunks, nranks]. bus_factor(nranks): busbw = algbw * factor
    (source: NVIDIA/nccl-tests doc/PERFORMANCE.md). chunks_per_rank: nchunks must be a multiple of nranks.
    """

    name: str
    before: State
    after: State
    bus_factor: Callable[[int], float]
    rooted: bool = False
    chunks_per_rank: bool = False

    def accepts(self, nranks: int, nchunks: int, root: int | None) -> None:
        """Raises ScheduleError when chunks or root do not fit the collective."""
        if self.rooted != (root is not None):
            raise ScheduleError(f"{self.name} {'needs' if self.rooted else 'takes no'} root, got root={root}")
        if self.name == "all_to_all" and nchunks != nranks * nranks:
            raise ScheduleError(f"all_to_all needs nranks * nranks = {nranks * nranks} chunks, got nchunks={nchunks}")
        if self.chunks_per_rank and nchunks % nranks:
            raise ScheduleError(f"{self.name} needs nchunks to be a multiple of nranks={nranks}, got nchunks={nchunks}")


def _ring(n: int) -> float:
    return (n - 1) / n


_OWN = State("all", "self", 0)  # every rank holds its own contribution to every chunk
_SHARD = State("owner", "self", 0)  # every rank holds, of its own data, the chunks that it owns
_ROOTS = State("root", "self", 0)

PROMISES: dict[str, Promise] = {
    p.name: p
    for p in (
        Promise("all_reduce", _OWN, State("all", "all", -1), lambda n: 2 * (n - 1) / n),
        Promise("reduce", _OWN, State("root", "all", -1), lambda n: 1.0, rooted=True),
        Promise("broadcast", _ROOTS, State("all", "root", -1), lambda n: 1.0, rooted=True),
        Promise("reduce_scatter", _OWN, State("owner", "all", -1), _ring, chunks_per_rank=True),
        Promise("all_gather", _SHARD, State("all", "owner", -1), _ring, chunks_per_rank=True),
        Promise("scatter", _ROOTS, State("owner", "root", -1), _ring, rooted=True, chunks_per_rank=True),
        Promise("gather", _SHARD, State("root", "owner", -1), _ring, rooted=True, chunks_per_rank=True),
        Promise("all_to_all", State("from", "self", 0), State("to", "from", -1), _ring),
    )
}


def promise(collective: str | None) -> Promise:
    """The promise of a collective by name; ScheduleError on an unknown one."""
    if collective is None:
        raise ScheduleError("a composed schedule has no collective yet: call .named(collective, algorithm) first")
    if collective not in PROMISES:
        raise ScheduleError(f"unknown collective {collective!r}: expected one of {', '.join(PROMISES)}")
    return PROMISES[collective]
