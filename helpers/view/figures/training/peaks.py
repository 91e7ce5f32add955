"""Peaks beside each other, each as a bar of its classes, in the colours of the memory widget. Chapter: too-big.

Plain data in, a plotly Figure out.
"""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from helpers.facts import Accelerator
from helpers.memory import CLASSES, Peak
from helpers.units import GIB, nbytes_text
from helpers.view.figures.limits import capacity_line
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

PLURAL = {"parameter": "parameters", "gradient": "gradients", "activation": "activations"}
BELOW = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top", "traceorder": "normal"}
ROW = 38  # px


def peaks(found: Mapping[str, Peak], title: str, device: Accelerator | None = None) -> go.Figure:
    """One bar for each named peak, top to bottom in the order given, classes stacked as a trace stacks them; in GiB.

    device: its memory is a dashed line. ValueError for no peak.
    """
    if not found:
        raise ValueError("a picture of peaks needs a peak, got none")
    layout = go.Layout(
        template=plotly_template(), title=title, barmode="stack", legend=BELOW, height=140 + ROW * len(found)
    )
    bars = [_bar(cls, found) for cls in CLASSES if any(peak.by_class[cls] for peak in found.values())]
    figure = go.Figure(bars, layout)
    figure.update_xaxes(title="GiB at the peak", showgrid=True)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    if device:
        capacity_line(figure, device)
    figure.update_layout(tabled(("class", "name"), ("step", "y"), ("held at its peak", 0, "B")))
    return figure


def _bar(cls: str, found: Mapping[str, Peak]) -> go.Bar:
    sizes = [peak.by_class[cls] for peak in found.values()]
    return go.Bar(
        name=cls,
        y=list(found),
        x=[round(size / GIB, 2) for size in sizes],
        orientation="h",
        customdata=[[size] for size in sizes],
        marker={"color": colour(f"memory-{PLURAL.get(cls, cls)}"), "line": {"width": 0}},
        hovertext=[f"{name}: {nbytes_text(size)}" for name, size in zip(found, sizes, strict=True)],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
    )
