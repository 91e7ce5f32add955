"""The kinds of recorded files, field by field. Where rows can be held against each other, they are. Page: recorded-runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from helpers.collectives import PROMISES, Schedule, ScheduleError
from helpers.facts import FactError
from helpers.facts.tables import build_table
from helpers.memory import TraceError, unpack
from helpers.records import timelines
from helpers.records.fields import (
    Bad,
    day,
    each,
    expected,
    fields,
    named,
    or_null,
    positive,
    something,
    text,
    texts,
    under,
    whole_number,
)

_RANKS = re.compile(r"(\d+) ranks\b")
_MACHINE = {"cpu": text, "cores": whole_number, "memory_gib": whole_number, "gpus": texts, "system": text}
_VERSIONS = {"python": text, "torch": text, "cuda": text, "nccl": text}
ABOUT = {  # of every measured run
    "label": text,
    "machine": fields(_MACHINE),
    "versions": fields(_VERSIONS, frozenset({"cuda", "nccl"})),
    "date": day,
    "command": text,
}
_RUN = fields({"name": text, **ABOUT, "data": something})
_MESSAGE = "step", "src", "dst"
_SORTS = ((bool, "a flag"), (str, "a text"), (list, "a list"))


def run(data: Any, stem: str) -> None:
    """What `helpers.ranks.record` writes; bandwidths and messages are held against themselves."""
    _RUN(data, "")
    if data["name"] != stem:
        raise expected(f"the file's own name, {stem!r}", data["name"], "name")
    if stem == "gpu-bandwidth":
        _bandwidths(data["data"], data["label"])
    if isinstance(data["data"], dict) and "schedule" in data["data"]:
        _trace(data["data"])
    if isinstance(data["data"], dict) and "ways" in data["data"]:
        timelines.ways(data["data"]["ways"], "data.ways")


_LINE = fields(dict.fromkeys(("min", "median", "algbw", "busbw"), positive) | {"nbytes": whole_number})


def _bandwidths(found: Any, label: str) -> None:
    """Sizes rise, algbw is of the least time, and busbw is algbw times the collective's factor."""
    named(each(_LINE, 1))(found, "data")
    ranks = _RANKS.search(label)
    if ranks is None:
        raise expected("a text that says how many ranks", label, "label")
    for collective, lines in found.items():
        if collective not in PROMISES:
            raise expected(f"one of {', '.join(PROMISES)}", collective, "data")
        factor = PROMISES[collective].bus_factor(int(ranks[1]))
        for i, line in enumerate(lines):
            _line(line, factor, f"data.{collective}.{i}")
        for i, (one, other) in enumerate(pairwise(lines), 1):
            if other["nbytes"] <= one["nbytes"]:
                raise expected(
                    f"more than the {one['nbytes']} before it", other["nbytes"], f"data.{collective}.{i}.nbytes"
                )


def _line(line: Mapping[str, float], factor: float, place: str) -> None:
    if line["median"] < line["min"]:
        raise expected(f"no less than min, {line['min']!r}", line["median"], under(place, "median"))
    for name, told in (("algbw", line["nbytes"] / line["min"]), ("busbw", line["algbw"] * factor)):
        if abs(line[name] / told - 1) > 1e-3:
            raise expected(f"{told:.4g}, by the fields beside it", line[name], under(place, name))


def _trace(found: Mapping[str, Any]) -> None:
    """A schedule that can be read, and messages of its steps that end after they begin."""
    try:
        schedule = Schedule.parse(found["schedule"])
    except (ScheduleError, ValueError, TypeError, AttributeError) as error:
        raise Bad("data.schedule", f"no schedule: {error}") from None
    positive(found.get("seconds"), "data.seconds")
    each(_message(schedule), 1)(found.get("messages"), "data.messages")


def _message(schedule: Schedule) -> Any:
    ways = [{(one.src, one.dst) for one in step} for step in schedule.steps]

    def check(one: Any, place: str) -> None:
        if not isinstance(one, dict) or not {*_MESSAGE} <= one.keys():
            raise expected(f"an object with {', '.join(_MESSAGE)}", one, place)
        step, way = one["step"], (one["src"], one["dst"])
        if not (isinstance(step, int) and 1 <= step <= len(ways)):
            raise expected(f"a step from 1 to {len(ways)}", step, under(place, "step"))
        if way not in ways[step - 1]:
            raise expected(f"a way of step {step} of the schedule", f"{way[0]} to {way[1]}", place)

    return check


