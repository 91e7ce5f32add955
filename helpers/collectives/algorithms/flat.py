"""The naive family: everybody deals with everybody directly. The yardstick that the others are measured against.

Rooted ones are serial at the root, which has one port: P-1 steps of whole messages. Chapters: ring, primitives.
"""

from __future__ import annotations

from fractions import Fraction

from ..profiles import profiled
from ..schedule import Schedule, Transfer, _in_range, _whole


def _turns(nranks: int, root: int = 0):
    return [(nranks - 1, 1, 1)]


def _parts(nranks: int, root: int = 0):
    return [(nranks - 1, 1, Fraction(1, nranks))]


@profiled(_turns)
def broadcast(nranks: int, root: int = 0) -> Schedule:
    """The root sends the whole buffer to each other rank in turn.

    Steps: P-1
    Moves: P-1
    Bottleneck: the root, which sends everything
    Used by: nobody who can avoid it
    Chapter: ring
    """
    return _from_root(nranks, root, lambda r: 0, 1).named("broadcast", "flat", root)


@profiled(_turns)
def reduce(nranks: int, root: int = 0) -> Schedule:
    """Each other rank in turn sends the whole buffer to the root, which adds it.

    Steps: P-1
    Moves: P-1
    Bottleneck: the root, which receives everything
    Used by: nobody who can avoid it
    Chapter: ring
    """
    return _to_root(nranks, root, lambda r: 0, 1, "reduce").named("reduce", "flat", root)


@profiled(lambda nranks: 2 * _turns(nranks))
def all_reduce(nranks: int) -> Schedule:
    """Reduce to rank 0, then broadcast.

    Steps: 2(P-1)
    Moves: P-1
    Bottleneck: rank 0, which receives everything and sends everything
    Used by: nobody who can avoid it
    Chapter: ring
    """
    return (reduce(nranks, 0) + broadcast(nranks, 0)).named("all_reduce", "flat")


@profiled(_parts)
def scatter(nranks: int, root: int = 0) -> Schedule:
    """The root sends every other rank its own chunk in turn.

    Steps: P-1
    Moves: (P-1)/P
    Bottleneck: the root, which sends everything
    Used by: NCCL (grouped sends and receives), Gloo
    Chapter: primitives
    """
    return _from_root(nranks, root, lambda r: r, nranks).named("scatter", "flat", root)


@profiled(_parts)
def gather(nranks: int, root: int = 0) -> Schedule:
    """Every other rank in turn sends its chunk to the root.

    Steps: P-1
    Moves: (P-1)/P
    Bottleneck: the root, which receives everything
    Used by: NCCL (grouped sends and receives), Gloo
    Chapter: primitives
    """
    return _to_root(nranks, root, lambda r: r, nranks, "copy").named("gather", "flat", root)


@profiled(_parts)
def all_gather(nranks: int) -> Schedule:
    """In step t rank r sends its own chunk to rank r+t.

    Steps: P-1
    Moves: (P-1)/P
    Bottleneck: none: every rank does the same
    Used by: NCCL's symmetric kernels, where every pair has a path of its own; half of two-shot
    Chapter: primitives
    """
    return _shift(nranks, nranks, lambda r, peer: r, "copy").named("all_gather", "flat")


@profiled(_parts)
def reduce_scatter(nranks: int) -> Schedule:
    """In step t rank r sends rank r+t that rank's chunk, to be added.

    Steps: P-1
    Moves: (P-1)/P
    Bottleneck: none: every rank does the same
    Used by: MPICH for long messages; half of two-shot
    Chapter: primitives
    """
    return _shift(nranks, nranks, lambda r, peer: peer, "reduce").named("reduce_scatter", "flat")


@profiled(_parts)
def all_to_all(nranks: int) -> Schedule:
    """In step t rank r sends rank r+t what it has for it.

    Steps: P-1
    Moves: (P-1)/P
    Bottleneck: none: every rank does the same
    Used by: NCCL (grouped sends and receives), Gloo
    Chapter: primitives
    """
    _whole("nranks", nranks, 1)
    return _shift(nranks, nranks * nranks, lambda r, peer: r * nranks + peer, "copy").named("all_to_all", "flat")


def _from_root(nranks, root, chunk_for, nchunks) -> Schedule:
    others = _others(nranks, root)
    return Schedule(None, None, nranks, nchunks, tuple((Transfer(root, r, chunk_for(r)),) for r in others))


def _to_root(nranks, root, chunk_of, nchunks, op) -> Schedule:
    others = _others(nranks, root)
    return Schedule(None, None, nranks, nchunks, tuple((Transfer(r, root, chunk_of(r), op),) for r in others))


def _others(nranks: int, root: int) -> list[int]:
    _whole("nranks", nranks, 1)
    _in_range("root", root, nranks, "")
    return [(root + i) % nranks for i in range(1, nranks)]


def _shift(nranks, nchunks, chunk_for, op) -> Schedule:
    _whole("nranks", nranks, 1)
    steps = tuple(
        tuple(Transfer(r, (r + t) % nranks, chunk_for(r, (r + t) % nranks), op) for r in range(nranks))
        for t in range(1, nranks)
    )
    return Schedule(None, None, nranks, nchunks, steps)
