"""A figure's numbers as a table: its columns, each with one unit, and its points. For `show`; every lab.

A figure names its columns with `tabled`; one that names none has the names of its lines, x and y, headed by the axes' titles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import plotly.graph_objects as go

from helpers.units import parse_nbytes
from helpers.view.shared.words import headed, scale, told

Value = float | str | None


class Column(NamedTuple):
    """words: of its header. of: where its values stand in a trace, one of "name", "x", "y", "base", "end" (of a bar: base + x),
    "text", "hover" (behind the colon), "next" (y of the trace after), or a place in the points' customdata. unit: that they come
    in; one of `columns.UNITS` is scaled, and bytes may be spelled, as "64 MiB".
    """

    words: str
    of: str | int
    unit: str = ""


class Twin(NamedTuple):
    """columns: (header, of, size of its unit, or 0 of a text); rows: a value for each column, in units of that size still to be told."""

    columns: list[tuple[str, str | int, float]]
    rows: list[tuple[Value, ...]]

    def cells(self, row: tuple[Value, ...]) -> list[str]:
        """A row as it is shown."""
        return [
            "" if value is None else told(value, size) if size else str(value)
            for value, (_, _, size) in zip(row, self.columns, strict=True)
        ]


def tabled(*given: tuple) -> dict[str, object]:
    """What a figure's layout says of its table: tabled(("curve", "name"), ("time", "y", "s"))."""
    return {"meta": {"columns": [list(Column(*one)) for one in given]}}


def twin(figure: go.Figure) -> Twin:
    """Its table, with every point. Columns that come in one unit are told in one."""
    named = [Column(*one) for one in (figure.layout.meta or {}).get("columns", _by_axes(figure))]
    values = [_read(column, list(_values(figure, column.of))) for column in named]
    made = [_scaled(column, own, _alike(column, named, values)) for column, own in zip(named, values, strict=True)]
    return Twin(made, list(zip(*values, strict=True)))


def _by_axes(figure: go.Figure) -> list[tuple[str, str]]:
    x, y = (axis.title.text for axis in (figure.layout.xaxis, figure.layout.yaxis))
    return [("line", "name"), (x or "x", "x"), (y or "y", "y")]


def _values(figure: go.Figure, of: str | int) -> Iterator[Value]:
    """Of every trace that has rows: one whose hover text is an empty list has none."""
    for i, trace in enumerate(figure.data):
        if trace.hovertext is None or len(trace.hovertext):
            yield from _of_trace(figure, i, of)


def _of_trace(figure: go.Figure, i: int, of: str | int) -> list[Value]:
    trace = figure.data[i]
    many = max(len(axis) for axis in (trace.x, trace.y) if axis is not None)
    if isinstance(of, int):
        return [row[of] for row in trace.customdata]
    match of:
        case "name":
            return [trace.name or f"line {i + 1}"] * many
        case "next":
            return list(figure.data[i + 1].y)
        case "end":
            return [start + length for start, length in zip(trace.base, trace.x, strict=True)]
        case "hover":
            return [text.partition(": ")[2] for text in trace.hovertext]
        case "text":
            return [text.replace("<br>", " ") for text in trace.text or [""] * many]
    found = trace[of]
    if found is not None and of == "y":
        return [value.replace("<br>", " ") if isinstance(value, str) else value for value in found]
    return list(range(many) if of == "x" and found is None else [None] * many if found is None else found)


def _read(column: Column, values: list[Value]) -> list[Value]:
    return [parse_nbytes(value) if column.unit == "B" and isinstance(value, str) else value for value in values]


def _numbers(values: list[Value]) -> list[float] | None:
    """The numbers of a column, None where something else stands in it."""
    kept = [value for value in values if value is not None]
    return None if not kept or any(isinstance(value, str) for value in kept) else kept


def _alike(column: Column, named: list[Column], values: list[list[Value]]) -> list[float]:
    """All numbers that come in the column's unit."""
    return [
        number
        for other, own in zip(named, values, strict=True)
        if other.unit == column.unit
        for number in _numbers(own) or ()
    ]


def _scaled(column: Column, own: list[Value], alike: list[float]) -> tuple[str, str | int, float]:
    if _numbers(own) is None:
        return headed(column.words, column.unit), column.of, 0
    size, unit = scale(alike, column.unit)
    return headed(column.words, unit), column.of, size
