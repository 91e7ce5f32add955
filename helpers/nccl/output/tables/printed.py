"""A printed decimal and what it may have been before it was rounded. Chapter: benchmarking."""

from __future__ import annotations

import re
from typing import NamedTuple

DIGITS = 15  # of a whole number: up to here a double holds every one, in Python as in JavaScript
_DECIMAL = re.compile(rf"(\d{{1,{DIGITS}}})(?:\.(\d{{1,12}}))?(?:e([+-]?\d{{1,2}}))?", re.ASCII)


class Printed(NamedTuple):
    """A number as it stands in the text, and the two ends of what printf rounds to it: half a unit of the last digit."""

    text: str
    value: float
    low: float
    high: float

    def times_ten_to(self, power: int) -> float:
        """The number in another unit, rounded once: 26.08 to the -6 is 26.08e-6 and no neighbour of it."""
        mantissa, _, exponent = self.text.partition("e")
        return float(f"{mantissa}e{int(exponent or 0) + power}")


def printed(text: str) -> Printed | None:
    """26.08, 4525.6, 23275, 1.2e+07; None for anything else, also for nan, inf and what is negative."""
    found = _DECIMAL.fullmatch(text)
    if not found:
        return None
    value = float(text)
    half = 0.500001 * float(f"1e{int(found[3] or 0) - len(found[2] or '')}")
    return Printed(text, value, max(0.0, value - half), value + half)
