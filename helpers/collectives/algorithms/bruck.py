"""Bruck's family and PAT: everybody sends to one distance and receives from another, so that any P takes ⌈log2 P⌉ steps.

No partners, so no fold. In Bruck's all_gather the near ranks come first and the last, largest messages go far. PAT turns the
order round: far ranks first with one chunk, near ranks last with half of them, which a network with slow upper levels prefers.
Chapter: halving-doubling.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from ..about import algorithm
from ..forms import P, ceil, function, log2
from ..profiles import LoadLike
from ..schedule import Schedule
from ..transfers import Row, ScheduleError, by_sender, transfers, whole

SOURCE = (
    'Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport'
    ' message-passing systems", 1997'
)
PAT = "NVIDIA/nccl src/include/collectives.h, since 2.23"


@function
def ones(nranks: int) -> int:
    """The ones of all numbers below nranks in binary, together."""
    return sum(i.bit_count() for i in range(nranks))


def _distances(nranks: int) -> list[int]:
    """The powers of two below nranks."""
    whole("nranks", nranks, 1)
    return [1 << k for k in range((nranks - 1).bit_length())]


def _near_first(nranks: int) -> list[LoadLike]:
    return [(1, 1, Fraction(min(d, nranks - d), nranks)) for d in _distances(nranks)]


@algorithm(
    "all_gather",
    "bruck",
    steps=ceil(log2(P)),
    moves=(P - 1) / P,
    loads=_near_first,
    used_by="MPICH for short messages where P is no power of two; not NCCL",
    chapter="halving-doubling",
    source=SOURCE,
)
def all_gather(nranks: int) -> Schedule:
    """With distance d = 1, 2, 4, ... rank r sends all it has (up to d chunks, from its own on) to rank r - d."""
    return _gathered(nranks).named("all_gather", "bruck")


@algorithm(
    "reduce_scatter",
    "bruck",
    steps=ceil(log2(P)),
    moves=(P - 1) / P,
    loads=lambda nranks: _near_first(nranks)[::-1],
    used_by="nobody by that name; PAT is close to it",
    chapter="halving-doubling",
    source=SOURCE,
)
def reduce_scatter(nranks: int) -> Schedule:
    """The all_gather read backwards: what was copied outwards is added up inwards."""
    return _gathered(nranks).backwards("reduce").named("reduce_scatter", "bruck")


def _gathered(nranks: int) -> Schedule:
    steps = transfers(
        ((r, (r - d) % nranks, (r + j) % nranks, "copy") for r in range(nranks) for j in range(min(d, nranks - d)))
        for d in _distances(nranks)
    )
    return Schedule(None, None, nranks, nranks, steps)


def _in_bits(nranks: int) -> list[LoadLike]:
    return [(1, 1, Fraction(sum(i & d > 0 for i in range(nranks)), nranks)) for d in _distances(nranks)]


@algorithm(
    "all_to_all",
    "bruck",
    steps=ceil(log2(P)),
    moves=ones(P) / P,
    loads=_in_bits,
    used_by="MPICH for short messages",
    chapter="halving-doubling",
    source=SOURCE,
)
def all_to_all(nranks: int) -> Schedule:
    """A chunk that has to go i ranks further goes in the powers of two that make i; each step moves all with that bit, half of the data."""
    steps = transfers(
        (
            ((src + (i & d - 1)) % nranks, (src + (i & d - 1) + d) % nranks, src * nranks + (src + i) % nranks, "copy")
            for src in range(nranks)
            for i in range(nranks)
            if i & d
        )
        for d in _distances(nranks)
    )
    return Schedule("all_to_all", "bruck", nranks, nranks * nranks, steps)


def _far_first(nranks: int, aggregate: int | None = None) -> Iterator[LoadLike]:
    most = aggregate or nranks
    for d in reversed(_distances(nranks)):
        full, rest = divmod(len(range(0, nranks - d, 2 * d)), most)
        yield from [(full, 1, Fraction(most, nranks)), (int(rest > 0), 1, Fraction(rest, nranks))]


@algorithm(
    "all_gather",
    "pat",
    steps=ceil(log2(P)),
    moves=(P - 1) / P,
    loads=_far_first,
    used_by="NCCL (PAT), between nodes; up to 2.30 with one rank per node only",
    chapter="halving-doubling",
    source=PAT,
)
def pat_all_gather(nranks: int, aggregate: int | None = None) -> Schedule:
    """Every chunk goes down a tree of its own, far ranks first; all P trees at once, and chunks for one rank share a message.

    aggregate: the most chunks in a message; None for all (what NCCL does with short ones, where they fit a buffer), 1 for long
    ones: then P-1 steps. NCCL interleaves the distances so that few chunks wait in its buffers; here one distance follows another.
    """
    return _aggregated(nranks, aggregate).named("all_gather", "pat")


@algorithm(
    "reduce_scatter",
    "pat",
    steps=ceil(log2(P)),
    moves=(P - 1) / P,
    loads=lambda nranks, aggregate=None: list(_far_first(nranks, aggregate))[::-1],
    used_by="NCCL (PAT), between nodes; up to 2.30 with one rank per node only",
    chapter="halving-doubling",
    source=PAT,
)
def pat_reduce_scatter(nranks: int, aggregate: int | None = None) -> Schedule:
    """The all_gather's mirror image: near ranks first, each chunk added up on its way to its owner."""
    return _aggregated(nranks, aggregate).backwards("reduce").named("reduce_scatter", "pat")


def _aggregated(nranks: int, aggregate: int | None) -> Schedule:
    """Follow a chunk: rank owner + i has it from rank owner + i without its lowest set bit, which is the distance of the hop."""
    whole("nranks", nranks, 1)
    most = nranks if aggregate is None else aggregate
    whole("aggregate", most, 1)
    if aggregate is not None and most & (most - 1):
        raise ScheduleError(f"aggregate must be a power of two, got {aggregate}")
    steps: list[list[Row]] = []
    for d in reversed(_distances(nranks)):
        givers = range(0, nranks - d, 2 * d)  # as counted from the owner
        for k in range(0, len(givers), most):
            hops = product(givers[k : k + most], range(nranks))
            steps.append([((owner + i) % nranks, (owner + i + d) % nranks, owner, "copy") for i, owner in hops])
    return Schedule(None, None, nranks, nranks, by_sender(steps))