def memory(data: Any, stem: str) -> None:
    """What `python -m helpers.measure record` writes: its traces unpack, rank by rank."""
    run(data, stem)
    ranks = data["data"].get("ranks") if isinstance(data["data"], dict) else None
    each(_packed, 1)(ranks, "data.ranks")


def _packed(packed: Any, place: str) -> None:
    try:
        unpack(packed)
    except TraceError as error:
        raise Bad(place, f"no trace of memory: {error}") from None


def predicted(data: Any, stem: str) -> None:
    """What `helpers.measure.predictions` writes: a row has a value a column, its peak is the sum of its classes."""
    words = ("label", "command", "precision", "optimizer", "attention")
    machine = fields({"torch": text, "device": text})
    fields(dict.fromkeys(words, text) | {"machine": machine, "columns": texts, "rows": each(something, 1)})(data, "")
    columns = data["columns"]
    for i, row in enumerate(data["rows"]):
        if not isinstance(row, list) or len(row) != len(columns):
            raise expected(f"a value for each of {len(columns)} columns", row, f"rows.{i}")
        told = dict(zip(columns, row, strict=True))
        positive(told.get("peak"), f"rows.{i}.peak")
        named(_nbytes)(told.get("by_class"), f"rows.{i}.by_class")
        if told["peak"] != sum(told["by_class"].values()):
            raise expected(f"the sum of by_class, {sum(told['by_class'].values())}", told["peak"], f"rows.{i}.peak")


def _nbytes(value: Any, place: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise expected("bytes, a whole number from 0", value, place)


def _cell(value: Any, place: str) -> None:
    """A text, a flag, nothing, a number from 0, or a list of such."""
    if isinstance(value, list):
        each(_cell, 1)(value, place)
    elif isinstance(value, (int, float)) and value < 0:
        raise expected("a number from 0", value, place)
    elif isinstance(value, dict):
        raise expected("a number or a text", value, place)


_TABLE = fields(
    {
        "source": named(or_null(text)),
        **dict.fromkeys(("collective", "command"), or_null(text)),
        "nranks": or_null(whole_number),
        "measured": or_null(day),
        **dict.fromkeys(("machine", "software", "meaning"), text),
        "not_stated": texts,
        "units": named(text),
        "rows": each(named(_cell), 1),
    }
)


def published(data: Any, stem: str) -> None:
    """What `helpers.facts.public` reads: a source, and rows of one shape whose numbers have a unit."""
    _TABLE(data, "")
    try:
        build_table(stem, data)
    except FactError as error:
        raise Bad("", f"{error}".removeprefix(f"{stem}: ")) from None
    _source(data)
    columns = list(data["rows"][0])
    for i, row in enumerate(data["rows"]):
        if list(row) != columns:
            raise expected(f"the columns of the first row, {', '.join(columns)}", ", ".join(row), f"rows.{i}")
        if "nbytes" in row:
            whole_number(row["nbytes"], f"rows.{i}.nbytes")
    for name in columns:
        _column(name, [row[name] for row in data["rows"]], data["units"])


def _column(name: str, cells: list[Any], units: Mapping[str, str]) -> None:
    """All of one sort, or null; numbers have a unit."""
    sorts = [_sort(cell) for cell in cells]
    own = next((sort for sort in sorts if sort), "nothing")
    for i, sort in enumerate(sorts):
        if sort not in (None, own):
            raise expected(f"{own}, as in the rows above", cells[i], f"rows.{i}.{name}")
    if own in ("a number", "a list") and name != "nranks" and name.removeprefix("in_place_") not in units:
        raise Bad("units", f"the column {name!r} holds numbers and has no unit")


def _sort(cell: Any) -> str | None:
    if cell is None:
        return None
    return next((name for kind, name in _SORTS if isinstance(cell, kind)), "a number")


def _source(data: Mapping[str, Any]) -> None:
    source = data["source"]
    if not source["url"].startswith("https://"):
        raise expected("an address that begins with https://", source["url"], "source.url")
    day(source["checked"], "source.checked")
    or_null(day)(source.get("date"), "source.date")
