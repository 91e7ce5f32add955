"""A share of a whole, as every widget spells it. Chapter: execution-model."""

from __future__ import annotations

import math


def percent(part: int, whole: int) -> str:
    """62.5 for 40 of 64, half a tenth up."""
    return f"{math.floor(1000 * part / whole + 0.5) / 10:g} %"
