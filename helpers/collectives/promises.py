"""What each collective promises: who holds what before and after, apart from how any algorithm gets there.

A promise is two int arrays [rank, chunk, origin]: how often origin's contribution is inside that slot. -1 afterwards means
that it does not matter what is there. Every collective is linear, so a run on these counts is a proof for all inputs.
Chapters: ring, primitives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .schedule import ScheduleError

ROOTED = ("broadcast", "reduce", "scatter", "gather")


@dataclass(frozen=True)
class Promise:
    """One collective: its state before and after, and nccl-tests' factor from algbw to busbw.

    before(nranks, nchunks, root), after(...): int arrays [nranks, nchunks, nranks]. bus_factor(nranks): busbw = algbw * factor
    (source: NVIDIA/nccl-tests doc/PERFORMANCE.md). chunks_per_rank: nchunks must be a multiple of nranks.
    """

    name: str
    before: Callable[..., np.ndarray]
    after: Callable[..., np.ndarray]
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


def owner(chunk: int, nranks: int, nchunks: int) -> int:
    """The rank that a chunk belongs to in all_gather, reduce_scatter, scatter and gather: rank r owns chunk r when nchunks = nranks."""
    return chunk // (nchunks // nranks)


def _empty(nranks: int, nchunks: int, fill: int = 0) -> np.ndarray:
    return np.full((nranks, nchunks, nranks), fill, dtype=np.int32)


def _own_everywhere(nranks: int, nchunks: int, root: int | None = None) -> np.ndarray:
    """Every rank holds its own contribution to every chunk."""
    state = _empty(nranks, nchunks)
    state[np.arange(nranks), :, np.arange(nranks)] = 1
    return state


def _own_chunks(nranks: int, nchunks: int, root: int | None = None) -> np.ndarray:
    """Rank r holds, of its own data, the chunks that it owns."""
    state = _empty(nranks, nchunks)
    for c in range(nchunks):
        r = owner(c, nranks, nchunks)
        state[r, c, r] = 1
    return state


def _only_root(nranks: int, nchunks: int, root: int) -> np.ndarray:
    state = _empty(nranks, nchunks)
    state[root, :, root] = 1
    return state


def _all_to_all_before(nranks: int, nchunks: int, root: int | None = None) -> np.ndarray:
    state = _empty(nranks, nchunks)
    for c in range(nchunks):
        state[c // nranks, c, c // nranks] = 1
    return state


def _owed(
    nranks: int, nchunks: int, holders: Callable[[int], list[int]], inside: Callable[[int], list[int]]
) -> np.ndarray:
    """Afterwards: chunk c on each of holders(c) must hold exactly inside(c); elsewhere it does not matter."""
    state = _empty(nranks, nchunks, fill=-1)
    for c in range(nchunks):
        row = np.zeros(nranks, dtype=np.int32)
        row[inside(c)] = 1
        state[holders(c), c] = row
    return state


def _after(holders: str, inside: str) -> Callable[..., np.ndarray]:
    """Builds an `after` from two words: who must hold a chunk ("all", "root", "owner") and what is inside ("all", "root", "owner")."""

    def after(nranks: int, nchunks: int, root: int | None = None) -> np.ndarray:
        ids = {
            "all": lambda c: list(range(nranks)),
            "root": lambda c: [root],
            "owner": lambda c: [owner(c, nranks, nchunks)],
            "from": lambda c: [c // nranks],
            "to": lambda c: [c % nranks],
        }
        return _owed(nranks, nchunks, ids[holders], ids[inside])

    return after


def _ring(n: int) -> float:
    return (n - 1) / n


PROMISES: dict[str, Promise] = {
    p.name: p
    for p in (
        Promise("all_reduce", _own_everywhere, _after("all", "all"), lambda n: 2 * (n - 1) / n),
        Promise("reduce", _own_everywhere, _after("root", "all"), lambda n: 1.0, rooted=True),
        Promise("broadcast", _only_root, _after("all", "root"), lambda n: 1.0, rooted=True),
        Promise("reduce_scatter", _own_everywhere, _after("owner", "all"), _ring, chunks_per_rank=True),
        Promise("all_gather", _own_chunks, _after("all", "owner"), _ring, chunks_per_rank=True),
        Promise("scatter", _only_root, _after("owner", "root"), _ring, rooted=True, chunks_per_rank=True),
        Promise("gather", _own_chunks, _after("root", "owner"), _ring, rooted=True, chunks_per_rank=True),
        Promise("all_to_all", _all_to_all_before, _after("to", "from"), _ring),
    )
}


def promise(collective: str | None) -> Promise:
    """The promise of a collective by name; ScheduleError on an unknown one."""
    if collective is None:
        raise ScheduleError("a composed schedule has no collective yet: call .named(collective, algorithm) first")
    if collective not in PROMISES:
        raise ScheduleError(f"unknown collective {collective!r}: expected one of {', '.join(PROMISES)}")
    return PROMISES[collective]
