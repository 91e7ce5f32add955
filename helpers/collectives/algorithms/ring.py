"""The ring family. Every rank talks to its two neighbours only: it receives from rank-1 and sends to rank+1.

Two conventions are about, and both are right. `first` is where rank r starts: in step 0 it sends chunk (r + first) mod P, and after
the reduce-scatter it owns chunk (r + first + 1) mod P. NCCL starts at -1 (NVIDIA/nccl src/device/all_reduce.h, runRing: the first
chunk sent is ringIx + nranks - 1), so rank r ends with chunk r, which is what reduce_scatter promises. Many drawings start
at 0, and there rank r ends with chunk r+1. Chapter: ring.
"""

from __future__ import annotations

from fractions import Fraction

from ..about import algorithm
from ..forms import P, S
from ..profiles import LoadLike
from ..schedule import Schedule
from ..transfers import Op, Row, in_range, transfers, whole

SOURCE = 'Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009'


def _half(nranks: int) -> list[LoadLike]:
    return [(nranks - 1, 1, Fraction(1, nranks))]


def _line(nranks: int, root: int = 0, nchunks: int | None = None) -> list[LoadLike]:
    return [((nchunks or nranks) + nranks - 2, 1, Fraction(1, nchunks or nranks))]


@algorithm(
    "reduce_scatter",
    "ring",
    steps=P - 1,
    moves=(P - 1) / P,
    used_by="NCCL (Ring), Gloo's all_reduce",
    chapter="ring",
    source=SOURCE,
)
def reduce_scatter(nranks: int) -> Schedule:
    """Every chunk travels once round the ring and is added to by every rank that it passes. Rank r ends owning chunk r."""
    whole("nranks", nranks, 1)
    return _reduce_scatter(nranks, -1).named("reduce_scatter", "ring")


@algorithm(
    "all_gather",
    "ring",
    steps=P - 1,
    moves=(P - 1) / P,
    used_by="NCCL (Ring), Gloo, MPICH for long messages",
    chapter="ring",
    source=SOURCE,
)
def all_gather(nranks: int) -> Schedule:
    """Every chunk travels once round the ring and is copied by every rank that it passes. Rank r starts with chunk r."""
    whole("nranks", nranks, 1)
    return _all_gather(nranks, -1).named("all_gather", "ring")


@algorithm(
    "all_reduce",
    "ring",
    steps=2 * (P - 1),
    moves=2 * (P - 1) / P,
    loads=lambda nranks, first=-1: 2 * _half(nranks),
    used_by="NCCL (Ring), Gloo",
    chapter="ring",
    source=SOURCE,
)
def all_reduce(nranks: int, first: int = -1) -> Schedule:
    """Reduce-scatter, then all-gather.

    first: which chunk rank r sends first, relative to r; -1 (NCCL's: rank r owns chunk r half way) or 0 (owns chunk r+1), or any other.
    """
    whole("nranks", nranks, 1)
    return (_reduce_scatter(nranks, first) + _all_gather(nranks, first)).named("all_reduce", "ring")


@algorithm(
    "broadcast",
    "ring",
    steps=P + S - 2,
    moves=1,
    loads=_line,
    bottleneck="none, once the pipeline is full",
    used_by="NCCL (Ring), its only broadcast",
    chapter="ring",
    source=SOURCE,
)
def broadcast(nranks: int, root: int = 0, nchunks: int | None = None) -> Schedule:
    """Pipelined along the ring from the root, chunk after chunk; every rank but the last sends the whole buffer once."""
    _rooted(nranks, root)
    hops = [(root + i, root + i + 1, i) for i in range(nranks - 1)]
    return _pipelined(nranks, nchunks, hops, "copy").named("broadcast", "ring", root)


@algorithm(
    "reduce",
    "ring",
    steps=P + S - 2,
    moves=1,
    loads=_line,
    bottleneck="none, once the pipeline is full",
    used_by="NCCL (Ring), its only reduce",
    chapter="ring",
    source=SOURCE,
)
def reduce(nranks: int, root: int = 0, nchunks: int | None = None) -> Schedule:
    """Pipelined along the ring to the root: every rank on the way adds what it has. The root's next rank begins."""
    _rooted(nranks, root)
    hops = [(root - i - 1, root - i, nranks - 2 - i) for i in range(nranks - 1)]
    return _pipelined(nranks, nchunks, hops, "reduce").named("reduce", "ring", root)


def _rooted(nranks: int, root: int) -> None:
    whole("nranks", nranks, 1)
    in_range("root", root, nranks, "")


def _pipelined(nranks: int, nchunks: int | None, hops: list[tuple[int, int, int]], op: Op) -> Schedule:
    """hops: (rank, the next, the step in which the first chunk goes there), the root's first. Chunk c follows c steps later."""
    nchunks = nranks if nchunks is None else nchunks
    whole("nchunks", nchunks, 1)
    steps: list[list[Row]] = [[] for _ in range(nchunks + nranks - 2)] if hops else []
    for rank, after, first in hops:
        for c in range(nchunks):
            steps[first + c].append((rank % nranks, after % nranks, c, op))
    return Schedule(None, None, nranks, nchunks, transfers(steps))


def _reduce_scatter(nranks: int, first: int) -> Schedule:
    """Chunk c starts at rank c - first and is added to by every rank that it passes."""
    return _round(nranks, first, "reduce")


def _all_gather(nranks: int, first: int) -> Schedule:
    """Chunk c starts where the reduce-scatter left it, at rank c - first - 1, and is copied by every rank that it passes."""
    return _round(nranks, first + 1, "copy")


def _round(nranks: int, first: int, op: Op) -> Schedule:
    """In step t rank r passes on chunk r + first - t, which came to it in the step before."""
    ranks = range(nranks)
    steps = transfers(((r, (r + 1) % nranks, (r + first - t) % nranks, op) for r in ranks) for t in range(nranks - 1))
    return Schedule(None, None, nranks, nranks, steps)
