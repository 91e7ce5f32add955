"""Which engines bytes pass on their way to another GPU, and who orders it: filled what they pass, hollow who posts. Chapter: who-moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import plotly.graph_objects as go

from helpers.view.figures.drawing import SILENT, framed, headline, lines, sheet, square, words
from helpers.view.shared.tokens import colour

TALL, LOW = 1.08, 0.8  # a row's height where another engine orders, and where none does
FOOT = 0.38  # from a row's lower end to its line; its name stands at the upper end
UP = 0.34  # from the line to who orders
SIDE = 22  # of an engine's square in pixels
OFF = 0.15  # how far below the line the engines' names stand


class Way(Protocol):
    """What is read of a mover of helpers.nccl.movers."""

    @property
    def name(self) -> str: ...
    @property
    def touches(self) -> tuple[str, ...]: ...
    @property
    def orders(self) -> str: ...
    @property
    def adds(self) -> str: ...


def engines(
    ways: Sequence[Way], columns: Sequence[str], title: str, since: Mapping[str, str] | None = None
) -> go.Figure:
    """One row for every way, the engines in the order of `columns`, between two GPUs, which are their memories.

    since: by the way's name, what stands behind it. ValueError for no way, or an engine that is no column.
    """
    if not ways:
        raise ValueError("a picture of engines wants at least one way")
    for way in ways:
        if unknown := [one for one in (*way.touches, way.orders) if one not in columns]:
            raise ValueError(f"{way.name}: {unknown[0]!r} is none of the columns {', '.join(columns)}")
    figure = sheet(title)
    top = 0.0
    for way in ways:
        foot = round(top - (LOW if way.orders in way.touches else TALL), 2)
        figure.add_traces([*_row(way, columns, foot + FOOT), _headline(way, (since or {}).get(way.name, ""), top)])
        top = foot
    told = ("way", "name"), ("the bytes pass", 0), ("orders", 1), ("adds", 2)
    return framed(figure, round(64 - 112 * top), [-0.6, len(columns) + 1.8], [top, 0], *told)


def _row(way: Way, columns: Sequence[str], y: float) -> list[go.Scatter]:
    """A line from GPU to GPU through what the bytes pass, and above it who posts, if that is another engine."""
    last = len(columns) + 1.2
    at = {name: x for x, name in enumerate(columns, 1)}
    x = [0, *(at[name] for name in way.touches), last]
    names = ["GPU", *way.touches, "GPU"]
    squares = _squares(x, y, "accent", "accent")
    squares.update(
        text=["+" if name == way.adds else "" for name in names], textfont={"color": colour("page"), "size": 16}
    )
    told = words([(at, y - OFF) for at in x], names, "bottom center")
    return [lines([((0, y), (last, y))], "accent", width=3), *_orders(way, at, y), squares, told]


def _orders(way: Way, at: Mapping[str, int], y: float) -> list[go.Scatter]:
    """Hollow, off the line, and dotted to the first engine of the way that is not on the SMs: it has the orders."""
    if way.orders in way.touches:
        return []
    x, told = at[way.orders], next(at[name] for name in way.touches if name != "SMs")
    line = lines([((x, y + UP), (told, y))], "edge", width=2, dash="dot")
    aside, where = (-0.4, "middle left") if told > x else (0.4, "middle right")  # the dots go the other way
    name = words([(x + aside, y + UP)], [way.orders], where, "muted")
    return [line, _squares([x], y + UP, "page", "edge"), name]


def _squares(x: Sequence[float], y: float, fill: str, edge: str) -> go.Scatter:
    marker = {**square(fill, SIDE), "line": {"width": 3, "color": colour(edge)}}
    return go.Scatter(x=list(x), y=[y] * len(x), mode="markers+text", marker=marker, **SILENT)


def _headline(way: Way, since: str, top: float) -> go.Scatter:
    """The row's name; the table says the same as the row."""
    said = f"<b>{way.name}</b>{': ' + since if since else ''}"
    return headline((-0.5, top), way.name, said, [", ".join(way.touches), way.orders, way.adds or "nothing"])
