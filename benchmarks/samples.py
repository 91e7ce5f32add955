"""What a sample of noisy times says: its median, and how far that is to be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple


class Median(NamedTuple):
    """A median and the order statistics between which the true one lies in 95 cases of 100, whatever the distribution."""

    low: float
    value: float
    high: float

    def __format__(self, spec: str) -> str:
        return f"{self.value:{spec}} ({self.low:{spec}} to {self.high:{spec}})"


def median_of(sample: Sequence[float]) -> Median:
    """The median with its interval: ranks n/2 -+ 0.98 sqrt(n) of the sorted sample. ValueError when it is empty."""
    if not sample:
        raise ValueError("a median needs at least one value")
    ordered, n = sorted(sample), len(sample)
    away = 0.98 * math.sqrt(n)
    low, high = math.floor(n / 2 - away), math.ceil(n / 2 + away)
    return Median(ordered[max(0, low)], median(ordered), ordered[min(n - 1, high)])


def at_least(name: str, value: int, least: int) -> int:
    """The value, or a ValueError that names it."""
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return value
