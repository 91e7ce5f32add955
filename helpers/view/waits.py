"""Who waits for whom: ranks on a circle, an arrow from each to those it waits for. Chapter: hangs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from .tokens import colour, plotly_template

SIZE = 34  # px of a rank's square
SHORT = 0.16  # of the circle's radius that an arrow keeps away from the squares at its ends
KINDS = {"waits": ("well", "edge", "ink"), "is missing": ("page", "wrong", "wrong")}  # fill, outline, number
UNSEEN = {"visible": False, "range": [-1.3, 1.3]}


def waits_for(edges: Mapping[int, Sequence[int]], title: str) -> go.Figure:
    """A wait-for graph. edges: for every rank that waits, the ranks that it waits for; a rank that waits for nobody is missing.

    ValueError when there is no edge, or a rank waits for itself.
    """
    if not any(edges.values()):
        raise ValueError("a wait-for graph wants at least one rank that waits for another")
    if itself := [rank for rank, others in edges.items() if rank in others]:
        raise ValueError(f"rank {itself[0]} cannot wait for itself")
    ranks = sorted({*edges, *(other for others in edges.values() for other in others)})
    at = {rank: _place(i, len(ranks)) for i, rank in enumerate(ranks)}
    layout = go.Layout(template=plotly_template(), title=title, height=420, showlegend=True)
    figure = go.Figure(layout=layout)
    for rank in ranks:
        for other in edges.get(rank, ()):
            figure.add_trace(_arrow(at[rank], at[other], rank, other))
    for kind in KINDS:
        if found := [rank for rank in ranks if bool(edges.get(rank)) == (kind == "waits")]:
            figure.add_trace(_squares(kind, found, at, edges))
    figure.update_xaxes(title="rank", **UNSEEN)
    figure.update_yaxes(title="waits for", scaleanchor="x", **UNSEEN)
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"})
    return figure


def _place(i: int, n: int) -> tuple[float, float]:
    """The first at the top, the others clockwise."""
    angle = math.pi / 2 - 2 * math.pi * i / n
    return round(math.cos(angle), 4), round(math.sin(angle), 4)


def _arrow(start: tuple[float, float], end: tuple[float, float], rank: int, other: int) -> go.Scatter:
    (x0, y0), (x1, y1) = start, end
    short = min(SHORT / math.dist(start, end), 0.4)
    xs, ys = ([round(a + f * (b - a), 4) for f in (short, 1 - short)] for a, b in ((x0, x1), (y0, y1)))
    ink = colour("muted")
    return go.Scatter(
        x=xs,
        y=ys,
        mode="lines+markers",
        name=f"{rank} to {other}",
        line={"color": ink, "width": 2},
        marker={"symbol": "arrow", "angleref": "previous", "size": [0, 14], "color": ink},
        hoverinfo="skip",
        hovertext=[],
        showlegend=False,
    )


def _squares(kind: str, ranks: list[int], at: Mapping, edges: Mapping[int, Sequence[int]]) -> go.Scatter:
    fill, outline, ink = (colour(name) for name in KINDS[kind])
    return go.Scatter(
        x=[at[rank][0] for rank in ranks],
        y=[at[rank][1] for rank in ranks],
        mode="markers+text",
        name=kind,
        text=[str(rank) for rank in ranks],
        textfont={"color": ink},
        marker={"symbol": "square", "size": SIZE, "color": fill, "line": {"width": 2, "color": outline}},
        hovertext=[f"{rank}: {_others(edges.get(rank, ()))}" for rank in ranks],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
    )


def _others(others: Sequence[int]) -> str:
    return " and ".join(str(other) for other in others) or "nobody"
