"""How long each stage of something takes, one after the other: a bar per case, its stages end to end. Chapter: hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from helpers.units import seconds_text
from helpers.view.figures.lanes import _ticks
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

FILLS = ("edge", "accent", "muted", "line")  # a stage keeps its fill in every bar
ROOM = 1.35  # of the longest bar: the axis, with room for the words behind it


def stages(cases: Mapping[str, Sequence[tuple[str, float]]], title: str) -> go.Figure:
    """cases: by name, from the top, the (stage, seconds) of each in order; a stage that comes twice keeps its fill.

    ValueError for no case, more than four different stages, or seconds below 0.
    """
    names = list(dict.fromkeys(stage for case in cases.values() for stage, _ in case))
    if not names or len(names) > len(FILLS):
        raise ValueError(f"a figure of stages wants 1 to {len(FILLS)} different ones, got {names}")
    if wrong := [(name, s) for name, case in cases.items() for s in case if not s[1] >= 0]:
        raise ValueError(f"{wrong[0][0]}: a stage lasts 0 s or more, got {wrong[0][1]!r}")
    totals = {name: sum(seconds for _, seconds in case) for name, case in cases.items()}
    figure = go.Figure(layout={"template": plotly_template(), "title": title, "barmode": "stack"})
    for stage in names:
        figure.add_trace(_bars(stage, FILLS[names.index(stage)], cases))
    figure.add_trace(_ends(totals))
    ticks = _ticks(max(totals.values()))
    figure.update_xaxes(title="time", **ticks | {"range": [0, max(totals.values()) * ROOM]})
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=[*cases][::-1])
    figure.update_layout(
        height=160 + 44 * len(cases),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        margin={"t": 80},
    )
    figure.update_layout(tabled(("stage", "name"), ("case", "y"), ("time", "x", "s")))
    return figure


def _bars(stage: str, fill: str, cases: Mapping[str, Sequence[tuple[str, float]]]) -> go.Bar:
    seconds = {name: sum(t for s, t in case if s == stage) for name, case in cases.items()}
    return go.Bar(
        orientation="h",
        name=stage,
        y=list(seconds),
        x=list(seconds.values()),
        width=0.55,
        marker={"color": colour(fill), "line": {"width": 1, "color": colour("edge")}},
        hovertext=[f"{seconds_text(t)}: {name}" for name, t in seconds.items()],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
    )


def _ends(totals: Mapping[str, float]) -> go.Scatter:
    """What each case takes in all, behind its bar."""
    return go.Scatter(
        x=list(totals.values()),
        y=list(totals),
        mode="text",
        name="in all",
        text=[f" {seconds_text(t)}" for t in totals.values()],
        textposition="middle right",
        textfont={"color": colour("ink")},
        showlegend=False,
        hovertext=[f"{seconds_text(t)}: {name}" for name, t in totals.items()],
        hoverinfo="skip",
    )
