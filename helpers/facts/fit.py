"""The straight line t = alpha + nbytes * beta through measured times: two ways to choose it.

`fit` makes the sum of squared relative errors least, `minimax` the largest relative error. Chapters: latency-bandwidth, ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import fsum, isfinite

Point = tuple[float, float]  # (nbytes, seconds)


def fit(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """(alpha [s], beta [s/byte]) of the line through (nbytes, seconds) with the least sum of squared *relative* errors.

    Relative, because the times span four decades: an ordinary fit would only see the largest sizes.
    ValueError for fewer than two distinct sizes, unequal lengths, or a size or time that is not positive.
    """
    _refuse(sizes, seconds)
    one, size = [1 / t for t in seconds], [s / t for s, t in zip(sizes, seconds, strict=True)]
    oo, os, ss = _dot(one, one), _dot(one, size), _dot(size, size)
    o, s = fsum(one), fsum(size)
    det = oo * ss - os * os
    return (o * ss - s * os) / det, (s * oo - o * os) / det


def minimax(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """(alpha [s], beta [s/byte]) of the line through (nbytes, seconds) with the least *largest* relative error.

    Three points hold it: two that it misses by e to one side, and one between them that it misses by e to the other (Chebyshev).
    The three that cannot be served better are found by trying all, n**3 / 6 of them, so the result is exact but for rounding.
    ValueError as in `fit`, and for a size that comes twice: take the median of its times first.
    """
    _refuse(sizes, seconds)
    if twice := {s for s in sizes if list(sizes).count(s) > 1}:
        raise ValueError(f"every size comes once, got {min(twice)!r} more than once")
    points = sorted(zip(sizes, seconds, strict=True))
    if len(points) == 2:
        return _line(points[0], points[1], 0.0)
    left, middle, right = max(combinations(points, 3), key=lambda three: abs(_bend(*three)))
    return _line(left, right, _bend(left, middle, right))


def worst(sizes: Sequence[float], seconds: Sequence[float], alpha: float, beta: float) -> float:
    """The largest relative error of alpha + nbytes * beta against the measured seconds: 0.05 is five per cent."""
    return max(abs((alpha + s * beta) / t - 1) for s, t in zip(sizes, seconds, strict=True))


def _bend(left: Point, middle: Point, right: Point) -> float:
    """How far the middle point lies off the chord of the others, as the relative error e that no line through the three avoids.

    A line at 1 + e times both ends is 1 + e times the chord's height m between them; there it is 1 - e times t for e = (t-m)/(t+m).
    """
    (a, ta), (b, tb), (c, tc) = left, middle, right
    chord = (ta * (c - b) + tc * (b - a)) / (c - a)
    return (tb - chord) / (tb + chord)


def _line(left: Point, right: Point, error: float) -> tuple[float, float]:
    """(alpha, beta) of the line that is `error` above both points, relative to each."""
    (a, ta), (c, tc) = left, right
    return (1 + error) * (ta * c - tc * a) / (c - a), (1 + error) * (tc - ta) / (c - a)


def _dot(xs: Sequence[float], ys: Sequence[float]) -> float:
    return fsum(x * y for x, y in zip(xs, ys, strict=True))


def _refuse(sizes: Sequence[float], seconds: Sequence[float]) -> None:
    if len(sizes) != len(seconds):
        raise ValueError(f"as many sizes as times are needed, got {len(sizes)} and {len(seconds)}")
    for name, values in (("size", sizes), ("time", seconds)):
        for value in values:
            if not (isfinite(value) and value > 0):
                raise ValueError(f"a {name} is a positive number, got {value!r}")
    if len(set(sizes)) < 2:
        raise ValueError(f"a line needs two distinct sizes, got {sorted(set(sizes))}")
