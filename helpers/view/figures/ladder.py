"""Memory as a ladder: a chip's rungs by bandwidth, and bandwidth against working set. Chapter: memory-hierarchy.

Plain data in, a plotly Figure out; scatter traces only, since the page draws with plotly's basic bundle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from helpers.facts import Accelerator
from helpers.units import bandwidth_text, nbytes_text
from helpers.view.figures.against_size import KINDS
from helpers.view.figures.limits import bandwidth_line
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template, series_colour

MOST = 3  # ticks of a bandwidth, so that a phone shows them level
ROOM = 1.35  # of the logarithmic span: for the words beside the last point
STAGES = {"published": "circle", "derived": "circle-open"}


class RungMark(NamedTuple):
    """One rung of a chip. bandwidth: bytes per second; derived: computed, not published; holds: its capacity, spelled, or ""."""

    name: str
    bandwidth: float
    derived: bool = False
    holds: str = ""

    @property
    def said(self) -> str:
        return f"{rate_text(self.bandwidth)}, {self.holds}" if self.holds else rate_text(self.bandwidth)


class Climb(NamedTuple):
    """One curve. kind: "prediction", "measurement" or "recorded"; nbytes: working sets; bandwidth: bytes per second;
    labels: (working set, words), each set where the curve is."""

    name: str
    kind: str
    nbytes: Sequence[float]
    bandwidth: Sequence[float]
    labels: Sequence[tuple[float, str]] = ()


def rungs(rows: Sequence[RungMark], title: str) -> go.Figure:
    """Every rung in its own line, nearest on top, its bandwidth along a logarithmic axis. ValueError for no row or no bandwidth."""
    if not rows or min(row.bandwidth for row in rows) <= 0:
        raise ValueError(f"a ladder has rungs, each with a bandwidth above 0, got {[tuple(row[:2]) for row in rows]}")
    figure = go.Figure(layout={"template": plotly_template(), "title": title, "showlegend": True})
    figure.add_trace(_rail(rows))
    for kind in STAGES:
        if found := [row for row in rows if row.derived == (kind == "derived")]:
            figure.add_trace(_marks(kind, found))
    low, high = (math.log10(f(row.bandwidth for row in rows)) for f in (min, max))
    powers = [10.0**k for k in range(math.ceil(low), math.floor(high) + 1)]
    at = powers[:: math.ceil(len(powers) / MOST) or 1]
    figure.update_xaxes(title="bytes per second", type="log", tickvals=at, ticktext=[rate_text(rate) for rate in at])
    figure.update_xaxes(range=[low - 0.2, low + max(high - low, 1) * ROOM], tickangle=0)
    names = {row.name: f"{row.name}<br>{row.holds}" if row.holds else row.name for row in rows}
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=list(names)[::-1])
    figure.update_yaxes(tickvals=list(names), ticktext=list(names.values()), showgrid=False)
    figure.update_layout(
        height=120 + 44 * len(names), legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}, margin={"t": 80}
    )
    figure.update_layout(tabled(("figure", "name"), ("rung", "y"), ("bandwidth", "x", "B/s"), ("holds", 0)))
    return figure


def rate_text(rate: float) -> str:
    """1.95e13 -> "19.5 TB/s"; the caller says which way."""
    return f"{rate / 1e12:.3g} TB/s" if rate >= 0.9995e12 else bandwidth_text(rate)


def _rail(rows: Sequence[RungMark]) -> go.Scatter:
    return go.Scatter(
        x=[row.bandwidth for row in rows],
        y=[row.name for row in rows],
        mode="lines",
        line={"color": colour("line"), "width": 2},
        name="from rung to rung",
        hoverinfo="skip",
        hovertext=[],
        showlegend=False,
    )


def _marks(kind: str, rows: Sequence[RungMark]) -> go.Scatter:
    return go.Scatter(
        x=[float(f"{row.bandwidth:.4g}") for row in rows],
        y=[row.name for row in rows],
        mode="markers+text",
        name=kind,
        text=[f"  {rate_text(row.bandwidth)}" for row in rows],
        textposition="middle right",
        textfont={"size": 12, "color": colour("ink")},
        marker={
            "symbol": STAGES[kind],
            "size": 10,
            "color": colour("accent"),
            "line": {"width": 2, "color": colour("accent")},
        },
        customdata=[[row.holds] for row in rows],
        hovertext=[f"{row.name}: {row.said}" for row in rows],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
        cliponaxis=False,
    )


def climbs(
    curves: Sequence[Climb],
    title: str,
    levels: Sequence[tuple[str, float]] = (),
    device: Accelerator | None = None,
) -> go.Figure:
    """Bandwidth over working set, both logarithmic; levels: (name, bytes) of caches, a dotted line up at each.

    device: the bandwidth of its memory is a dashed line.

    ValueError for no curve, an unknown kind, or a point that no logarithmic axis can hold.
    """
    _refuse(curves)
    figure = go.Figure(layout={"template": plotly_template(), "title": title, "showlegend": len(curves) > 1})
    figure.update_layout(tabled(("curve", "name"), ("working set", "x", "B"), ("bandwidth", "y", "B/s")))
    names = list(dict.fromkeys(curve.name for curve in curves))
    for curve in curves:
        figure.add_trace(_curve(curve, series_colour(names.index(curve.name))))
    sizes, rates = ([v for curve in curves for v in getattr(curve, part)] for part in ("nbytes", "bandwidth"))
    figure.update_xaxes(type="log", title="working set", tickangle=0, **_sizes([*sizes, *(size for _, size in levels)]))
    figure.update_yaxes(type="log", title="bytes per second", **_span(rates))
    for name, size in levels:
        figure.add_vline(x=size, line={"color": colour("edge"), "width": 1, "dash": "dot"})
        figure.add_annotation(
            x=math.log10(size),
            y=0,
            yref="paper",
            text=name,
            showarrow=False,
            xanchor="right",
            yanchor="bottom",
            xshift=-3,
        )
    if device:
        bandwidth_line(figure, device, rate_text(device.hbm.bandwidth.value))
    figure.update_layout(height=460, legend={"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"})
    return figure


def _refuse(curves: Sequence[Climb]) -> None:
    if not curves:
        raise ValueError("a ladder needs a curve, got none")
    for curve in curves:
        if curve.kind not in KINDS:
            raise ValueError(f"{curve.name}: kind must be one of {', '.join(KINDS)}, got {curve.kind!r}")
        if len(curve.nbytes) != len(curve.bandwidth) or not curve.nbytes:
            raise ValueError(f"{curve.name}: {len(curve.nbytes)} sizes but {len(curve.bandwidth)} bandwidths")
        if min(*curve.nbytes, *curve.bandwidth) <= 0:
            raise ValueError(f"{curve.name}: both axes are logarithmic, so sizes and bandwidths must be > 0")


def _curve(curve: Climb, ink: str) -> go.Scatter:
    style, words = KINDS[curve.kind], dict(curve.labels)
    return go.Scatter(
        x=list(curve.nbytes),
        y=[float(f"{rate:.4g}") for rate in curve.bandwidth],
        mode="lines+markers+text",
        name=f"{curve.name}, {curve.kind}",
        text=[words.get(size, "") for size in curve.nbytes],
        textposition="top center",
        line={**style["line"], "color": ink},
        marker={**style["marker"], "size": 6, "color": ink, "line": {"width": 2, "color": ink}},
        hovertext=[f"{nbytes_text(n)}: {rate_text(r)}" for n, r in zip(curve.nbytes, curve.bandwidth, strict=True)],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
        cliponaxis=False,
    )


def _sizes(values: Sequence[float]) -> dict:
    """A tick every sixth power of two, spelled with its unit."""
    low, high = (math.log2(f(values)) for f in (min, max))
    at = [2**k for k in range(math.ceil(low), math.floor(high) + 1) if not k % 6]
    return {"tickvals": at, "ticktext": [nbytes_text(size) for size in at]}


def _span(rates: Sequence[float]) -> dict:
    """Ticks at 1, 2 and 5 of every power of ten within the data, at powers alone where that would be too many."""
    low, high = math.log10(min(rates)), math.log10(max(rates))
    powers = range(math.floor(low), math.ceil(high) + 1)
    parts = (1, 2, 5) if high - low < 2 else (1,)
    at = [m * 10.0**k for k in powers for m in parts if 10 ** (low - 0.2) <= m * 10.0**k <= 10 ** (high + 0.2)]
    return {"tickvals": at, "ticktext": [rate_text(rate) for rate in at], "range": [low - 0.15, high + 0.2]}
