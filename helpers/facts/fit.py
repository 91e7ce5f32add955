"""The straight line t = alpha + nbytes * beta through measured times.

Chapters: latency-bandwidth, ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, isfinite


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


def worst(sizes: Sequence[float], seconds: Sequence[float], alpha: float, beta: float) -> float:
    """The largest relative error of alpha + nbytes * beta against the measured seconds: 0.05 is five per cent."""
    return max(abs((alpha + s * beta) / t - 1) for s, t in zip(sizes, seconds, strict=True))


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
