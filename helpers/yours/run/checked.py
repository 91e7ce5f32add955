"""The verdict on a run of `make gpu-check`: its tables of bandwidth, what its GPUs reach, and what failed. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from helpers.records.packed import CHECK, records_of
from helpers.units import bandwidth_text, nbytes_text
from helpers.yours.causes import cause
from helpers.yours.joined import concluded
from helpers.yours.places import Place, gpu_place
from helpers.yours.run.fields import listed, names, number, whole_number, word
from helpers.yours.run.rates import Rate, rates_of
from helpers.yours.tables.curves import Curve, point_of, quickest
from helpers.yours.tables.judged import of_table
from helpers.yours.verdict import Cause, Verdict


class Failed(NamedTuple):
    """words: of these one stands in the name of such a check. means: what follows from it."""

    name: str
    words: tuple[str, ...]
    means: str


FAILED = (
    Failed(
        "failed checks of memory",
        ("memory", "allocator", "segments", "optimizers"),
        "what the pages say of memory does not hold here; the labs show what this machine holds",
    ),
    Failed(
        "failed measurements",
        ("bandwidth", "traces", "costs", "roofline", "ladder", "GPU to GPU", "host and GPU"),
        "the run has no figure of it",
    ),
    Failed("failed checks of ranks", ("",), "labs that start ranks fail here in the same way"),
)
OUTCOMES = ("passed", "failed", "skipped", "not run")
GROUPS = 4  # of failed checks
LETTERS = 300  # of what a check said
_RANKS = re.compile(r"\b([1-9][0-9]{0,4}) ranks\b", re.ASCII)


def of_run(text: str, told: Place | None) -> Verdict:
    """RecordError for what is no run, and for a value in it that is not of its kind."""
    records = records_of(text)
    gpus = [word(records, CHECK, "machine", "gpus", i) for i in range(listed(records, CHECK, "machine", "gpus"))]
    tables = {one: of_table(_curve(records, one, gpus), told) for one in _collectives(records, gpus)}
    rates = rates_of(records, gpus, told or gpu_place(gpus))
    collective = "all_reduce" if "all_reduce" in tables else next(iter(tables), "")
    first = tables.get(collective, Verdict("run"))
    if first.refused:
        return first
    held = first.machine or any(rate.bounds for rate in rates)
    measured = [*_best(collective, first), *(rate.short for rate in rates)]
    return replace(
        first,
        kind="run",
        what=f"make gpu-check: {word(records, CHECK, 'label')}; {word(records, CHECK, 'date')}",
        causes=_causes(tables, rates, records),
        lines=(
            *(f"{one}: {concluded(table).sentence}" for one, table in tables.items()),
            *map(str, rates),
            _counts(records),
        ),
        sentence=f"Measured: {'; '.join(measured)}." if measured else "Nothing was measured.",
        otherwise="Nothing in it accuses the machine." if measured and held else "",
    )


def _collectives(records: Mapping[str, Any], gpus: Sequence[str]) -> list[str]:
    """Those with a table; of the CPU's nothing is known to hold it against."""
    return names(records, "gpu-bandwidth", "data") if gpus and "gpu-bandwidth" in records else []


def _curve(records: Mapping[str, Any], collective: str, gpus: Sequence[str]) -> Curve:
    found = _RANKS.search(word(records, CHECK, "label"))
    nranks, way = int(found[1]) if found else None, ("gpu-bandwidth", "data", collective)
    points = [
        point_of(
            whole_number(records, *way, i, "nbytes"),
            number(records, *way, i, "min"),
            collective,
            nranks,
            number(records, *way, i, "busbw"),
        )
        for i in range(listed(records, *way))
    ]
    return Curve(
        f"{collective} of make gpu-check",
        collective,
        nranks,
        word(records, CHECK, "versions", "nccl"),
        quickest(points),
        place=gpu_place(gpus),
        hosts=1,
        gpus=tuple(dict.fromkeys(gpus)),
    )


def _causes(tables: Mapping[str, Verdict], rates: Sequence[Rate], records: Mapping[str, Any]) -> tuple[Cause, ...]:
    """What accuses first; what several tables say, once."""
    of_tables: dict[str, Cause] = {}
    for one in (one for table in tables.values() for one in table.causes):
        of_tables.setdefault(one.name, one)
    found = [*of_tables.values(), *(one for rate in rates for one in rate.causes), *_failures(records)]
    return tuple(sorted(found, key=lambda one: not one.accuses))


def _failures(records: Mapping[str, Any]) -> list[Cause]:
    """Checks that failed for one reason are one cause: what they say behind their last "raised"."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name in names(records, CHECK, "data"):
        if word(records, CHECK, "data", name, "outcome") == "failed":
            why = word(records, CHECK, "data", name, "why")
            groups.setdefault(why.rpartition(" raised ")[2], []).append((name, why))
    return [_failure(*alike[0], len(alike)) for alike in list(groups.values())[:GROUPS]]


def _failure(name: str, why: str, count: int) -> Cause:
    kind = next(one for one in FAILED if any(part in name for part in one.words))
    who = name if count == 1 else f"{name} and {count - 1} more, alike"
    return cause(kind.name, f"{who}: {why[:LETTERS]}; {kind.means}")


def _counts(records: Mapping[str, Any]) -> str:
    found = [word(records, CHECK, "data", name, "outcome") for name in names(records, CHECK, "data")]
    return f"{len(found)} checks: {', '.join(f'{found.count(outcome)} {outcome}' for outcome in OUTCOMES)}"


def _best(collective: str, found: Verdict) -> list[str]:
    """The shares of a curve's best, else itself; nothing where there is no curve."""
    if not found.points:
        return []
    best = max(found.points, key=lambda point: point.busbw)
    of_rate, of_plateau = found.line_rate_share, found.plateau_share
    shares = [f"{of_rate:.0%} of the line rate"] if of_rate else []
    shares += [f"{of_plateau:.0%} of the plateau"] if of_plateau else []
    value = f"{bandwidth_text(best.busbw)} busbw at {nbytes_text(best.nbytes)}"
    return [f"{collective} {' and '.join(shares) or value}"]
