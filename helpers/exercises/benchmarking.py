"""The exercises of the chapter `benchmarking`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from helpers.collectives import PROMISES
from helpers.facts import public
from helpers.units import GB, KIB, MIB, nbytes_text, seconds_text

from .answer import Answer, NotYetError, judge

TABLE = "nccl-tests-4xh100-all_reduce"
Rows = Sequence[Mapping[str, float]]
GIVEN = ("nbytes", "seconds", "busbw", "in_place_seconds", "in_place_busbw")


# a table in three numbers -----------------------------------------------------------------------------------------------
def three_numbers(answer: Callable[[Rows], tuple[float, float, int]]) -> Answer:
    """answer(rows): (seconds of the shortest message, the largest busbw, the smallest size that reaches half of it).

    rows: of a table, out of place, ascending: mappings with nbytes, seconds and busbw (GB/s, one way per GPU).
    """
    return judge(_tables(), lambda case: _three(answer, *case), "A floor, a plateau and the size between, of 4 tables.")


def _tables() -> list[tuple[str, Rows]]:
    """Two that were made for what they ask, and two that were published."""
    dip = [
        (64, 30e-6, 0.0),
        (MIB, 40e-6, 39.3),
        (16 * MIB, 150e-6, 167.8),
        (64 * MIB, 500e-6, 201.3),
        (128 * MIB, 1.6e-3, 125.8),
    ]
    short = [(8, 9e-6, 0.0), (KIB, 9.1e-6, 0.2), (64 * KIB, 12e-6, 8.2)]
    made = [[dict(zip(GIVEN[:3], row, strict=True)) for row in rows] for rows in (short, dip)]
    published = [public(name).rows for name in (TABLE, "nccl-tests-8xa100-all_reduce")]
    names = ("a table up to 64 KiB", "a table whose last row is slow", "the 4 H100", "the 8 A100")
    rows = [*made, *([{key: row[key] for key in GIVEN[:3]} for row in table] for table in published)]
    return list(zip(names, rows, strict=True))


def _three(answer: Callable[[Rows], tuple[float, float, int]], name: str, rows: Rows) -> None:
    got = answer([dict(row) for row in rows])
    if not (isinstance(got, (tuple, list)) and len(got) == 3 and all(map(_number, got))):
        raise NotYetError(f"Of {name}: expected three numbers, seconds, GB/s and bytes, got {got!r}.")
    most = max(row["busbw"] for row in rows)
    half = next(row["nbytes"] for row in rows if row["busbw"] >= most / 2)
    if not math.isclose(got[0], rows[0]["seconds"], rel_tol=1e-9):
        raise NotYetError(
            f"Of {name}: the shortest message takes {seconds_text(rows[0]['seconds'])}, you say {got[0]!r} s."
            " Hint: which row has no bytes to speak of?"
        )
    if not math.isclose(got[1], most, rel_tol=1e-9):
        raise NotYetError(
            f"Of {name}: the plateau is {most:g} GB/s one way, you say {got[1]:g}."
            " Hint: an average is no plateau, and the last row need not be the best."
        )
    if got[2] != half:
        raise NotYetError(
            f"Of {name}: half of the plateau is reached at {nbytes_text(half)}, you say {got[2]!r} bytes."
            " Hint: half of the busbw, which is not half of the size."
        )


# the right divisor ------------------------------------------------------------------------------------------------------
def counted(answer: Callable[[str, int, int, int, float], float]) -> Answer:
    """answer(collective, given, got, nranks, seconds): busbw in bytes per second; one rank's input and output in bytes."""
    cases = []
    for name in ("reduce_scatter", "all_reduce", "all_gather", "all_to_all"):
        for nranks, nbytes, seconds in ((4, 400 * MIB, 1e-3), (8, 8 * KIB, 12e-6)):
            given = nbytes // nranks if name == "all_gather" else nbytes
            got = nbytes // nranks if name == "reduce_scatter" else nbytes
            cases.append((name, given, got, nranks, seconds))
    return judge(cases, lambda case: _counted(answer, *case), f"As nccl-tests counts, in all {len(cases)} cases.")


