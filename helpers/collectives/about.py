"""What a builder of the catalogue says of itself: read from its docstring, where each of these has a line.

`Steps:` and `Moves:` are closed forms, for P ranks, S chunks and G GPUs a node; Moves is what the busiest rank sends or receives in
all, whichever is more, in units of N, the nbytes of nccl-tests. The tests hold both against the schedules. Chapters: ring, trees.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction

_NAMES = {"ceil": math.ceil, "floor": math.floor, "lg": math.log2, "max": max, "min": min}
_WRITTEN = {"⌈": "ceil(", "⌉": ")", "⌊": "floor(", "⌋": ")", "^": "**"}


@dataclass(frozen=True)
class About:
    """One row of the table of algorithms. what: the first line; the rest as their lines say it."""

    what: str
    steps: str
    moves: str
    bottleneck: str
    used_by: str
    chapter: str


def about(build: Callable) -> About:
    """The lines of a builder's docstring. ValueError names one that is missing."""
    text = build.__doc__ or ""
    said = {"what": " ".join(text.strip().split("\n\n")[0].split())}
    for field in fields(About)[1:]:
        label = field.name.capitalize().replace("_", " ")
        found = re.search(rf"^\s*{label}: (.+)$", text, re.MULTILINE)
        if not found:
            raise ValueError(f"{build.__module__}.{build.__name__} has no line {label!r} in its docstring")
        said[field.name] = found[1].strip()
    return About(**said)


def closed(form: str, nranks: int, nchunks: int = 1, gpus: int = 1) -> Fraction:
    """The value of a closed form, e.g. closed("2(P-1)/P", 4) == Fraction(3, 2).

    Beside ⌈ ⌉, ⌊ ⌋, log2, min and max it may use the functions of FUNCTIONS.
    """
    for written, python in _WRITTEN.items():
        form = form.replace(written, python)
    form = re.sub(r"lg (\w+)", r"lg(\1)", form.replace("log2", "lg"))
    form = re.sub(rf"(\d|\)|\b[PSG])\s*(?=\(|[PSG]\b|{'|'.join([*_NAMES, *FUNCTIONS])})", r"\1*", form)
    variables = {"P": Fraction(nranks), "S": Fraction(nchunks), "G": Fraction(gpus)}
    return Fraction(eval(form, {"__builtins__": {}, **_NAMES, **FUNCTIONS, **variables}))  # docstrings of ours only


def _ones(below: Fraction) -> int:
    """The ones of all numbers below P in binary, together."""
    return sum(i.bit_count() for i in range(int(below)))


def _folded(nranks: Fraction) -> int:
    """With W the largest power of two up to P: the sum of min(d, P-W) over the powers of two d below W."""
    bits = int(nranks).bit_length() - 1
    return sum(min(1 << k, int(nranks) - (1 << bits)) for k in range(bits))


def _early(nranks: Fraction) -> int:
    """1 where P leaves 1 divided by 4 and has an odd number of ones in binary, else 0."""
    return int(nranks % 4 == 1 and int(nranks).bit_count() % 2)


FUNCTIONS = {"ones": _ones, "folded": _folded, "early": _early}
