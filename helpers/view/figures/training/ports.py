"""What leaves each rank: counted bytes as bars, predicted ones as hollow marks, a group for each way. Chapter: data-parallel.

Plain data in, a plotly Figure out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from helpers.units import MIB, nbytes_text
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template, rank_colour

ROW = 26  # px


class Port(NamedTuple):
    """Bytes that one rank sends: as counted, and as predicted."""

    counted: float
    predicted: float


def ports(ways: Mapping[str, Sequence[Port]], title: str) -> go.Figure:
    """ways: by name, from the top, the ports of ranks 0, 1, ... ValueError for no way, and for one without ranks."""
    if not ways or not all(ways.values()):
        raise ValueError(f"a figure of ports wants ways with ranks, got { ({n: len(p) for n, p in ways.items()}) }")
    rows = [(name, rank, port) for name, found in ways.items() for rank, port in enumerate(found)]
    places = [[name for name, _, _ in rows], [f"rank {rank}" for _, rank, _ in rows]]
    layout = go.Layout(template=plotly_template(), title=title, height=150 + ROW * len(rows))
    figure = go.Figure([_counted(places, rows), _predicted(places, rows)], layout)
    figure.update_xaxes(title="MiB sent", rangemode="tozero", showgrid=True)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}, showlegend=True)
    figure.update_layout(tabled(("bytes", "name"), ("rank", "hover"), ("sent", 0, "B")))
    return figure


def _counted(places: list[list[str]], rows: list[tuple[str, int, Port]]) -> go.Bar:
    sent = [port.counted for _, _, port in rows]
    return go.Bar(
        name="counted",
        orientation="h",
        y=places,
        x=[n / MIB for n in sent],
        marker={"color": [rank_colour(rank) for _, rank, _ in rows], "line": {"width": 0}},
        **_said(rows, sent),
    )


def _predicted(places: list[list[str]], rows: list[tuple[str, int, Port]]) -> go.Scatter:
    sent = [port.predicted for _, _, port in rows]
    return go.Scatter(
        name="predicted",
        mode="markers",
        y=places,
        x=[n / MIB for n in sent],
        marker={"symbol": "diamond-open", "size": 11, "color": colour("ink"), "line": {"width": 2}},
        **_said(rows, sent),
    )


def _said(rows: list[tuple[str, int, Port]], sent: list[float]) -> dict:
    return {
        "customdata": [[n] for n in sent],
        "hovertext": [f"{nbytes_text(n)}: {name}, rank {rank}" for (name, rank, _), n in zip(rows, sent, strict=True)],
        "hovertemplate": "%{hovertext}<extra>%{fullData.name}</extra>",
    }
