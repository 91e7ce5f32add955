"""Where a curve of bandwidth against working set is flat: its steps, found in the measurements alone. Chapter: memory-hierarchy.

The curve is cut into pieces of one bandwidth each, such that the squared error in log2 is least, every further piece having to pay
for itself. A piece with fewer than three sizes is a slope between two steps. Only then do the sizes of caches give the steps names.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

PRICE = 0.08  # of one more piece, in squared octaves: two flat pieces of six sizes each must be 18 % apart
SHORTEST = 3  # sizes of a step
PARTLY = 3  # times the last cache: up to there it still holds a good part
ALIKE = 0.1  # octaves: neighbouring steps closer than 7 % are one


class Plateau(NamedTuple):
    """A flat part. first, last: working sets in bytes; bandwidth: median there, bytes per second, reads and writes together.

    level: "L1", "L2", ..., "memory", or "L3 and memory" where the last cache holds a good part; "" where the machine does not say what
    it has. capacity: of that cache in bytes, or None.
    """

    first: int
    last: int
    bandwidth: float
    level: str = ""
    capacity: int | None = None


def find_steps(nbytes: Sequence[int], bandwidth: Sequence[float]) -> tuple[Plateau, ...]:
    """The flat parts of a curve, smallest working set first. ValueError for curves that are no curves.

    nbytes: working sets, rising; bandwidth: bytes per second at each.
    """
    if len(nbytes) != len(bandwidth) or len(nbytes) < SHORTEST:
        raise ValueError(
            f"expected as many bandwidths as sizes, at least {SHORTEST}, got {len(bandwidth)}, {len(nbytes)}"
        )
    if any(a >= b for a, b in pairwise(nbytes)) or min(bandwidth) <= 0:
        raise ValueError("working sets must rise, and bandwidths be positive")
    y = np.log2(np.asarray(bandwidth, dtype=float))
    flat = [(a, b) for a, b in _pieces(y) if b - a >= SHORTEST]
    return tuple(Plateau(nbytes[a], nbytes[b - 1], float(2 ** np.median(y[a:b]))) for a, b in _joined(flat, y))


def _pieces(y: np.ndarray) -> list[tuple[int, int]]:
    """The cheapest way to cut y into pieces [a, b), by dynamic programming over the end of the last piece."""
    sums, squares = (np.concatenate(([0.0], np.cumsum(values))) for values in (y, y * y))
    cost, start = [0.0], [0]
    for b in range(1, len(y) + 1):
        spread = [squares[b] - squares[a] - (sums[b] - sums[a]) ** 2 / (b - a) for a in range(b)]
        offers = [cost[a] + spread[a] + PRICE for a in range(b)]
        start.append(int(np.argmin(offers)))
        cost.append(offers[start[-1]])
    cuts = [len(y)]
    while cuts[-1]:
        cuts.append(start[cuts[-1]])
    return list(pairwise(reversed(cuts)))


def _joined(flat: list[tuple[int, int]], y: np.ndarray) -> list[tuple[int, int]]:
    """Neighbouring steps of nearly one bandwidth as one: a disturbed size between them is no edge."""
    joined: list[tuple[int, int]] = []
    for a, b in flat:
        if joined and abs(np.median(y[slice(*joined[-1])]) - np.median(y[a:b])) < ALIKE:
            a = joined.pop()[0]
        joined.append((a, b))
    return joined


def named(steps: Sequence[Plateau], levels: Sequence[tuple[str, int]]) -> tuple[Plateau, ...]:
    """The steps with the name of the smallest level that holds the middle of each; "" if no level is known.

    levels: (name, bytes), nearest first. The middle is the geometric mean of the first and last working set. Up to three times the last
    level, part of a working set still stays there. Neighbours on one level that differ by less than a quarter are one step.
    """
    joined: list[Plateau] = []
    for step in (step._replace(**_level(step, levels)) for step in steps):
        if joined and step.level and joined[-1].level == step.level and _near(joined[-1], step):
            step = _both(joined.pop(), step)
        joined.append(step)
    return tuple(joined)


def _level(step: Plateau, levels: Sequence[tuple[str, int]]) -> dict:
    if not levels:
        return {}
    middle = (step.first * step.last) ** 0.5
    if held := [(name, size) for name, size in levels if middle <= size]:
        return dict(zip(("level", "capacity"), held[0], strict=True))
    last, size = levels[-1]
    return {"level": "memory" if middle > PARTLY * size else f"{last} and memory"}


def _near(one: Plateau, other: Plateau) -> bool:
    return max(one.bandwidth, other.bandwidth) < 1.25 * min(one.bandwidth, other.bandwidth)


def _both(one: Plateau, other: Plateau) -> Plateau:
    """Two steps as one; each bandwidth counts by the octaves that it spans."""
    spans = [np.log2(step.last / step.first) for step in (one, other)]
    mean = np.average(np.log2([one.bandwidth, other.bandwidth]), weights=spans)
    return one._replace(last=other.last, bandwidth=float(2**mean))
