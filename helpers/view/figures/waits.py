"""Who waits for whom: ranks on a circle, an arrow from each to those it waits for. Chapter: hangs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from helpers.view.figures.drawing import words
from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import NRANK_COLOURS, colour, plotly_template, rank_colour

HALF = 0.15  # of a rank's square, in the circle's radius
ROUND = 0.05  # its corners
APART = 0.19  # of the word from the middle of its square
GAP = 0.24  # that an arrow keeps away from the middle of the squares at its ends
WORD = "is missing"
UNSEEN = {"visible": False, "range": [-1.3, 1.3]}
Edges = Mapping[int, Sequence[int]]


def waits_for(edges: Edges, title: str) -> go.Figure:
    """A wait-for graph. edges: for every rank that waits, the ranks that it waits for; a rank that waits for nobody is missing.

    ValueError when there is no edge, or a rank waits for itself.
    """
    if not any(edges.values()):
        raise ValueError("a wait-for graph wants at least one rank that waits for another")
    if itself := [rank for rank, others in edges.items() if rank in others]:
        raise ValueError(f"rank {itself[0]} cannot wait for itself")
    ranks = sorted({*edges, *(other for others in edges.values() for other in others)})
    at = {rank: _place(i, len(ranks)) for i, rank in enumerate(ranks)}
    waiting = [rank for rank in ranks if edges.get(rank)]
    arrows = [_arrow(at, rank, other) for rank in waiting for other in edges[rank]]
    numbers = [_numbers(kind, found, at, edges) for kind, found in _kinds(ranks, waiting) if found]
    missing = [_word(at[rank]) for rank in ranks if rank not in waiting]
    figure = go.Figure([*arrows, *numbers, *missing], layout={"template": plotly_template(), "title": title})
    squares = [shape for rank in ranks for shape in _squares(rank, *at[rank], rank in waiting)]
    figure.update_layout(shapes=squares, height=400, showlegend=False, margin={"l": 16, "r": 16, "b": 16})
    figure.update_xaxes(UNSEEN)
    figure.update_yaxes(UNSEEN, scaleanchor="x")
    figure.update_layout(tabled(("state", "name"), ("rank", "text"), ("waits for", "hover")))
    return figure


def _kinds(ranks: list[int], waiting: list[int]) -> list[tuple[str, list[int]]]:
    return [("waits", waiting), (WORD, [rank for rank in ranks if rank not in waiting])]


def _place(i: int, n: int) -> tuple[float, float]:
    """The first at the top, the others clockwise."""
    angle = math.pi / 2 - 2 * math.pi * i / n
    return round(math.cos(angle), 4), round(math.sin(angle), 4)


def _arrow(at: Mapping[int, tuple[float, float]], rank: int, other: int) -> go.Scatter:
    short = min(GAP / math.dist(at[rank], at[other]), 0.4)
    xs, ys = ([round(a + f * (b - a), 4) for f in (short, 1 - short)] for a, b in zip(at[rank], at[other], strict=True))
    return go.Scatter(
        x=xs,
        y=ys,
        mode="lines+markers",
        name=f"{rank} to {other}",
        line={"color": colour("muted"), "width": 2},
        marker={"symbol": "arrow", "angleref": "previous", "size": [0, 14], "color": colour("muted")},
        hoverinfo="skip",
        hovertext=[],
    )


def _squares(rank: int, x: float, y: float, waits: bool) -> list[dict]:
    """A rank's rounded square, from rank 8 on with a second line inside; dashed red when it is missing."""
    if not waits:
        line = {"color": colour("wrong"), "width": 2, "dash": "dash"}
        return [_square(x, y, HALF, fillcolor=colour("page"), line=line)]
    inner = {"color": colour(f"on-rank-{rank % NRANK_COLOURS}"), "width": 1}
    outer = _square(x, y, HALF, fillcolor=rank_colour(rank), line={"width": 0})
    return [outer, _square(x, y, HALF * 0.8, line=inner)] if rank >= NRANK_COLOURS else [outer]


def _square(x: float, y: float, half: float, **style: object) -> dict:
    """The outline begins at the left of the top side and runs clockwise; each corner is a curve round its point."""
    far, near = half, half - ROUND
    corners = [((near, far), (far, far), (far, near)), ((far, -near), (far, -far), (near, -far))]
    corners += [tuple((-a, -b) for a, b in corner) for corner in corners]
    text = "".join(
        f"{'L' if i else 'M'}{_xy(x, y, a)}Q{_xy(x, y, b)} {_xy(x, y, c)}" for i, (a, b, c) in enumerate(corners)
    )
    return {"type": "path", "path": text + "Z", "layer": "below", **style}


def _xy(x: float, y: float, by: tuple[float, float]) -> str:
    return f"{x + by[0]:.4g},{y + by[1]:.4g}"


def _numbers(kind: str, ranks: list[int], at: Mapping, edges: Edges) -> go.Scatter:
    """The numbers in the squares; hovering one, and the table, say whom it waits for."""
    inks = [colour("wrong" if kind == WORD else f"on-rank-{rank % NRANK_COLOURS}") for rank in ranks]
    return go.Scatter(
        x=[at[rank][0] for rank in ranks],
        y=[at[rank][1] for rank in ranks],
        mode="text",
        name=kind,
        text=[str(rank) for rank in ranks],
        textfont={"color": inks, "size": 15},
        hovertext=[f"{rank}: {_others(edges.get(rank, ()))}" for rank in ranks],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
    )


def _others(others: Sequence[int]) -> str:
    return " and ".join(str(other) for other in others) or "nobody"


def _word(place: tuple[float, float]) -> go.Scatter:
    """Over the missing one, or under it in the lower half: outside the circle."""
    x, y = place
    over = y > -0.01
    place = (x, y + (APART if over else -APART))
    return words([place], [WORD], f"{'top' if over else 'bottom'} center", "wrong").update(cliponaxis=False)
