"""Rounds that follow each other through stages of equal length: who is where when. Chapter: inside-nccl."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from helpers.units import seconds_text
from helpers.view.figures.lanes import _ticks
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

MOST = 16  # rounds whose numbers have room on a phone
THICK = 0.5  # of a lane's height
LOOKS = (("accent", "page"), ("page", "ink"))  # fill and ink of even and odd rounds


def pipeline(names: Sequence[str], rounds: int, stage: float, begin: float, title: str) -> go.Figure:
    """One lane a stage, from the top; round i is in stage k from begin + (i + k) * stage seconds on, for a stage.

    ValueError for no stage, 1 to 16 rounds, or seconds that are none.
    """
    if not names or not 1 <= rounds <= MOST:
        raise ValueError(f"a pipeline has stages and 1 to {MOST} rounds, got {len(names)} and {rounds}")
    if not (stage > 0 and begin >= 0):
        raise ValueError(f"a stage takes some seconds and begins at 0 or later, got {stage!r} and {begin!r}")
    figure = go.Figure(
        layout={"template": plotly_template(), "title": title, "barmode": "overlay", "showlegend": False}
    )
    for k, name in enumerate(names):
        figure.add_trace(_lane(name, [begin + (i + k) * stage for i in range(rounds)], stage))
    figure.update_xaxes(title="time", **_ticks(begin + (rounds + len(names) - 1) * stage))
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=[*names][::-1])
    figure.update_layout(height=130 + 56 * len(names))
    figure.update_layout(tabled(("stage", "name"), ("round", "text"), ("from", "base", "s"), ("to", "end", "s")))
    return figure


def _lane(name: str, starts: Sequence[float], stage: float) -> go.Bar:
    looks = [LOOKS[i % 2] for i in range(len(starts))]
    return go.Bar(
        orientation="h",
        name=name,
        y=[name] * len(starts),
        base=list(starts),
        x=[stage] * len(starts),
        width=THICK,
        text=[str(i + 1) for i in range(len(starts))],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"color": [colour(ink) for _, ink in looks]},
        marker={"color": [colour(fill) for fill, _ in looks], "line": {"width": 1, "color": colour("accent")}},
        hovertext=[
            f"round {i + 1}, {name}: {seconds_text(t)} to {seconds_text(t + stage)}" for i, t in enumerate(starts)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )
