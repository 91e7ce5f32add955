"""What a curve would look like if a setting had been taken away, and which of these curves is the reader's. Chapter: yours.

NCCL's cost model knows every algorithm and protocol at every size. Without one of them NCCL would take the next best, and its time is
known, too. So each suspect is a curve; the reader's is put beside all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from helpers.nccl import Candidate
from helpers.yours.tables.beside import Model, seconds_of
from helpers.yours.tables.curves import Curve

SLOWER = 1.12  # a suspect has to cost as much, at `LEAST` sizes, to be told from health
LEAST = 2
BETTER = 0.5  # and to fit there with half of the misfit
ALIKE = 0.1  # a tenth off, typically, is the same curve
SUSPECTS: dict[str, Callable[[Candidate], bool]] = {  # what is left when it is off
    "NVLS off": lambda c: not c.algorithm.startswith("NVLS"),
    "LL128 off": lambda c: c.protocol != "LL128",
    "only LL": lambda c: c.protocol == "LL",
}


class Fit(NamedTuple):
    """A suspect that fits. misfit: typical |log| over `sizes`, those where it differs from health."""

    name: str
    misfit: float
    sizes: tuple[int, ...]


class Launch(NamedTuple):
    """What small sizes take: of the reader (the shortest of all times), and as predicted at that size. times: their ratio."""

    nbytes: int
    mine: float
    known: float

    @property
    def times(self) -> float:
        return self.mine / self.known

    @property
    def extra(self) -> float:
        """Seconds that the reader's calls take longer, where they do."""
        return max(0.0, self.mine - self.known)


def launch(curve: Curve, model: Model) -> Launch:
    """Of the size with the shortest time."""
    at = min(range(len(curve.points)), key=lambda place: (curve.points[place].seconds, place))
    return Launch(curve.points[at].nbytes, curve.points[at].seconds, seconds_of(model.lines[at][0]))


def left(model: Model, keeps: Callable[[Candidate], bool]) -> tuple[float, ...] | None:
    """Seconds at every size with what is left; None where at some size nothing is."""
    kept = [[one for one in table if keeps(one)] for table in model.lines]
    return tuple(seconds_of(table[0]) for table in kept) if kept and all(kept) else None


def fitting(curve: Curve, model: Model) -> Fit | None:
    """The suspect that fits best, None where health fits as well."""
    mine, start = [point.seconds for point in curve.points], launch(curve, model)
    health = [seconds_of(table[0]) for table in model.lines]
    found = [_fit(name, left(model, keeps), mine, health, start, model.sizes) for name, keeps in SUSPECTS.items()]
    return min((fit for fit in found if fit), key=lambda fit: fit.misfit, default=None)


def simple_alone(curve: Curve, model: Model) -> bool:
    """Whether the whole curve is that of Simple alone, whose long start looks as a slow launch does."""
    simple = left(model, lambda candidate: candidate.protocol == "Simple")
    return (
        simple is not None and median(_off(p.seconds, s, s) for p, s in zip(curve.points, simple, strict=True)) < ALIKE
    )


def _fit(
    name: str,
    other: tuple[float, ...] | None,
    mine: Sequence[float],
    health: Sequence[float],
    start: Launch,
    sizes: Sequence[int],
) -> Fit | None:
    """Where a suspect differs, its distance against that of health: each no shorter than the reader's launch, nor by more longer."""
    if other is None:
        return None
    rows = [
        (nbytes, got, max(here, start.mine), max(well, start.mine), well + start.extra)
        for nbytes, got, here, well in zip(sizes, mine, other, health, strict=True)
    ]
    rows = [row for row in rows if row[2] / row[3] >= SLOWER]
    if len(rows) < LEAST:
        return None
    off = median(_off(got, here, here) for _, got, here, _, _ in rows)
    well = median(_off(got, low, high) for _, got, _, low, high in rows)
    slow = median(got / low for _, got, _, low, _ in rows)
    fits = slow >= SLOWER and off <= BETTER * well
    return Fit(name, off, tuple(row[0] for row in rows)) if fits else None


def _off(seconds: float, low: float, high: float) -> float:
    """|log| from seconds to the nearest of low ... high."""
    near = min(max(seconds, low), max(low, high))
    return abs(math.log(seconds / near))
