"""The numbers that a reader gives the ranks, one row each, and how a number is written. Chapter: primitives."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from helpers.collectives import find_primitive
from helpers.collectives.outcomes import givers

Rows = list[list[float]]
Values = str | Sequence[Sequence[float]] | Sequence[float] | None

LARGEST = 1_000_000


def usual(rank: int, slot: int) -> int:
    """The number that stands in a slot unless the reader writes another: 23 is the third number of rank 2."""
    return 10 * rank + slot + 1


def usual_length(name: str, nranks: int) -> int:
    """How many numbers a rank gives unless the reader says otherwise."""
    if name == "barrier":
        return 1
    return {"gathers": 1, "parts": nranks, "whole": min(nranks, 4)}[find_primitive(name).kind]


def read_values(name: str, nranks: int, values: Values, root: int = 0) -> Rows:
    """One row of numbers per rank from what a reader may write; ValueError names what does not fit.

    None: the usual ones. "random": whole numbers from 0 to 99, the same every time. Text: numbers apart by spaces or commas, rows
    by ";" or a new line. One row alone, as text or list: the root's where only the root gives, otherwise one number per rank.
    """
    length = usual_length(name, nranks)
    if values is None:
        return [[usual(rank, slot) for slot in range(length)] for rank in range(nranks)]
    if isinstance(values, str) and values.strip() == "random":
        draw = random.Random(f"{name} {nranks}")
        return [[draw.randrange(100) for _ in range(length)] for _ in range(nranks)]
    rows = _split(values) if isinstance(values, str) else list(values)
    if rows and not hasattr(rows[0], "__len__"):
        rows = [rows]
    return _spread(name, nranks, [[_number(v) for v in row] for row in rows], root)


def _split(text: str) -> list[list[str]]:
    return [re.split(r"[\s,]+", row.strip()) for row in re.split(r"[;\n]", text) if row.strip()]


def _number(value: object) -> float:
    """A finite number of at most a million."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not abs(number) <= LARGEST:
        raise ValueError(f"a value is a number from -1,000,000 to 1,000,000, got {value!r}")
    return whole(number)


def whole(number: float) -> float:
    """A whole number as an int where that is exact: 6, not 6.0."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _spread(name: str, nranks: int, rows: Rows, root: int) -> Rows:
    """One row alone goes to whom it is meant for; the number of rows is seen to fit."""
    if len(rows) == 1 and givers(name, nranks, root) == (root,):
        own = [[usual(rank, slot) for slot in range(len(rows[0]))] for rank in range(nranks)]
        return [rows[0] if rank == root else own[rank] for rank in range(nranks)]
    if len(rows) == 1 and len(rows[0]) == nranks and find_primitive(name).kind != "parts":
        return [[value] for value in rows[0]]
    if len(rows) != nranks:
        raise ValueError(f"values: expected a row of numbers for each of {nranks} ranks, got {len(rows)}")
    return rows


def number_text(value: float) -> str:
    """Six digits at least, no needless zeros: 0.333333, 1234567, 1.5e12."""
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        exact = Decimal(value)
        power = exact.adjusted()
        mantissa = exact.scaleb(-power).quantize(Decimal("0.001"), ROUND_HALF_UP)
        if abs(mantissa) == 10:
            mantissa, power = mantissa / 10, power + 1
        return f"{_bare(f'{mantissa:f}')}e{power}"
    decimals = max(0, 7 - len(str(int(size))))
    return _bare(f"{Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}")


def _bare(text: str) -> str:
    """Without zeros at the end of a fraction; no number is minus nothing."""
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def list_text(numbers: Sequence[float] | None) -> str:
    return "–" if numbers is None else f"[{', '.join(map(number_text, numbers))}]"
