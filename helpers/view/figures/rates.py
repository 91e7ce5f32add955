"""Bandwidth against message size, from zero, beside what the wire carries. Plain data in, a plotly Figure out. Chapter: units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from helpers.units import Bandwidth, bandwidth_text, nbytes_text
from helpers.view.figures.against_size import KINDS, _ticks
from helpers.view.figures.limits import LINE, WORDS
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import plotly_template, series_colour

STEPS = [m * 10.0**k for k in range(15) for m in (1, 2, 5)]


class Rates(NamedTuple):
    """One curve. kind: "prediction", "measurement" or "recorded"; nbytes: message sizes, from the shortest; bandwidth: bytes per second."""

    name: str
    kind: str
    nbytes: Sequence[float]
    bandwidth: Sequence[float]


def rates_against_size(curves: Sequence[Rates], title: str, wires: Mapping[str, Bandwidth]) -> go.Figure:
    """Bandwidth over message size, the sizes logarithmic and the bandwidths linear; each wire is a dashed line that says which way.

    ValueError for no curve, an unknown kind, or a size that no logarithmic axis can hold.
    """
    _refuse(curves)
    figure = go.Figure(layout={"template": plotly_template(), "title": title, "showlegend": False})
    figure.update_layout(tabled(("curve", "name"), ("message size", "x", "B"), ("busbw", "y", "B/s")))
    for i, curve in enumerate(curves):
        figure.add_trace(_trace(curve, series_colour(i)))
    figure.update_xaxes(
        type="log", title="message size", **_ticks([n for curve in curves for n in curve.nbytes], 4, nbytes_text)
    )
    most = max(rate for rates in (*(c.bandwidth for c in curves), [w.value for w in wires.values()]) for rate in rates)
    figure.update_yaxes(title="busbw", **_from_zero(most))
    for name, wire in wires.items():
        figure.add_hline(y=wire.value, line=LINE)
        text = f"{name}: {bandwidth_text(wire.value)} {wire.direction}"
        figure.add_annotation(x=0, xref="paper", y=wire.value, text=text, **WORDS)
    return figure


def _refuse(curves: Sequence[Rates]) -> None:
    if not curves:
        raise ValueError("a figure of rates needs a curve, got none")
    for curve in curves:
        if curve.kind not in KINDS:
            raise ValueError(f"{curve.name}: kind must be one of {', '.join(KINDS)}, got {curve.kind!r}")
        if len(curve.nbytes) != len(curve.bandwidth) or not curve.nbytes:
            raise ValueError(f"{curve.name}: {len(curve.nbytes)} sizes but {len(curve.bandwidth)} bandwidths")
        if min(curve.nbytes) <= 0 or min(curve.bandwidth) < 0:
            raise ValueError(f"{curve.name}: sizes must be > 0, and bandwidths not negative")


def _trace(curve: Rates, ink: str) -> go.Scatter:
    style = KINDS[curve.kind]
    points = zip(curve.nbytes, curve.bandwidth, strict=True)
    return go.Scatter(
        x=list(curve.nbytes),
        y=list(curve.bandwidth),
        mode="lines+markers+text",
        name=f"{curve.name}, {curve.kind}",
        text=[""] * (len(curve.nbytes) - 1) + [curve.name],
        textposition="bottom left",
        line={**style["line"], "color": ink},
        marker={**style["marker"], "color": ink, "line": {"width": 2, "color": ink}},
        hovertext=[f"{nbytes_text(n)}: {bandwidth_text(rate)}" for n, rate in points],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
        cliponaxis=False,
    )


def _from_zero(most: float) -> dict:
    """Up to six round ticks from 0, and room above the highest line for its words."""
    step = next(s for s in STEPS if most / s < 6)
    at = [step * k for k in range(math.floor(most / step) + 1)]
    return {"range": [0, most * 1.12], "tickvals": at, "ticktext": [bandwidth_text(rate) for rate in at]}
