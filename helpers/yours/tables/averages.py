"""A bandwidth without its table: what an average says, and what it does not. Chapter: yours."""

from __future__ import annotations

import re
from functools import lru_cache
from statistics import fmean

from helpers.units import bandwidth_text
from helpers.yours.causes import cause
from helpers.yours.tables.published import published
from helpers.yours.verdict import Verdict

AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*(\d{1,6}(?:\.\d{1,6})?)(?![\w.])", re.ASCII)
_ALONE = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)", re.ASCII)
_WRONG = re.compile(r"Out of bounds values\s*:\s*([1-9]\d{0,14}) FAILED", re.ASCII)
_SIZES = 10  # of a run whose average is one over sizes


def of_average(text: str) -> Verdict:
    """Of the averages in a text without a row, or of a number that is all of it."""
    told = AVERAGE.findall(text) or [_ALONE.match(text)[1]]  # type: ignore[index]  # the sign of the form
    numbers = " and ".join(bandwidth_text(float(number) * 1e9) for number in dict.fromkeys(told))
    low, high = shares()
    why = (
        f"{numbers} alone says nothing: an average over sizes is low where many of them are small, whatever the machine (in the"
        f" runs that are published here it is {low:.0%} to {high:.0%} of the best size's); the whole table is needed, or its"
        " largest size, the collective and the number of GPUs"
    )
    causes = [cause("average", why, accuses=True)]
    if wrong := _WRONG.search(text):
        causes.insert(
            0, cause("wrong results", f"{wrong[1]} values were out of bounds: until that is found no time counts")
        )
    said = f"{why[:1].upper()}{why[1:]}."
    return Verdict("nccl-tests", "an average, or a number alone", said, causes=tuple(causes))


@lru_cache(maxsize=1)
def shares() -> tuple[float, float]:
    """The least and the most of average over best busbw, of published runs."""
    buses = [[point.busbw for point in run.points] for run in published() if len(run.points) >= _SIZES]
    found = [fmean(one) / max(one) for one in buses]
    return min(found), max(found)
