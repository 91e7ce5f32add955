"""Two rings at once, one each way round, each with half of the buffer: where a rank has a cable to both neighbours, both carry.

On one port each way (a NIC, or NVLink into a switch) it gains nothing: the same bytes, twice the messages. `Neighbours` is the
network on which it halves the time of large buffers. The rings of `ring.py`, mirrored and put side by side. Chapter: ring.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ..about import algorithm
from ..forms import P, S, ceil
from ..profiles import LoadLike
from ..schedule import Schedule, beside
from ..transfers import in_range, whole
from . import ring


def _half(nranks: int) -> list[LoadLike]:
    return [(nranks - 1, min(2, nranks - 1), Fraction(1, nranks))]


@algorithm(
    "reduce_scatter",
    "bidirectional",
    steps=P - 1,
    moves=(P - 1) / P,
    messages=2,
    loads=_half,
    used_by="JAX Pallas, as an example for TPUs",
    chapter="ring",
)
def reduce_scatter(nranks: int) -> Schedule:
    """The ring's reduce-scatter, of every rank's first half chunk one way and of its second the other way round."""
    return _both_ways(ring.reduce_scatter(nranks)).named("reduce_scatter", "bidirectional")


@algorithm(
    "all_gather",
    "bidirectional",
    steps=P - 1,
    moves=(P - 1) / P,
    messages=2,
    loads=_half,
    used_by="TPUs, with whole chunks in half the steps (How to Scale Your Model)",
    chapter="ring",
)
def all_gather(nranks: int) -> Schedule:
    """The ring's all-gather, of every rank's first half chunk one way and of its second the other way round."""
    return _both_ways(ring.all_gather(nranks)).named("all_gather", "bidirectional")


@algorithm(
    "all_reduce",
    "bidirectional",
    steps=2 * (P - 1),
    moves=2 * (P - 1) / P,
    messages=2,
    loads=lambda nranks: 2 * _half(nranks),
    used_by="TPUs, with whole chunks in half the steps (How to Scale Your Model)",
    chapter="ring",
)
def all_reduce(nranks: int) -> Schedule:
    """Reduce-scatter both ways round, then all-gather both ways round."""
    return _both_ways(ring.all_reduce(nranks)).named("all_reduce", "bidirectional")


def _lines(nranks: int, root: int = 0, nchunks: int | None = None) -> Iterator[LoadLike]:
    """Both ways at once at the root at first, and at the ranks opposite to it at last; with few chunks there is a lull between."""
    nchunks = 2 * nranks if nchunks is None else nchunks
    there, back = (nchunks + 1) // 2, nchunks // 2
    for t in range(nranks + there - 2):
        # The first place on each line that still moves something
        from_there, from_back = max(0, t - there + 1), max(0, t - back + 1)
        sends = t < back or _met(nranks, from_there, from_back, min(t, nranks - 2))
        both = back > 0 and (sends or _met(nranks - 2, from_there, from_back, t))
        yield 1, 1 + (both and nranks > 2), Fraction(1 + both, nchunks)


def _met(total: int, low: int, other_low: int, high: int) -> bool:
    """Whether a place in low..high has its counterpart, total - place, in other_low..high."""
    return max(low, total - high) <= min(high, total - other_low)


@algorithm(
    "broadcast",
    "bidirectional",
    steps=P + ceil(S / 2) - 2,
    moves=1,
    messages=2,
    loads=_lines,
    bottleneck="none, once the pipelines are full",
    used_by="nobody by that name; it wants a cable both ways",
    chapter="ring",
)
def broadcast(nranks: int, root: int = 0, nchunks: int | None = None) -> Schedule:
    """Pipelined from the root both ways round, half of the chunks each way."""
    whole("nranks", nranks, 1)
    in_range("root", root, nranks, "")
    nchunks = 2 * nranks if nchunks is None else nchunks
    whole("nchunks", nchunks, 1)
    ways = ([(root + i) % nranks for i in range(nranks)], [(root - i) % nranks for i in range(nranks)])
    # The even chunks the one way, the odd ones the other
    shares = [range(k, nchunks, 2) for k in range(min(2, nchunks))]
    lines = (
        ring.broadcast(nranks, 0, len(share)).on(way, nranks, share, nchunks)
        for way, share in zip(ways, shares, strict=False)
    )
    return beside(*lines).named("broadcast", "bidirectional", root)


@algorithm(
    "reduce",
    "bidirectional",
    steps=P + ceil(S / 2) - 2,
    moves=1,
    messages=2,
    loads=lambda nranks, root=0, nchunks=None: reversed([*_lines(nranks, root, nchunks)]),
    bottleneck="none, once the pipelines are full",
    used_by="nobody by that name; it wants a cable both ways",
    chapter="ring",
)
def reduce(nranks: int, root: int = 0, nchunks: int | None = None) -> Schedule:
    """Pipelined to the root both ways round, half of the chunks each way."""
    down = broadcast(nranks, root, nchunks)
    shares = [range(k, down.nchunks, 2) for k in (0, 1)]  # read backwards, the last chunk of each way came first
    flipped = {c: last for share in shares for c, last in zip(share, reversed(share), strict=True)}
    return (down.backwards("reduce").on(range(nranks), nranks, [flipped[c] for c in range(down.nchunks)])).named(
        "reduce", "bidirectional", root
    )


def _both_ways(s: Schedule) -> Schedule:
    """Every chunk cut in two: the first half as it is, the second on the mirrored ranks. Rank r still owns what it owned."""
    nranks = s.nranks
    mirrored = [-r % nranks for r in range(nranks)]
    there = s.on(range(nranks), nranks, [2 * c for c in range(nranks)], 2 * nranks)
    back = s.on(mirrored, nranks, [2 * c + 1 for c in mirrored], 2 * nranks)
    return beside(there, back)
