"""Shares of a whole beside each other: what a formula says as an outline, what ranks showed as points. Chapter: pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

BELOW = {"orientation": "h", "x": 0, "y": -0.25, "yanchor": "top"}
ROW = 48  # px


class Share(NamedTuple):
    """name: of the row. predicted: the share by formula; measured: that of every repetition. All from 0 to 1."""

    name: str
    predicted: float
    measured: Sequence[float]


def shares(found: Sequence[Share], title: str, axis: str) -> go.Figure:
    """One row each, top to bottom in the order given. ValueError for no row, and for a share that is none."""
    if not found:
        raise ValueError("a picture of shares needs a row, got none")
    for one in found:
        for value in (one.predicted, *one.measured):
            if not 0 <= value <= 1:
                raise ValueError(f"{one.name}: a share is a number from 0 to 1, got {value!r}")
    layout = go.Layout(template=plotly_template(), title=title, legend=BELOW, height=150 + ROW * len(found))
    figure = go.Figure([_formula(found), _ranks(found)], layout)
    most = max(value for one in found for value in (one.predicted, *one.measured))
    figure.update_xaxes(title=axis, tickformat=".0%", range=[0, 1.08 * most], showgrid=True)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_layout(tabled(("by", "name"), ("of", "y"), ("share", "text")), showlegend=True)
    return figure


def _formula(found: Sequence[Share]) -> go.Bar:
    return go.Bar(
        name="formula",
        y=[one.name for one in found],
        x=[one.predicted for one in found],
        text=[f"{one.predicted:.1%}" for one in found],
        textposition="none",
        orientation="h",
        width=0.6,
        marker={"color": colour("well"), "line": {"width": 2, "color": colour("accent")}},
        hovertemplate="%{y}: %{text}<extra>formula</extra>",
    )


def _ranks(found: Sequence[Share]) -> go.Scatter:
    pairs = [(one.name, value) for one in found for value in one.measured]
    return go.Scatter(
        name="ranks",
        y=[name for name, _ in pairs],
        x=[value for _, value in pairs],
        text=[f"{value:.1%}" for _, value in pairs],
        mode="markers",
        marker={"color": colour("ink"), "size": 9},
        hovertemplate="%{y}: %{text}<extra>ranks</extra>",
    )
