"""Figures: plain data in, a plotly Figure out. A prediction is dashed and hollow, a measurement solid; the title is the finding.

Chapters: ring, latency-bandwidth, benchmarking.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from helpers.units import nbytes_text, seconds_text
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import plotly_template, series_colour

KINDS = {
    "prediction": {"line": {"dash": "dash", "width": 2}, "marker": {"symbol": "circle-open", "size": 8}},
    "measurement": {"line": {"width": 2}, "marker": {"symbol": "circle", "size": 8}},
    "recorded": {"line": {"width": 2}, "marker": {"symbol": "circle-dot", "size": 8}},
}
MOST = 6  # more labels than six run into each other on a phone
BETWEEN = (1, 2, 5), (1, 3)  # where ticks stand within a power of ten


@dataclass(frozen=True)
class Curve:
    """One line: name; kind "prediction", "measurement" (here, now) or "recorded" (elsewhere, once); sizes in bytes; seconds."""

    name: str
    kind: str
    nbytes: Sequence[float]
    seconds: Sequence[float]

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if len(self.nbytes) != len(self.seconds) or not len(self.nbytes):
            raise ValueError(
                f"{self.name}: {len(self.nbytes)} sizes but {len(self.seconds)} times; expected as many, and at least one"
            )
        if min(self.nbytes) <= 0 or min(self.seconds) <= 0:
            raise ValueError(f"{self.name}: both axes are logarithmic, so sizes and seconds must be > 0")


def time_against_size(curves: Sequence[Curve], title: str) -> go.Figure:
    """Seconds over message size, both axes logarithmic; a curve of the same name in two kinds keeps one colour."""
    direct = len(curves) <= 4
    figure = go.Figure(layout=go.Layout(template=plotly_template(), title=title, showlegend=not direct))
    figure.update_layout(tabled(("curve", "name"), ("message size", "x", "B"), ("time", "y", "s")))
    names = list(dict.fromkeys(curve.name for curve in curves))
    for curve in curves:
        label = _label(curve, curves) if direct else {}
        figure.add_trace(_trace(curve, series_colour(names.index(curve.name)), label))
    figure.update_xaxes(
        type="log", title="message size", **_ticks([n for c in curves for n in c.nbytes], 4, nbytes_text)
    )
    figure.update_yaxes(type="log", title="time", **_decades([t for c in curves for t in c.seconds]))
    return figure


def _trace(curve: Curve, colour: str, label: dict) -> go.Scatter:
    style = KINDS[curve.kind]
    return go.Scatter(
        x=list(curve.nbytes),
        y=list(curve.seconds),
        name=f"{curve.name}, {curve.kind}",
        line={**style["line"], "color": colour},
        marker={**style["marker"], "color": colour, "line": {"width": 2, "color": colour}},
        hovertext=[f"{nbytes_text(n)}: {seconds_text(t)}" for n, t in zip(curve.nbytes, curve.seconds, strict=True)],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
        **({"mode": "lines+markers"} | label),
    )


def _label(curve: Curve, curves: Sequence[Curve]) -> dict:
    """The name at the line's end instead of a legend: predictions at their first point, measurements at their last."""
    first = curve.kind == "prediction"
    beside = [c.seconds[0 if first else -1] for c in curves if (c.kind == "prediction") == first]
    upper = curve.seconds[0 if first else -1] >= max(beside)
    at, place = (0, "right") if first else (len(curve.seconds) - 1, "left")
    if not (first or upper):  # times rise to the right, so under a line there is room only in its middle
        at, place = len(curve.seconds) // 2, "center"
    text = [""] * len(curve.seconds)
    text[at] = f"{curve.name}, {curve.kind}"
    return {"mode": "lines+markers+text", "text": text, "textposition": f"{'top' if upper else 'bottom'} {place}"}


def _ticks(values: Sequence[float], base: int, text) -> dict:
    """Ticks at powers of `base` across the data, spelled with their unit."""
    low, high = (math.log(f(values), base) for f in (min, max))
    at = [base**k for k in range(math.floor(low + 1e-9), math.ceil(high - 1e-9) + 1)]
    return _spelled(at, text)


def _decades(seconds: Sequence[float]) -> dict:
    """Ticks at powers of ten; where fewer than three of them lie inside the data, between these too, as close as six ticks allow."""
    low, high = min(seconds), max(seconds)
    powers = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    if sum(low <= power <= high for power in powers) >= 3:
        return _ticks(seconds, 10, seconds_text)
    finer = ([m * power for power in powers for m in parts if low / 2 <= m * power <= 2 * high] for parts in BETWEEN)
    return _spelled(next((at for at in finer if len(at) <= MOST), powers), seconds_text)


def _spelled(at: Sequence[float], text) -> dict:
    step = math.ceil(len(at) / MOST)
    return {"tickvals": at[::step], "ticktext": [text(v) for v in at[::step]]}
