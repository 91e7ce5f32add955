"""Which engines bytes pass on their way to another GPU, and who orders it: filled what they pass, hollow who posts. Chapter: who-moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import plotly.graph_objects as go

from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

ROW = -0.62  # of a way, whose height is 1: where its line runs; its name stands above
SIDE = 22  # of an engine's square in pixels
OFF = 0.13  # how far below the line the engines' names stand
UNSEEN = {"visible": False, "fixedrange": True}


class Way(Protocol):
    """What is read of a mover of helpers.nccl.movers."""

    @property
    def name(self) -> str: ...
    @property
    def touches(self) -> tuple[str, ...]: ...
    @property
    def orders(self) -> str: ...
    @property
    def adds(self) -> str: ...


def engines(ways: Sequence[Way], columns: Sequence[str], title: str, since: Mapping[str, str] | None = None) -> go.Figure:
    """One row for every way, the engines in the order of `columns`, between the memories of two GPUs.

    since: by the way's name, what stands behind it. ValueError for no way, or an engine that is no column.
    """
    if not ways:
        raise ValueError("a picture of engines wants at least one way")
    for way in ways:
        if unknown := [one for one in (*way.touches, way.orders) if one not in columns]:
            raise ValueError(f"{way.name}: {unknown[0]!r} is none of the columns {', '.join(columns)}")
    figure = go.Figure(layout={"template": plotly_template(), "title": title, "showlegend": False})
    for i, way in enumerate(ways):
        figure.add_traces([*_row(way, columns, -i), _headline(way, (since or {}).get(way.name, ""), -i)])
    figure.update_layout(height=64 + 92 * len(ways), margin={"l": 8, "r": 8, "t": 48, "b": 8})
    figure.update_xaxes(range=[-0.6, len(columns) + 1.6], **UNSEEN)
    figure.update_yaxes(range=[-len(ways), 0], **UNSEEN)
    figure.update_layout(tabled(("way", "name"), ("the bytes pass", 0), ("orders", 1), ("adds", 2)))
    return figure


def _row(way: Way, columns: Sequence[str], top: float) -> list[go.Scatter]:
    """A line from memory to memory through what the bytes pass; who posts, if it is another, stands on it hollow."""
    y, last = top + ROW, len(columns) + 1
    at = {name: x for x, name in enumerate(columns, 1)}
    posts = [] if way.orders in way.touches else [at[way.orders]]
    passed = [at[name] for name in way.touches]
    x = [0, *passed, *posts, last]
    fills = ["page", *["accent"] * len(passed), *["page"] * len(posts), "accent"]
    edges = ["accent", *["accent"] * len(passed), *["edge"] * len(posts), "accent"]
    inner = ["", *["+" if name == way.adds else "" for name in way.touches], *[""] * len(posts), ""]
    names = ["memory", *way.touches, *[way.orders] * len(posts), "memory"]
    return [
        go.Scatter(x=[0, last], y=[y, y], mode="lines", line={"color": colour("accent"), "width": 3}, **_silent()),
        go.Scatter(
            x=x,
            y=[y] * len(x),
            mode="markers+text",
            text=inner,
            textfont={"color": colour("page"), "size": 16},
            marker={
                "symbol": "square",
                "size": SIDE,
                "color": [colour(fill) for fill in fills],
                "line": {"width": 3, "color": [colour(edge) for edge in edges]},
            },
            **_silent(),
        ),
        go.Scatter(
            x=x,
            y=[y - OFF] * len(x),
            mode="text",
            text=[name.replace(" ", "<br>") for name in names],
            textposition="bottom center",
            textfont={"color": [colour("muted" if k in posts else "ink") for k in x]},
            **_silent(),
        ),
    ]


def _silent() -> dict[str, object]:
    return {"hoverinfo": "skip", "hovertext": []}


def _headline(way: Way, since: str, top: float) -> go.Scatter:
    """The row's name; the table says the same as the row."""
    return go.Scatter(
        x=[-0.5],
        y=[top],
        mode="text",
        name=way.name,
        text=[f"<b>{way.name}</b>{': ' + since if since else ''}"],
        textposition="bottom right",
        textfont={"color": colour("ink")},
        customdata=[[", ".join(way.touches), way.orders, way.adds or "nothing"]],
        hoverinfo="skip",
    )
