"""The naive family: everybody deals with everybody directly. The yardstick that the others are measured against.

Rooted ones are serial at the root, which has one port: P-1 steps of whole messages. Chapters: ring, primitives.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ..about import algorithm
from ..forms import P
from ..profiles import LoadLike
from ..schedule import Schedule
from ..transfers import Op, in_range, transfers, whole


def _turns(nranks: int, root: int = 0) -> list[LoadLike]:
    return [(nranks - 1, 1, 1)]


def _parts(nranks: int, root: int = 0) -> list[LoadLike]:
    return [(nranks - 1, 1, Fraction(1, nranks))]


@algorithm(
    "broadcast",
    "flat",
    steps=P - 1,
    moves=P - 1,
    bottleneck="the root, which sends everything",
    used_by="Open MPI from 32 KiB on (8 ranks)",
    chapter="ring",
)
def broadcast(nranks: int, root: int = 0) -> Schedule:
    """The root sends the whole buffer to each other rank in turn."""
    return _from_root(nranks, root, lambda r: 0, 1).named("broadcast", "flat", root)


@algorithm(
    "reduce",
    "flat",
    steps=P - 1,
    moves=P - 1,
    bottleneck="the root, which receives everything",
    used_by="Open MPI (4 ranks)",
    chapter="ring",
)
def reduce(nranks: int, root: int = 0) -> Schedule:
    """Each other rank in turn sends the whole buffer to the root, which adds it."""
    return _to_root(nranks, root, lambda r: 0, 1, "reduce").named("reduce", "flat", root)


@algorithm(
    "all_reduce",
    "flat",
    steps=2 * (P - 1),
    moves=P - 1,
    loads=lambda nranks: 2 * _turns(nranks),
    bottleneck="rank 0, which receives everything and sends everything",
    used_by="nobody who can avoid it",
    chapter="ring",
)
def all_reduce(nranks: int) -> Schedule:
    """Reduce to rank 0, then broadcast."""
    return (reduce(nranks, 0) + broadcast(nranks, 0)).named("all_reduce", "flat")


@algorithm(
    "scatter",
    "flat",
    steps=P - 1,
    moves=(P - 1) / P,
    bottleneck="the root, which sends everything",
    used_by="NCCL (grouped sends and receives), Gloo",
    chapter="primitives",
)
def scatter(nranks: int, root: int = 0) -> Schedule:
    """The root sends every other rank its own chunk in turn."""
    return _from_root(nranks, root, lambda r: r, nranks).named("scatter", "flat", root)


@algorithm(
    "gather",
    "flat",
    steps=P - 1,
    moves=(P - 1) / P,
    bottleneck="the root, which receives everything",
    used_by="NCCL (grouped sends and receives), Gloo",
    chapter="primitives",
)
def gather(nranks: int, root: int = 0) -> Schedule:
    """Every other rank in turn sends its chunk to the root."""
    return _to_root(nranks, root, lambda r: r, nranks, "copy").named("gather", "flat", root)


@algorithm(
    "all_gather",
    "flat",
    steps=P - 1,
    moves=(P - 1) / P,
    used_by="NCCL's symmetric kernels, where every pair has a path of its own; half of two-shot",
    chapter="primitives",
)
def all_gather(nranks: int) -> Schedule:
    """In step t rank r sends its own chunk to rank r+t."""
    return _shift(nranks, nranks, lambda r, peer: r, "copy").named("all_gather", "flat")


@algorithm(
    "reduce_scatter",
    "flat",
    steps=P - 1,
    moves=(P - 1) / P,
    used_by="MPICH for long messages; half of two-shot",
    chapter="primitives",
)
def reduce_scatter(nranks: int) -> Schedule:
    """In step t rank r sends rank r+t that rank's chunk, to be added."""
    return _shift(nranks, nranks, lambda r, peer: peer, "reduce").named("reduce_scatter", "flat")


@algorithm(
    "all_to_all",
    "flat",
    steps=P - 1,
    moves=(P - 1) / P,
    used_by="NCCL (grouped sends and receives), Gloo",
    chapter="primitives",
)
def all_to_all(nranks: int) -> Schedule:
    """In step t rank r sends rank r+t what it has for it."""
    whole("nranks", nranks, 1)
    return _shift(nranks, nranks * nranks, lambda r, peer: r * nranks + peer, "copy").named("all_to_all", "flat")


def _from_root(nranks: int, root: int, chunk_for: Callable[[int], int], nchunks: int) -> Schedule:
    steps = transfers([(root, r, chunk_for(r), "copy")] for r in _others(nranks, root))
    return Schedule(None, None, nranks, nchunks, steps)


def _to_root(nranks: int, root: int, chunk_of: Callable[[int], int], nchunks: int, op: Op) -> Schedule:
    steps = transfers([(r, root, chunk_of(r), op)] for r in _others(nranks, root))
    return Schedule(None, None, nranks, nchunks, steps)


def _others(nranks: int, root: int) -> list[int]:
    whole("nranks", nranks, 1)
    in_range("root", root, nranks, "")
    return [(root + i) % nranks for i in range(1, nranks)]


def _shift(nranks: int, nchunks: int, chunk_for: Callable[[int, int], int], op: Op) -> Schedule:
    """In step t rank r sends rank r+t the chunk that chunk_for(r, r+t) names."""
    whole("nranks", nranks, 1)
    steps = transfers(
        ((r, (r + t) % nranks, chunk_for(r, (r + t) % nranks), op) for r in range(nranks)) for t in range(1, nranks)
    )
    return Schedule(None, None, nranks, nchunks, steps)
