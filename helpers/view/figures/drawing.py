"""What a picture without axes is made of. Only headlines are rows of its table: lines, marks and words say nothing more (`twin`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import plotly.graph_objects as go

from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template, rank_colour

Point = tuple[float, float]
SILENT = {"hoverinfo": "skip", "hovertext": []}
UNSEEN = {"visible": False, "fixedrange": True}
MARGIN = {"l": 8, "r": 8, "t": 48, "b": 8}


def sheet(title: str) -> go.Figure:
    """An empty one."""
    return go.Figure(layout={"template": plotly_template(), "title": title, "showlegend": False})


def framed(figure: go.Figure, height: float, x: list[float], y: list[float], *columns: tuple) -> go.Figure:
    """So many pixels high, from and to in both directions, with its table's columns (`tabled`)."""
    figure.update_layout(height=height, margin=MARGIN)
    figure.update_xaxes(range=x, **UNSEEN)
    figure.update_yaxes(range=y, **UNSEEN)
    return figure.update_layout(tabled(*columns))


def lines(paths: Iterable[Sequence[Point]], shade: str, **line: object) -> go.Scatter:
    """All of one look, with a gap after each. line: plotly's width, dash, shape."""
    points = [point for path in paths for point in (*path, (None, None))][:-1]
    x, y = [x for x, _ in points], [y for _, y in points]
    return go.Scatter(x=x, y=y, mode="lines", line={"color": colour(shade), **line}, **SILENT)


def marks(places: Sequence[Point], marker: dict, names: Sequence[str], where: str = "middle center") -> go.Scatter:
    """With their names in them or beside them."""
    return words(places, names, where).update(mode="markers+text", marker=marker)


def words(places: Sequence[Point], names: Sequence[str], where: str | list[str], shade: str = "ink") -> go.Scatter:
    x, y, font = [x for x, _ in places], [y for _, y in places], {"color": colour(shade)}
    return go.Scatter(x=x, y=y, mode="text", text=list(names), textposition=where, textfont=font, **SILENT)


def square(shade: str, size: int) -> dict:
    """A filled marker."""
    return {"symbol": "square", "size": size, "color": colour(shade)}


def rank_squares(ranks: Iterable[int], size: int) -> dict:
    """Hollow markers in the ranks' colours, which come again; the number in it tells two of one colour apart."""
    return {**square("page", size), "line": {"width": 3, "color": [rank_colour(rank) for rank in ranks]}}


def headline(place: Point, name: str, said: str, values: list[object]) -> go.Scatter:
    """Over a panel; values: its row of the table."""
    told = words([place], [said], "bottom right")
    return told.update(name=name, customdata=[values], hovertext=None)
