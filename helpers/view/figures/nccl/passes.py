"""What every rank does in every step, by NCCL's own names: a mark a primitive, with the chunk inside. Chapter: inside-nccl."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from helpers.nccl import Fused
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

# What only sends or only receives is hollow; a sum is filled, and one that is finished has a diamond's corners.
LOOKS = {
    "send": ("square", "page", "ink"),
    "copySend": ("square", "page", "ink"),
    "recvReduceSend": ("square", "accent", "page"),
    "recvReduceCopySend": ("diamond", "accent", "page"),
    "recvReduceCopy": ("diamond", "accent", "page"),
    "recvCopySend": ("circle", "muted", "page"),
    "recv": ("circle", "page", "ink"),
}
MOST = 8  # ranks and steps that have room on a phone, with a number in each mark
SIDE = 26  # px
BELOW = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"}


def passes(programs: Sequence[Sequence[Fused]], title: str) -> go.Figure:
    """programs: each rank's primitives, as `helpers.nccl.fused` tells them. ValueError for none, or for more than has room."""
    steps = max((one.step for mine in programs for one in mine), default=-1) + 1
    if not steps or len(programs) > MOST or steps > 2 * MOST:
        raise ValueError(f"a grid of 1 to {MOST} ranks and up to {2 * MOST} steps, got {len(programs)} and {steps}")
    found = [(rank, one) for rank, mine in enumerate(programs) for one in mine]
    names = [name for name in LOOKS if any(one.name == name for _, one in found)]
    figure = go.Figure(layout={"template": plotly_template(), "title": title, "showlegend": True, "legend": BELOW})
    for name in names:
        figure.add_trace(_marks(name, [(rank, one) for rank, one in found if one.name == name]))
    figure.update_layout(height=210 + 44 * len(programs))
    ranks = list(range(len(programs)))
    figure.update_xaxes(title="step", dtick=1, range=[-0.6, steps - 0.4], showgrid=False, zeroline=False)
    figure.update_yaxes(title="rank", tickvals=ranks, autorange=False, range=[ranks[-1] + 0.6, -0.6], zeroline=False)
    figure.update_layout(tabled(("primitive", "name"), ("rank", "y"), ("step", "x"), ("chunk", "text")))
    return figure


def _marks(name: str, found: Sequence[tuple[int, Fused]]) -> go.Scatter:
    symbol, fill, ink = LOOKS[name]
    line = {"width": 2, "color": colour("muted" if symbol == "circle" else "accent")}
    return go.Scatter(
        name=name,
        mode="markers+text",
        x=[one.step for _, one in found],
        y=[rank for rank, _ in found],
        text=[str(one.chunk) for _, one in found],
        textfont={"color": colour(ink), "size": 11},
        marker={"symbol": symbol, "size": SIDE, "color": colour(fill), "line": line},
        hovertext=[f"rank {rank}, step {one.step}: {name} of chunk {one.chunk}" for rank, one in found],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
        cliponaxis=False,
    )
