"""What each collective promises: who holds what before and after, apart from how any algorithm gets there.

A promise is who holds which chunk, and whose contributions are inside, once each; what is not owed to anybody does not matter.
Every collective is linear, so a run on that is a proof for all inputs.
Chapters: ring, primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from helpers.arrays import numpy_for

from .transfers import ScheduleError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int32]  # [rank, chunk, origin]: how often origin is inside

Masks = Mapping[int, int]  # of a chunk: rank -> whose contributions are inside, bit o for origin o
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
        np = numpy_for("a promise's before or after")
        state: Counts = np.full((nranks, nchunks, nranks), self.fill, dtype=np.int32)
        for c, masks in enumerate(self.masks(nranks, nchunks, root)):
            for rank, mask in masks.items():
                state[rank, c] = [mask >> origin & 1 for origin in range(nranks)]
        return state

    def masks(self, nranks: int, nchunks: int, root: int | None = None) -> Iterator[Masks]:
        """The same without arrays, chunk by chunk: rank -> mask for every holder."""
        for c in range(nchunks):
            inside = () if self.inside == "self" else _WHO[self.inside](c, nranks, nchunks, root)
            yield _masks(_WHO[self.holders](c, nranks, nchunks, root), inside)


@lru_cache(maxsize=8)  # neighbouring chunks are mostly alike
def _masks(holders: Sequence[int], inside: Sequence[int]) -> Masks:
    """inside: whose contributions everybody of them holds; by default each its own."""
    everyone = sum(1 << origin for origin in inside)
    return {rank: everyone or 1 << rank for rank in holders}


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
