"""The binomial tree (minimum spanning tree): whoever has the data passes it on, so the number of holders doubles every round.

Chapters: ring (when a ring is the wrong choice), trees.
"""

from __future__ import annotations

from fractions import Fraction

from ..about import algorithm
from ..forms import P, ceil, log2
from ..profiles import LoadLike
from ..schedule import Schedule
from ..transfers import Transfer, in_range, transfers, whole

SOURCE = 'Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience", 2007'


def _distances(nranks: int) -> list[int]:
    """The powers of two below nranks, the largest first."""
    return [1 << k for k in reversed(range((nranks - 1).bit_length()))]


def _rises(nranks: int, root: int = 0) -> list[LoadLike]:
    return [((nranks - 1).bit_length(), 1, 1)]


def _halves(nranks: int) -> list[LoadLike]:
    return [(1, 1, Fraction(min(d, nranks - d), nranks)) for d in _distances(nranks)]


@algorithm(
    "broadcast",
    "binomial",
    steps=ceil(log2(P)),
    moves=ceil(log2(P)),
    bottleneck="the root, which sends the whole buffer in every step",
    used_by="MPICH for short messages (far ranks first), Gloo",
    chapter="trees",
    source=SOURCE,
)
def broadcast(nranks: int, root: int = 0) -> Schedule:
    """Whoever has the buffer sends it on: one holder, two, four, ..."""
    steps = tuple(tuple(Transfer(a, b, 0) for a, b in pairs) for pairs in _rounds(nranks, root))
    return Schedule("broadcast", "binomial", nranks, 1, steps, root)


@algorithm(
    "reduce",
    "binomial",
    steps=ceil(log2(P)),
    moves=ceil(log2(P)),
    bottleneck="the root, which receives the whole buffer in every step",
    used_by="MPICH for short messages (near ranks first)",
    chapter="trees",
    source=SOURCE,
)
def reduce(nranks: int, root: int = 0) -> Schedule:
    """The broadcast read backwards, with every copy turned into an addition."""
    steps = tuple(tuple(Transfer(b, a, 0, "reduce") for a, b in pairs) for pairs in reversed(_rounds(nranks, root)))
    return Schedule("reduce", "binomial", nranks, 1, steps, root)


@algorithm(
    "all_reduce",
    "binomial",
    steps=2 * ceil(log2(P)),
    moves=ceil(log2(P)),
    loads=lambda nranks: 2 * _rises(nranks),
    bottleneck="rank 0, which receives and then sends the whole buffer in every step",
    used_by="Open MPI can (nonoverlapping: a reduce, then a broadcast)",
    chapter="ring",
    source=SOURCE,
)
def all_reduce(nranks: int) -> Schedule:
    """Reduce to rank 0, then broadcast."""
    return (reduce(nranks, 0) + broadcast(nranks, 0)).named("all_reduce", "binomial")


@algorithm(
    "scatter",
    "binomial",
    steps=ceil(log2(P)),
    moves=(P - 1) / P,
    loads=lambda nranks, root=0: _halves(nranks),
    bottleneck="the root, which sends everything",
    used_by="MPICH",
    chapter="trees",
    source=SOURCE,
)
def scatter(nranks: int, root: int = 0) -> Schedule:
    """The root hands half of the ranks' chunks to one rank, which does the same within its half, and so on."""
    return _handed_out(nranks, root).named("scatter", "binomial", root)


@algorithm(
    "gather",
    "binomial",
    steps=ceil(log2(P)),
    moves=(P - 1) / P,
    loads=lambda nranks, root=0: _halves(nranks)[::-1],
    bottleneck="the root, which receives everything",
    used_by="MPICH",
    chapter="trees",
    source=SOURCE,
)
def gather(nranks: int, root: int = 0) -> Schedule:
    """The scatter read backwards: ranks collect from each other before they send to the root."""
    return _handed_out(nranks, root).backwards("copy").named("gather", "binomial", root)


def _handed_out(nranks: int, root: int) -> Schedule:
    """Ids relative to the root: with distance d, every multiple i of 2d hands rank i + d the chunks i + d to i + 2d - 1."""
    whole("nranks", nranks, 1)
    in_range("root", root, nranks, "")
    at = [(root + i) % nranks for i in range(nranks)]
    steps = transfers(
        (
            (at[i], at[i + d], at[j], "copy")
            for i in range(0, nranks - d, 2 * d)
            for j in range(i + d, min(i + 2 * d, nranks))
        )
        for d in _distances(nranks)
    )
    return Schedule(None, None, nranks, nranks, steps)


def _rounds(nranks: int, root: int) -> list[list[tuple[int, int]]]:
    """The pairs (holder, new holder) of each round; ids relative to the root: in round k, i passes to i + 2**k."""
    whole("nranks", nranks, 1)
    in_range("root", root, nranks, "")
    rounds, holders = [], 1
    while holders < nranks:
        givers = range(min(holders, nranks - holders))
        rounds.append([((root + i) % nranks, (root + i + holders) % nranks) for i in givers])
        holders *= 2
    return rounds
