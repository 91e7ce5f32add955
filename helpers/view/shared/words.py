"""Numbers, shares and counts as every widget says them; page/numbers.mjs and page/tools.mjs do the same. For the twins of charts, too.

Numbers of a column of a table have one unit, said in its header, and three digits. Every chapter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

UNITS = {  # from the smallest
    "B": ((1, "B"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB"), (2**40, "TiB")),
    "s": ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1, "s")),
    "B/s": ((1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")),
    "FLOP/s": ((1e6, "MFLOP/s"), (1e9, "GFLOP/s"), (1e12, "TFLOP/s"), (1e15, "PFLOP/s")),
}
NEARLY = 1.0005  # what rounds up to one of a unit is told in it


def scale(values: Iterable[float], unit: str) -> tuple[float, str]:
    """The size and the name of what a column is told in: the largest below the middle of its values, which span powers of ten.

    unit: one of UNITS, which is scaled; any other stays as it is.
    """
    sizes = UNITS.get(unit, ((1, unit),))
    seen = [value for value in values if value > 0]
    middle = math.sqrt(min(seen) * max(seen)) if seen else 0.0
    return max((one for one in sizes if one[0] <= middle * NEARLY), default=sizes[0])


def headed(words: str, unit: str) -> str:
    """ "time (µs)" """
    return f"{words} ({unit})" if unit else words


def told(value: float, size: float = 1) -> str:
    """The value in units of `size`: three digits, or all of a whole number, thousands apart."""
    number = float(f"{value / size:.12g}")
    if number.is_integer():
        return f"{number:,.0f}"
    return f"{number:,.0f}" if abs(number) >= 99.95 else f"{number:.3g}"


def column(words: str, values: Iterable[float], unit: str) -> tuple[str, list[str]]:
    """A column of numbers alone: its header, and its cells."""
    kept = list(values)
    size, name = scale(kept, unit)
    return headed(words, name), [told(value, size) for value in kept]


def percent(part: int, whole: int) -> str:
    """62.5 for 40 of 64, half a tenth up."""
    return f"{math.floor(1000 * part / whole + 0.5) / 10:g} %"


def counted(n: int, one: str, more: str = "") -> str:
    """ "1 step", "2 steps"; more: the plural where it is not the word with an s."""
    return f"{n} {one if n == 1 else more or f'{one}s'}"


def listed(words: Sequence[str]) -> str:
    """ "slots, registers and shared memory"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
