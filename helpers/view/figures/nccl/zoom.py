"""Something cut into parts, one of them cut again, and so on down: each row is the first part of the row above. Chapter: inside-nccl."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import plotly.graph_objects as go

from helpers.units import nbytes_text
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

MOST = 64  # parts of a row that can still be told apart
DEEP, BAR = 1.0, 0.34  # from row to row, and a bar's height
GAP = (None, None)  # between two lines of a trace
UNSEEN = {"visible": False, "fixedrange": True}
Point = tuple[float | None, float | None]


class Level(NamedTuple):
    """name: of what is cut; nbytes: of it; parts: into how many; of: what those are called."""

    name: str
    nbytes: float
    parts: int
    of: str


def zoom(levels: Sequence[Level], title: str) -> go.Figure:
    """One row a level, from the top; its first part is filled, and spans the whole row below.

    ValueError for no level, or for parts that are not 1 to 64.
    """
    if not levels:
        raise ValueError("a figure of cuts wants at least one level")
    for level in levels:
        if not 1 <= level.parts <= MOST:
            raise ValueError(f"{level.name}: it is cut into 1 to {MOST} parts, got {level.parts}")
    figure = go.Figure([_boxes(levels), _firsts(levels), _rays(levels), _words(levels)])
    figure.update_layout(template=plotly_template(), title=title, showlegend=False, height=90 + 64 * len(levels))
    figure.update_layout(margin={"l": 16, "r": 16, "t": 40, "b": 16})
    figure.update_xaxes(range=[-0.01, 1.01], **UNSEEN)
    figure.update_yaxes(range=[-DEEP * (len(levels) - 1) - BAR - 0.1, 0.45], **UNSEEN)
    figure.update_layout(tabled(("what", 0), ("size", 1, "B"), ("cut into", 2)))
    return figure


def _boxes(levels: Sequence[Level]) -> go.Scatter:
    """Every row's outline, and a line between two of its parts."""
    points: list[Point] = []
    for row, level in enumerate(levels):
        points += [*_outline(row, 1.0), GAP]
        for part in range(1, level.parts):
            points += [(part / level.parts, -DEEP * row), (part / level.parts, -DEEP * row - BAR), GAP]
    return _lines(points, line={"color": colour("accent"), "width": 1})


def _firsts(levels: Sequence[Level]) -> go.Scatter:
    """The first part of every row, filled: what the row below shows whole."""
    points = [point for row, level in enumerate(levels) for point in (*_outline(row, 1 / level.parts), GAP)]
    return _lines(points, line={"width": 0}, fill="toself", fillcolor=colour("accent"))


def _rays(levels: Sequence[Level]) -> go.Scatter:
    """From both ends of a row's first part to both ends of the row below."""
    points: list[Point] = []
    for row, (upper, _) in enumerate(pairwise(levels)):
        for x, end in ((0.0, 0.0), (1 / upper.parts, 1.0)):
            points += [(x, -DEEP * row - BAR), (end, -DEEP * (row + 1)), GAP]
    return _lines(points, line={"color": colour("edge"), "width": 1, "dash": "dot"})


def _outline(row: int, end: float) -> list[Point]:
    top, bottom = -DEEP * row, -DEEP * row - BAR
    return [(0.0, top), (end, top), (end, bottom), (0.0, bottom), (0.0, top)]


def _lines(points: Sequence[Point], **style: object) -> go.Scatter:
    return go.Scatter(
        x=[x if x is None else round(x, 4) for x, _ in points],
        y=[y if y is None else round(y, 2) for _, y in points],
        mode="lines",
        hoverinfo="skip",
        hovertext=[],
        **style,
    )


def _words(levels: Sequence[Level]) -> go.Scatter:
    """Over each bar what it is; the table says the same in columns."""
    return go.Scatter(
        x=[0.01] * len(levels),  # beside the ray
        y=[-DEEP * row + 0.04 for row in range(len(levels))],
        mode="text",
        name="cut",
        text=[f"{level.name}, {nbytes_text(level.nbytes)}: {level.parts} {level.of}" for level in levels],
        textposition="top right",
        textfont={"color": colour("ink")},
        customdata=[[level.name, level.nbytes, f"{level.parts} {level.of}"] for level in levels],
        hoverinfo="skip",
        cliponaxis=False,
    )
