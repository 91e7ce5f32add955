"""The naive family: everybody deals with everybody directly. The yardstick that the others are measured against.

Rooted ones are serial at the root, which has one port: P-1 steps of whole messages. Chapters: ring, primitives.
"""

from __future__ import annotations

from ..schedule import Schedule, Transfer, _in_range, _whole


def broadcast(nranks: int, root: int = 0) -> Schedule:
    """The root sends the whole buffer to each other rank in turn: P-1 steps; the root sends P-1 buffers."""
    return _from_root(nranks, root, lambda r: 0, 1).named("broadcast", "flat", root)


def reduce(nranks: int, root: int = 0) -> Schedule:
    """Each other rank sends the whole buffer to the root, which adds it: P-1 steps; the root receives P-1 buffers."""
    return _to_root(nranks, root, lambda r: 0, 1, "reduce").named("reduce", "flat", root)


def all_reduce(nranks: int) -> Schedule:
    """Reduce to rank 0, then broadcast: 2(P-1) steps of whole buffers; rank 0 receives P-1 buffers and sends P-1."""
    return (reduce(nranks, 0) + broadcast(nranks, 0)).named("all_reduce", "flat")


def scatter(nranks: int, root: int = 0) -> Schedule:
    """The root sends every other rank its own chunk: P-1 steps; the root sends (P-1)/P of the buffer."""
    return _from_root(nranks, root, lambda r: r, nranks).named("scatter", "flat", root)


def gather(nranks: int, root: int = 0) -> Schedule:
    """Every other rank sends its chunk to the root: P-1 steps; the root receives (P-1)/P of the buffer."""
    return _to_root(nranks, root, lambda r: r, nranks, "copy").named("gather", "flat", root)


def all_gather(nranks: int) -> Schedule:
    """In step t rank r sends its own chunk to rank r+t: P-1 steps; each rank sends (P-1)/P of the buffer."""
    return _shift(nranks, nranks, lambda r, peer: r, "copy").named("all_gather", "flat")


def reduce_scatter(nranks: int) -> Schedule:
    """In step t rank r sends rank r+t that rank's chunk, to be added: P-1 steps; each rank sends (P-1)/P of the buffer."""
    return _shift(nranks, nranks, lambda r, peer: peer, "reduce").named("reduce_scatter", "flat")


def all_to_all(nranks: int) -> Schedule:
    """In step t rank r sends rank r+t what it has for it: P-1 steps; each rank sends (P-1)/P of its buffer."""
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
