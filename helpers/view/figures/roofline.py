"""Operations under a roof: FLOP/s against FLOP per byte, both logarithmic. Chapters: roofline, memory-hierarchy.

Plain data in, a plotly Figure out. What the roof allows is hollow on the line; what was measured is solid below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from helpers.memory.roofline import Roof
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template, series_colour

KINDS = {"prediction": "circle-open", "measurement": "circle", "recorded": "circle-dot"}
DASHES = ("solid", "dash", "dot")
UNITS = ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1e3, "kFLOP/s"))
BELOW = {"orientation": "h", "x": 0, "y": -0.25, "yanchor": "top"}  # a legend that fits a phone


class Spot(NamedTuple):
    """An operation in the picture. intensity: FLOP per byte; flops: FLOP/s; kind: one of KINDS; place: of its label."""

    name: str
    intensity: float
    flops: float
    kind: str = "prediction"
    place: str = "top center"


def roofline(
    roofs: Sequence[Roof], spots: Sequence[Spot], title: str, moves: Sequence[tuple[Spot, Spot]] = ()
) -> go.Figure:
    """Every roof as a line, every operation as a point, every move (before, after) as a dotted line between its two points.

    ValueError for no roof, an unknown kind, or a point that no logarithmic axis can hold.
    """
    points = [*spots, *(spot for move in moves for spot in move)]
    _refuse(roofs, points)
    low, high = _span([roof.ridge for roof in roofs] + [spot.intensity for spot in points])
    figure = go.Figure(layout=go.Layout(template=plotly_template(), title=title, legend=BELOW, height=520))
    for i, roof in enumerate(roofs):
        figure.add_trace(_line(roof, low, high, DASHES[i % len(DASHES)]))
    for before, after in moves:
        figure.add_trace(_move(before, after))
    for kind in dict.fromkeys(spot.kind for spot in points):
        figure.add_trace(_points(kind, [spot for spot in points if spot.kind == kind], (low, high)))
    rates = [roof.attainable(x) for roof in roofs for x in (low, high)] + [spot.flops for spot in points]
    figure.update_xaxes(title="FLOP per byte", **_axis([low, high], "{:g}".format))
    figure.update_yaxes(title="FLOP/s", **_axis(rates, flops_text))
    told = ("operation", "text"), ("intensity", "x", "FLOP per byte"), ("rate", "y", "FLOP/s")
    figure.update_layout(tabled(("line or kind of point", "name"), *told))
    return figure


def flops_text(rate: float) -> str:
    """3.12e14 -> "312 TFLOP/s"."""
    size, unit = next(((s, u) for s, u in UNITS if rate >= s * 0.9995), (1, "FLOP/s"))
    return f"{rate / size:.3g} {unit}"


def _refuse(roofs: Sequence[Roof], spots: Sequence[Spot]) -> None:
    if not roofs:
        raise ValueError("a roofline needs a roof, got none")
    for spot in spots:
        if spot.kind not in KINDS:
            raise ValueError(f"{spot.name}: kind must be one of {', '.join(KINDS)}, got {spot.kind!r}")
        if not (spot.intensity > 0 and spot.flops > 0):
            raise ValueError(f"{spot.name}: both axes are logarithmic, so intensity and FLOP/s must be > 0, got {spot}")


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Whole powers of ten around the values, with some of the flat roof in view."""
    return 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(3 * max(values)))


def _line(roof: Roof, low: float, high: float, dash: str) -> go.Scatter:
    x = [low, roof.ridge, high]
    y = [roof.attainable(at) for at in x]
    return go.Scatter(
        name=roof.name,
        x=[float(f"{at:.4g}") for at in x],
        y=[float(f"{rate:.4g}") for rate in y],
        mode="lines",
        text=["", "ridge", ""],  # for the table: lines alone show no text
        line={"color": colour("ink"), "dash": dash, "width": 2},
        hovertext=[f"{at:.3g} FLOP/B: {flops_text(rate)}" for at, rate in zip(x, y, strict=True)],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
    )


def _move(before: Spot, after: Spot) -> go.Scatter:
    return go.Scatter(
        name=f"{before.name} to {after.name}",
        x=[before.intensity, after.intensity],
        y=[before.flops, after.flops],
        mode="lines",
        line={"color": colour("accent"), "dash": "dot", "width": 2},
        hoverinfo="skip",
        hovertext=[],  # its ends are points with rows of their own
        showlegend=False,
    )


def _points(kind: str, spots: Sequence[Spot], span: tuple[float, float]) -> go.Scatter:
    ink = series_colour(list(KINDS).index(kind))
    return go.Scatter(
        name=kind,
        x=[float(f"{spot.intensity:.4g}") for spot in spots],
        y=[float(f"{spot.flops:.4g}") for spot in spots],
        mode="markers+text",
        text=[spot.name for spot in spots],
        textposition=[_inwards(spot, span) for spot in spots],
        textfont={"size": 11},
        marker={"symbol": KINDS[kind], "size": 9, "color": ink, "line": {"width": 2, "color": ink}},
        hovertext=[
            f"{spot.name.replace('<br>', ' ')}, {spot.intensity:.3g} FLOP/B: {flops_text(spot.flops)}" for spot in spots
        ],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
        cliponaxis=False,
    )


def _inwards(spot: Spot, span: tuple[float, float]) -> str:
    """Where its label stands: one that is wanted over or under its point turns inwards near the ends of the axis."""
    low, high = map(math.log10, span)
    along = (math.log10(spot.intensity) - low) / (high - low)
    side = "left" if along > 0.7 else "right" if along < 0.2 else "center"
    return spot.place.replace("center", side)


def _axis(values: Sequence[float], text) -> dict:
    """A logarithmic axis with a tick at every power of ten."""
    low, high = (f(math.log10(v) for v in values) for f in (min, max))
    powers = [10.0**k for k in range(math.floor(low), math.ceil(high) + 1)]
    return {"type": "log", "tickvals": powers, "ticktext": [text(v) for v in powers], "range": [low - 0.1, high + 0.25]}
