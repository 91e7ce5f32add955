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
from ..schedule import Schedule, Transfer, _in_range, _whole

SOURCE = 'Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009'


def _half(nranks: int):
    return [(nranks - 1, 1, Fraction(1, nranks))]


def _line(nranks: int, root: int = 0, nchunks: int | None = None):
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
    nchunks = nranks if nchunks is None else nchunks
    _whole("nranks", nranks, 1), _whole("nchunks", nchunks, 1)
    line = [(root + i) % nranks for i in range(nranks)]
    steps = tuple(
        tuple(Transfer(line[i], line[i + 1], t - i) for i in range(nranks - 1) if 0 <= t - i < nchunks)
        for t in range(nchunks + nranks - 2)
        if nranks > 1
    )
    return Schedule("broadcast", "ring", nranks, nchunks, steps, root)


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
    _whole("nranks", nranks, 1), _in_range("root", root, nranks, "")
    down = broadcast(nranks, root, nchunks)
    flipped = [down.nchunks - 1 - c for c in range(down.nchunks)]  # read backwards, the last chunk came first
    turned = [(2 * root - r) % nranks for r in range(nranks)]  # and went the other way round
    return down.backwards("reduce").on(turned, nranks, flipped).named("reduce", "ring", root)


def _reduce_scatter(nranks: int, first: int) -> Schedule:
    """Follow chunk c: it starts at rank c - first and is added to by every rank that it passes."""
    return _rotate(nranks, first, "reduce")


def _all_gather(nranks: int, first: int) -> Schedule:
    """Follow chunk c: it starts where the reduce-scatter left it, at rank c - first - 1, and is copied by every rank that it passes."""
    return _rotate(nranks, first + 1, "copy")


def _rotate(nranks: int, first: int, op: str) -> Schedule:
    """P-1 steps; in step t rank r passes chunk (r + first - t) mod P to rank r+1."""
    _whole("nranks", nranks, 1)
    steps = tuple(
        tuple(Transfer(r, (r + 1) % nranks, (r + first - t) % nranks, op) for r in range(nranks))
        for t in range(nranks - 1)
    )
    return Schedule(None, None, nranks, nranks, steps)
