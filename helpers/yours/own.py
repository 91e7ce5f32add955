"""A reader's own numbers as curves beside published ones: a table of nccl-tests, a run of gpu-check or its bandwidths, a sweep of `bench`.

What the widget `published` asks. A file's fields are named as its writer has them. Page: recorded-runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

from helpers.nccl import NcclTable, TableError, nccl_tests_tables
from helpers.plain_gzip import GZIP, GzipError, unfolded
from helpers.plain_json import TooDeep, read_json
from helpers.yours.tables.published import bus_factor

MOST = 4 << 20  # bytes of a text; a table has thousands
TOO_LONG = "{} is longer than 4 MiB, which no table is: give the table alone."
_BAR = "the least time, and the median"


class NoCurve(ValueError):
    """Nothing that has bandwidths by size; the message says why."""


class _Point(NamedTuple):
    nbytes: int
    seconds: float
    busbw: float
    most: float


def curves(given: str | bytes, name: str = "This text") -> str:
    """JSON: {"curves": [...]}, each with name, from (its provenance as pairs), spread and its columns; {"refused": why} where none is.

    given: a text, or a file's bytes, perhaps packed by gzip. Columns, by size: sizes [bytes], seconds, least and most [s],
    repeats (2 where a time was taken more than once), busbw [bytes/s, one way per GPU].
    """
    try:
        return json.dumps({"curves": curves_of(given if isinstance(given, str) else _text(given, name))})
    except (NoCurve, TableError, TooDeep, GzipError) as error:
        return json.dumps({"refused": str(error)})


def curves_of(text: str) -> list[dict[str, Any]]:
    """One curve or more. NoCurve or TableError for a text that has none, TooDeep for JSON that nests without end."""
    try:
        told = read_json(text) if text.lstrip().startswith("{") else None
    except json.JSONDecodeError:
        told = None  # the reader of tables says where it is broken
    if isinstance(told, dict) and "results" not in told:
        return _of_run(told["records"]) if "records" in told else _measured(told)
    found = [curve for table in nccl_tests_tables(text) for curve in _of_table(table)]
    if not found:
        raise NoCurve("no row of this table has a time and a bandwidth")
    return found


def _text(content: bytes, name: str) -> str:
    try:
        content = unfolded(content, MOST) if content.startswith(GZIP) else content
    except GzipError as error:
        raise GzipError(f"{name} is {error}") from None
    if len(content) > MOST:
        raise NoCurve(TOO_LONG.format(name))
    return content.decode("utf-8-sig", "replace")


def _of_table(table: NcclTable) -> list[dict[str, Any]]:
    """Out of place and in place, where there are such. What is printed as 0.00 GB/s is worked out from the time."""
    collective = "all_to_all" if table.collective == "alltoall" else table.collective
    name = f"yours: {collective or 'a collective'}" + (f" on {table.nranks} ranks" if table.nranks else "")
    gpus = ", ".join(dict.fromkeys(device.name for device in table.devices))
    software = f"nccl-tests {table.tests or 'of unknown version'}, NCCL {table.nccl or 'not stated'}"
    about = [("Software", software), *([("GPUs", gpus)] if gpus else [])]
    halves = {words: list(_half(table, words.replace(" ", "_"))) for words in ("out of place", "in place")}
    kept = {words: points for words, points in halves.items() if points}
    return [
        _curve(f"{name}, {words}" if len(kept) > 1 else name, points, about, None) for words, points in kept.items()
    ]


def _half(table: NcclTable, half: str) -> Iterable[_Point]:
    factor = bus_factor(table.collective, table.nranks) or 0.0
    for row in table.rows:
        timing = getattr(row, half)
        if not timing or not row.nbytes or not (timing.seconds or timing.algbw):
            continue
        seconds = timing.seconds or row.nbytes / timing.algbw
        busbw = timing.busbw or row.nbytes / seconds * factor
        if busbw:
            yield _Point(row.nbytes, seconds, busbw, seconds)


def _of_run(records: object) -> list[dict[str, Any]]:
    """Of a whole run of gpu-check the curves of those records that have some."""
    found = [one for one in records.values() if isinstance(one, dict)] if isinstance(records, dict) else []
    inner = [one["data"] for one in found if isinstance(one.get("data"), dict)]
    sweeps = [data for data in inner if _is_sweep(data) and data.get("timed")]
    made = [curve for one in [*filter(_is_check, found), *sweeps] for curve in _measured(one)]
    if not made:
        raise NoCurve(
            "this run has no bandwidths by size: it ran on one GPU, or was cut short;"
            ' the page "Is my number good?" reads the rest'
        )
    return made


def _measured(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of gpu-bandwidth.json, or of a sweep."""
    if _is_sweep(told):
        return _of_sweep(told)
    if _is_check(told):
        about = _about(told)
        return [
            _curve(f"yours: {name}, {told.get('label')}", _points(rows, "min", f"data.{name}"), about, _BAR)
            for name, rows in told["data"].items()
        ]
    what = f"the JSON {told['name']!r}" if told.get("name") else "this JSON"
    raise NoCurve(f"{what} has no bandwidths by size: of gpu-check's files, gpu-bandwidth.json has them")