def _counted(answer: Callable, name: str, given: int, got: int, nranks: int, seconds: float) -> None:
    what = f"{name} on {nranks} ranks, {nbytes_text(given)} in and {nbytes_text(got)} out, in {seconds_text(seconds)}"
    said = answer(name, given, got, nranks, seconds)
    if not _number(said):
        raise NotYetError(f"{what}: expected bytes per second, got {said!r}.")
    want = max(given, got) / seconds * PROMISES[name].bus_factor(nranks)
    if not math.isclose(said, want, rel_tol=1e-6):
        raise NotYetError(
            f"{what}: you said {said / GB:.4g} GB/s, it is {want / GB:.4g} one way ({said / want:.3g} times)."
            " Hint: the size is the larger of a rank's two buffers, and each collective has a factor of its own."
        )


# what the last line says ------------------------------------------------------------------------------------------------
def average(answer: Callable[[Rows, int, int, int], float]) -> Answer:
    """answer(rows, begin, end, factor): GB/s that `Avg bus bandwidth` says of a run from begin to end by that factor.

    rows: those of the 4 H100, with nbytes, seconds and busbw, and in_place_seconds and in_place_busbw.
    """
    cases = [(8, 1024 * MIB, 2), (MIB, 1024 * MIB, 2), (8, 1024 * MIB, 8), (1024 * MIB, 1024 * MIB, 2), (8, KIB, 2)]
    return judge(cases, lambda case: _average(answer, *case), f"The last line of {len(cases)} runs, of one machine.")


def _average(answer: Callable[[Rows, int, int, int], float], begin: int, end: int, factor: int) -> None:
    rows = {row["nbytes"]: row for row in public(TABLE).rows}
    sizes = []
    while begin <= end:
        sizes.append(begin)
        begin *= factor
    want = sum(rows[n][key] for n in sizes for key in ("busbw", "in_place_busbw")) / (2 * len(sizes))
    got = answer([{key: row[key] for key in GIVEN} for row in rows.values()], sizes[0], end, factor)
    where = f"From {nbytes_text(sizes[0])} to {nbytes_text(end)} by {factor}"
    if not _number(got):
        raise NotYetError(f"{where}: expected GB/s, got {got!r}.")
    if abs(got - want) > 5e-3:
        raise NotYetError(
            f"{where}: the line says {want:.3f} GB/s, you say {got:.3f}."
            f" Hint: {2 * len(sizes)} numbers are printed in that run, and the line gives each the same weight."
        )


# is one faster ----------------------------------------------------------------------------------------------------------
def faster(answer: Callable[[Sequence[float], Sequence[float]], str]) -> Answer:
    """answer(one, other): "one" or "other" where every time of it is below every time of the other, else "neither"."""
    cases = [
        ([10.0, 11.0], [12.0, 13.0], "one"),
        ([10.0, 11.0, 40.0], [12.0, 13.0, 12.5], "neither"),
        ([12.0, 13.0], [10.0, 11.0, 10.5], "other"),
        ([10.0, 14.0], [13.0, 13.5], "neither"),
        ([6.73, 28.39], [15.0, 15.2], "neither"),
        ([9.0], [9.5], "one"),
        ([9.0, 9.4], [9.4, 9.6], "neither"),
    ]
    return judge(cases, lambda case: _faster(answer, *case), f"What {len(cases)} pairs of measurements can tell.")


def _faster(answer: Callable[[Sequence[float], Sequence[float]], str], one: list, other: list, want: str) -> None:
    got = answer(list(one), list(other))
    if got not in ("one", "other", "neither"):
        raise NotYetError(f"{one} and {other} µs: expected 'one', 'other' or 'neither', got {got!r}.")
    if got != want:
        raise NotYetError(
            f"{one} and {other} µs: you say {got}, these times tell {want}."
            " Hint: if you drew one more of each, could the order turn?"
        )


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
