"""Where a curve falls: a size that has a far lower rate than a smaller one had. Chapter: yours.

A curve is held against itself: each size against the best of the sizes before it. No published run of one node falls to `FAR` from
`FROM` on; over PCIe eight L40S come near it, behind a switch that joins the GPUs the lowest is three quarters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from helpers.units import MIB, bandwidth_text, nbytes_text
from helpers.yours.causes import cause
from helpers.yours.places import Place
from helpers.yours.tables.curves import Curve
from helpers.yours.verdict import Bend, Cause

FROM = MIB  # below, a call's start decides, and single calls are late
LATE = 4
FAR = 0.5
FAR_BEHIND_A_SWITCH = 0.7
SEVERAL = 3  # sizes, each alone
LARGEST = 16  # GPUs of one host
SLOT = 1.1  # a slot's rate, and what the clock may be off
HALVES = ("out of place", "in place")


class Fall(NamedTuple):
    """Sizes that follow each other, each far below an earlier one. rates: the least and the most of them. best: of those before, at `at`.

    half: in which, "" for both or the only one. ends: whether the curve stays there. sizes: how many.
    """

    first: int
    last: int
    rates: tuple[float, float]
    best: float
    at: int
    half: str
    ends: bool
    sizes: int


def falls(curve: Curve, place: Place | None) -> tuple[Fall, ...]:
    """All of them, also of one size; in size's order."""
    halves = [dict(half) for half in curve.halves if half]
    sizes = sorted(set.intersection(*map(set, halves))) if halves else []
    rows = [[half[nbytes] for half in halves] for nbytes in sizes]
    share = FAR_BEHIND_A_SWITCH if _behind_a_switch(curve, place) else FAR
    before = _before(rows)
    deep = [
        nbytes >= FROM and tuple(rate < share * rows[best][half] for half, rate in enumerate(row))
        for nbytes, row, best in zip(sizes, rows, before, strict=True)
    ]
    found = []
    for which, run in groupby(range(len(sizes)), key=lambda at: deep[at]):
        if which and any(which):
            found.append(_fall(list(run), sizes, rows, before, which))
    return tuple(found)


def late_sizes(curve: Curve) -> tuple[int, ...]:
    """Neighbouring sizes below `FROM` that take `LATE` times as long as some larger one, in every half; none where it is one alone."""
    halves = [dict(half) for half in curve.halves if half]
    sizes = sorted(set.intersection(*map(set, halves))) if halves else []
    rates = [[half[nbytes] for nbytes in sizes] for half in halves]
    if not all(map(all, rates)):
        return ()
    took = [[nbytes / rate for nbytes, rate in zip(sizes, half, strict=True)] for half in rates]
    late = [nbytes < FROM and all(half[at] > LATE * min(half[at:]) for half in took) for at, nbytes in enumerate(sizes)]
    runs = [[at for at, _ in run] for which, run in groupby(enumerate(late), key=lambda one: one[1]) if which]
    return tuple(sizes[at] for run in runs if len(run) > 1 for at in run)


def fall_causes(curve: Curve, place: Place | None, found: Sequence[Fall]) -> list[Cause]:
    """Falls of several sizes accuse, and one to which both halves fall alike at the end; else from `SEVERAL` on, as an unsteady curve."""
    plain = [fall for fall in found if fall.sizes > 1 or (fall.ends and not fall.half and len(curve.halves) > 1)]
    single = [fall for fall in found if fall not in plain]
    causes = [_accused(curve, place, fall) for fall in plain]
    if late := late_sizes(curve):
        span = f"from {nbytes_text(late[0])} to {nbytes_text(late[-1])}"
        why = f"{span} a call takes more than {LATE} times as long as one of some larger size: {len(late)} sizes"
        causes.append(_cause(curve, "late small sizes", why, True))
    if single:
        at = ", ".join(f"{nbytes_text(fall.first)} ({_rates(fall.rates)})" for fall in single[:SEVERAL])
        why = f"far below a smaller size, and neither size beside it is: {at}"
        many = len(single) >= SEVERAL
        why += (
            f"; {len(single)} such sizes are no chance: another job, a clock that changes, or retries" if many else ""
        )
        causes.append(_cause(curve, "unsteady sizes", why, many))
    return causes


def fall_bends(found: Iterable[Fall]) -> tuple[Bend, ...]:
    """Where each begins."""
    return tuple(Bend(fall.first, f"the curve falls to {fall.rates[0] / fall.best:.0%} of its best") for fall in found)


def fall_text(fall: Fall) -> str:
    """ "from 1 GiB on 62 to 63.8 GB/s, 14% of the 440 GB/s at 512 MiB"."""
    span = f"from {nbytes_text(fall.first)} on" if fall.ends else f"at {nbytes_text(fall.first)}"
    span += f" to {nbytes_text(fall.last)}" if not fall.ends and fall.sizes > 1 else ""
    half = f" {fall.half}" if fall.half else ""
    share = f"{fall.rates[0] / fall.best:.0%} of the {bandwidth_text(fall.best)} at {nbytes_text(fall.at)}"
    return f"{span}{half} {_rates(fall.rates)}, {share}"


def _behind_a_switch(curve: Curve, place: Place | None) -> bool:
    return place is not None and place.shape == "switch" and place.alone(curve.nranks or 0)


def _before(rows: Sequence[Sequence[float]]) -> list[int]:
    """For each size the earlier one that was best: by its worse half, or, of one half, by the worse of it and the size before."""
    before, best, most = [], 0, 0.0
    for at, row in enumerate(rows):
        before.append(best)
        sure = min(row) if len(row) > 1 else min(row[0], rows[at - 1][0] if at else 0.0)
        best, most = (at, sure) if sure > most else (best, most)
    return before


def _fall(
    run: Sequence[int],
    sizes: Sequence[int],
    rows: Sequence[Sequence[float]],
    before: Sequence[int],
    which: Sequence[bool],
) -> Fall:
    at = before[run[0]]
    rates = [rate for place in run for rate, deep in zip(rows[place], which, strict=True) if deep]
    half = "" if all(which) else HALVES[which.index(True)]
    best = max(rows[at])
    return Fall(
        sizes[run[0]],
        sizes[run[-1]],
        (min(rates), max(rates)),
        best,
        sizes[at],
        half,
        run[-1] == len(sizes) - 1,
        len(run),
    )


def _accused(curve: Curve, place: Place | None, fall: Fall) -> Cause:
    why = fall_text(fall)
    if place and place.slot and place.alone(curve.nranks or 0) and fall.rates[1] <= SLOT * place.slot < fall.best:
        why += (
            f": no more than a PCIe slot passes ({bandwidth_text(place.slot)} one way), so these sizes go another way"
        )
    name = "falls at large sizes" if fall.ends else "dip at middle sizes"
    return _cause(curve, name, why, True)


def _cause(curve: Curve, name: str, why: str, accuses: bool) -> Cause:
    found = cause(name, why, curve.program, curve.nranks, accuses, curve.hosts)
    between = curve.hosts > 1 or (curve.nranks or 0) > LARGEST
    return found._replace(repair="gpudirect-rdma") if between else found


def _rates(rates: tuple[float, float]) -> str:
    low, high = map(bandwidth_text, rates)
    return (
        high
        if low == high
        else f"{low.split()[0]} to {high}"
        if low.split()[1] == high.split()[1]
        else f"{low} to {high}"
    )
