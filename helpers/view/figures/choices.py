"""Which algorithm when: what each pays, how that grows with the ranks, and who wins. Chapter: halving-doubling.

Plain data in, a plotly Figure out, as in `figures`; scatter traces only, since the page draws with plotly's basic bundle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import plotly.graph_objects as go

from helpers.units import nbytes_text
from helpers.view.figures.against_size import _ticks
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template, series_colour

# Repeats what the colour says
SYMBOLS = ("square", "circle", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
BELOW = {"orientation": "h", "x": 0, "y": -0.25, "yanchor": "top"}  # a legend that fits a phone


class Cost(NamedTuple):
    """What an algorithm pays on its busiest port: latencies one after another, and bytes in units of the buffer."""

    name: str
    latencies: float
    buffers: float
    switch: bool = False  # needs a switch that adds
    place: str = "bottom center"  # of its label, seen from the point


class Win(NamedTuple):
    """The cheapest algorithm for so many ranks and bytes."""

    nranks: int
    nbytes: int
    name: str


class Growth(NamedTuple):
    """One algorithm over numbers of ranks: its steps and its bytes (in units of the buffer), one each per number."""

    name: str
    nranks: Sequence[int]
    steps: Sequence[int]
    buffers: Sequence[float]


def plane(costs: Sequence[Cost], title: str) -> go.Figure:
    """Every algorithm as a point: latencies to the right, bytes upwards, both logarithmic. A line joins those that win at some size."""
    _some("a plane of costs", costs)
    layout = go.Layout(template=plotly_template(), title=title, showlegend=True, legend=BELOW, height=520)
    figure = go.Figure(layout=layout)
    best = winning([cost for cost in costs if not cost.switch])
    line = {"color": colour("accent"), "dash": "dot", "width": 2}
    names = [cost.name for cost in best]  # for the table: lines alone show no text
    figure.add_trace(_costs("wins at some size", best, mode="lines", line=line, hoverinfo="skip", text=names))
    for name, switch, symbol in (("ranks add", False, "circle"), ("a switch adds", True, "diamond-open")):
        if found := [cost for cost in costs if cost.switch == switch]:
            figure.add_trace(_labelled(name, found, symbol))
    values = [cost.latencies for cost in costs], [cost.buffers for cost in costs]
    figure.update_xaxes(title="latencies, one after another", **_powers(values[0]))
    figure.update_yaxes(title="buffers through the busiest port", **_powers(values[1]))
    told = ("latencies, one after another", "x"), ("buffers through the busiest port", "y")
    figure.update_layout(tabled(("kind", "name"), ("algorithm", "text"), *told))
    return figure


def winning(costs: Sequence[Cost]) -> list[Cost]:
    """Those that are cheapest for some price of a latency and of a buffer: the corners towards 0, fewest latencies first."""
    corners: list[Cost] = []
    for cost in sorted(costs, key=lambda c: (c.latencies, c.buffers)):
        if corners and cost.buffers >= corners[-1].buffers:
            continue
        while len(corners) > 1 and not _turns(corners[-2], corners[-1], cost):
            corners.pop()
        corners.append(cost)
    return corners


def _turns(a: Cost, b: Cost, c: Cost) -> bool:
    """Whether b lies below the straight line from a to c."""
    return (b.latencies - a.latencies) * (c.buffers - a.buffers) > (c.latencies - a.latencies) * (b.buffers - a.buffers)


def _labelled(name: str, costs: Sequence[Cost], symbol: str) -> go.Scatter:
    """Algorithms of one cost share a point and its label, which stands where the first of them wants it."""
    rows = groupby(sorted(costs, key=lambda c: c[1:3]), key=lambda c: c[1:3])
    spots = [first._replace(name=", ".join([first.name, *(c.name for c in others)])) for _, (first, *others) in rows]
    marker = {"symbol": symbol, "size": 9, "color": colour("ink"), "line": {"width": 2, "color": colour("ink")}}
    text = {
        "text": [spot.name for spot in spots],
        "textposition": [spot.place for spot in spots],
        "textfont": {"size": 11},
    }
    text["hovertext"] = [f"{c.name}: {c.latencies:g} latencies, {c.buffers:.4g} buffers" for c in spots]
    text["hovertemplate"] = "%{hovertext}<extra></extra>"
    return _costs(name, spots, mode="markers+text", marker=marker, cliponaxis=False, **text)


def _costs(name: str, costs: Sequence[Cost], **style: object) -> go.Scatter:
    return go.Scatter(
        name=name,
        x=[cost.latencies for cost in costs],
        y=[float(f"{cost.buffers:.4g}") for cost in costs],
        **style,
    )


def _powers(values: Sequence[float]) -> dict:
    """A logarithmic axis with room for labels at both ends."""
    ticks = _ticks(values, 2, "{:g}".format)
    room = [math.log10(min(values) / 1.9), math.log10(max(values) * 1.9)]
    return {"type": "log", "range": room, **ticks}


def winners(wins: Sequence[Win], title: str) -> go.Figure:
    """A map: message size to the right, ranks upwards, at each place the mark of the algorithm that costs least."""
    _some("a map of winners", wins)
    rows = [str(nranks) for nranks in dict.fromkeys(win.nranks for win in wins)]
    layout = go.Layout(
        template=plotly_template(), title=title, showlegend=True, legend=BELOW, height=240 + 22 * len(rows)
    )
    figure = go.Figure(layout=layout)
    for i, name in enumerate(dict.fromkeys(win.name for win in wins)):
        figure.add_trace(_marks(name, [win for win in wins if win.name == name], i))
    columns = [nbytes_text(nbytes) for nbytes in sorted({win.nbytes for win in wins})]
    few = columns[:: math.ceil(len(columns) / 5)]  # as many labels as a phone has room for
    figure.update_xaxes(
        type="category", title="message size", categoryorder="array", categoryarray=columns, tickvals=few, tickangle=0
    )
    figure.update_yaxes(type="category", title="ranks", categoryorder="array", categoryarray=rows)
    figure.update_layout(tabled(("cheapest", "name"), ("message size", "x", "B"), ("ranks", "y")))
    return figure


def _marks(name: str, wins: Sequence[Win], i: int) -> go.Scatter:
    marker = {"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 10, "color": series_colour(i)}
    return go.Scatter(
        name=name,
        mode="markers",
        x=[nbytes_text(win.nbytes) for win in wins],
        y=[str(win.nranks) for win in wins],
        marker=marker,
        hovertemplate="%{y} ranks, %{x}<extra>%{fullData.name}</extra>",
    )


def over_ranks(growths: Sequence[Growth], title: str) -> go.Figure:
    """Two panels over the number of ranks: steps above, bytes below."""
    _some("a figure over ranks", growths)
    for growth in growths:
        if not len(growth.nranks) == len(growth.steps) == len(growth.buffers):
            raise ValueError(
                f"{growth.name}: {len(growth.nranks)} numbers of ranks, {len(growth.steps)} steps and"
                f" {len(growth.buffers)} buffers; expected as many of each"
            )
    figure = go.Figure(
        layout=go.Layout(template=plotly_template(), title=title, showlegend=True, legend=BELOW, height=480)
    )
    for i, growth in enumerate(growths):
        for axis, values, unit in (("y", growth.steps, "steps"), ("y2", growth.buffers, "buffers")):
            figure.add_trace(_grown(growth, values, unit, axis, i))
    figure.update_layout(
        xaxis={"title": "ranks", "anchor": "y2"},
        yaxis={"title": "steps", "domain": [0.55, 1], "rangemode": "tozero"},
        yaxis2={"title": "buffers", "domain": [0, 0.45], "rangemode": "tozero", **plotly_template()["layout"]["yaxis"]},
    )
    figure.update_layout(tabled(("algorithm", "name"), ("ranks", "x"), ("steps", "y"), ("buffers", "next")))
    return figure


def _grown(growth: Growth, values: Sequence[float], unit: str, axis: str, i: int) -> go.Scatter:
    return go.Scatter(
        name=growth.name,
        mode="lines+markers",
        x=list(growth.nranks),
        y=[value if isinstance(value, int) else float(f"{value:.4g}") for value in values],
        yaxis=axis,
        showlegend=axis == "y",
        line={"width": 1, "color": series_colour(i)},
        marker={"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 6, "color": series_colour(i)},
        hovertemplate=f"%{{x}} ranks: %{{y}} {unit}<extra>{growth.name}</extra>",
        hovertext=None if axis == "y" else [],  # its rows are those of the panel above
    )


def _some(what: str, items: Sequence) -> None:
    if not items:
        raise ValueError(f"{what} wants at least one")