def _is_sweep(told: Mapping[str, Any]) -> bool:
    return told.get("kind") == "sweep" and isinstance(told.get("cases"), list)


def _is_check(told: Mapping[str, Any]) -> bool:
    rows = list(told["data"].values()) if isinstance(told.get("data"), dict) else []
    return bool(rows) and all(
        isinstance(one, list) and any(isinstance(row, dict) and "busbw" in row for row in one) for one in rows
    )


def _of_sweep(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A curve for each combination that ran; ranks that shared a GPU were not timed."""
    if not told.get("timed"):
        raise NoCurve("the ranks of this sweep shared a GPU, so nothing was timed")
    ran = {k: one for k, one in enumerate(told["cases"]) if isinstance(one, dict) and one.get("rows")}
    if not ran:
        raise NoCurve("no combination of this sweep ran")
    name = f"yours: {told.get('collective')} on {told.get('nranks')} ranks"
    about = _about(told)
    return [
        _curve(f"{name}, {_asked(one)}", _points(one["rows"], "seconds", f"cases.{k}.rows"), about, _BAR)
        for k, one in ran.items()
    ]


def _asked(case: Mapping[str, Any]) -> str:
    algorithm, protocol, channels = (case.get(name) for name in ("algorithm", "protocol", "channels"))
    if (algorithm, protocol, channels) == (None, None, None):
        return "NCCL's own choice"
    pair = f"{algorithm or 'own choice'}/{protocol or 'own choice'}"
    return pair if channels is None else f"{pair}, {channels} channel{'' if channels == 1 else 's'}"


def _points(rows: object, least: str, place: str) -> list[_Point]:
    """Rows with nbytes, busbw, a least time and a median. NoCurve for one that lacks a positive number."""
    made = []
    for i, row in enumerate(rows if isinstance(rows, list) else [rows]):
        got: list[Any] = [
            row.get(field) if isinstance(row, dict) else None for field in ("nbytes", least, "busbw", "median")
        ]
        for field, value in zip(("nbytes", least, "busbw", "median"), got, strict=True):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not (isfinite(value) and value > 0):
                raise NoCurve(f"{place}.{i}.{field} is a positive number, got {value!r}")
        made.append(_Point(*got))
    return made


def _about(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    machine, versions = (told[key] if isinstance(told.get(key), dict) else {} for key in ("machine", "versions"))
    made = ", ".join(f"{name} {version}" for name, version in versions.items())
    pairs = {
        "What": told.get("label"),
        "Machine": ", ".join(map(str, machine.get("gpus") or [])) or machine.get("cpu"),
        "Versions": f"NCCL {told['nccl']}" if told.get("nccl") else made,
        "Date": told.get("date"),
        "Command": told.get("command"),
    }
    return [(name, words) for name, words in pairs.items() if words and isinstance(words, str)]


def _curve(name: str, points: Iterable[_Point], about: list[tuple[str, str]], spread: str | None) -> dict[str, Any]:
    """By size; of a size that comes twice the last counts."""
    by_size = {point.nbytes: point for point in points}
    ordered = [by_size[nbytes] for nbytes in sorted(by_size)]
    sizes, seconds, busbw, most = map(list, zip(*ordered, strict=True)) if ordered else ([],) * 4
    if not sizes:
        raise NoCurve(f"{name}: no size has a time and a bandwidth")
    repeats = [2 if long > short else 1 for long, short in zip(most, seconds, strict=True)]
    columns = {"sizes": sizes, "seconds": seconds, "busbw": busbw, "least": seconds, "most": most, "repeats": repeats}
    return {"name": name, **columns, "spread": spread, "from": about, "line": None, "model": None}
