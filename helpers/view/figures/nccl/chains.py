"""One tree over nodes, and inside every node a chain of GPUs. Chapter: inside-nccl.

NCCL 2.30.7, src/graph/connect.cc (ncclTopoPreset, connectTrees), in the pattern that it calls a balanced tree: a chain's first GPU
speaks to the parent and to the child with the larger number, its second to the child with the smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

NODES, GPUS = 8, 8  # at most, on a phone
WIDE = 0.8  # of a node's place
UNSEEN = {"visible": False, "fixedrange": True}
Point = tuple[float, float]


def chains(parents: Sequence[int], gpus: int, title: str) -> go.Figure:
    """parents: of every node, -1 at the root. gpus: in a node. ValueError for no tree, or for more than has room."""
    _refuse(parents, gpus)
    nnodes = len(parents)
    inside = [(node * gpus + i, node * gpus + i + 1) for node in range(nnodes) for i in range(gpus - 1)]
    across = [(node * gpus, meets(node, up, gpus)) for node, up in enumerate(parents) if up >= 0]
    place = {rank: _place(rank, parents, gpus) for rank in range(nnodes * gpus)}
    figure = go.Figure(layout={"template": plotly_template(), "title": title})
    figure.add_traces([_lines("chain inside a node", inside, place, "edge", 2)])
    figure.add_traces([_lines("tree between nodes", across, place, "accent", 3)])
    figure.add_traces([_gpus(place, parents, gpus)])
    figure.update_layout(height=120 + 84 * (1 + max(_depth(parents, node) for node in range(nnodes))))
    figure.update_layout(showlegend=True, legend={"orientation": "h", "x": 0, "y": 0, "yanchor": "top"})
    figure.update_layout(margin={"l": 8, "r": 8, "b": 48})
    figure.update_xaxes(range=[-0.55, nnodes - 0.45], **UNSEEN)
    figure.update_yaxes(**UNSEEN)
    figure.update_layout(tabled(("what it is", "name"), ("GPU", "text"), ("its peers", "hover")))
    return figure


def _refuse(parents: Sequence[int], gpus: int) -> None:
    if not (1 <= len(parents) <= NODES and 2 <= gpus <= GPUS):
        raise ValueError(f"1 to {NODES} nodes of 2 to {GPUS} GPUs, got {len(parents)} of {gpus}")
    if list(parents).count(-1) != 1 or not all(-1 <= up < len(parents) for up in parents):
        raise ValueError(f"a tree over nodes has one root, whose parent is -1, got {list(parents)}")


def meets(node: int, up: int, gpus: int) -> int:
    """The GPU of the node `up` that speaks to its child `node`."""
    return up * gpus + (1 if node < up else 0)


def _depth(parents: Sequence[int], node: int) -> int:
    depth = 0
    while (node := parents[node]) >= 0:
        depth += 1
        if depth > len(parents):
            raise ValueError(f"the parents run in a circle: {list(parents)}")
    return depth


def _place(rank: int, parents: Sequence[int], gpus: int) -> Point:
    """Nodes side by side, the root on top; in a node the chain's first GPU on the left."""
    node, i = divmod(rank, gpus)
    return round(node + WIDE * (i / (gpus - 1) - 0.5), 3), -float(_depth(parents, node))


def _lines(name: str, pairs: Sequence[tuple[int, int]], place: dict, tone: str, wide: int) -> go.Scatter:
    points: list[tuple[float | None, float | None]] = []
    for a, b in pairs:
        points += [place[a], place[b], (None, None)]
    return go.Scatter(
        x=[x for x, _ in points],
        y=[y for _, y in points],
        mode="lines",
        name=name,
        line={"color": colour(tone), "width": wide},
        hoverinfo="skip",
        hovertext=[],
    )


def _gpus(place: dict, parents: Sequence[int], gpus: int) -> go.Scatter:
    """Squares with the ranks' numbers; the table says who is next to whom."""
    return go.Scatter(
        x=[x for x, _ in place.values()],
        y=[y for _, y in place.values()],
        mode="markers+text",
        name="GPU",
        text=[str(rank) for rank in place],
        textfont={"color": colour("ink"), "size": 10},
        marker={"symbol": "square", "size": 17, "color": colour("page"), "line": {"color": colour("ink"), "width": 1}},
        hovertext=[f"{rank}: {', '.join(map(str, sorted(_peers(rank, parents, gpus))))}" for rank in place],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
        showlegend=False,
    )


def _peers(rank: int, parents: Sequence[int], gpus: int) -> Iterator[int]:
    """Both neighbours in the chain, the parent and the children."""
    node, i = divmod(rank, gpus)
    yield from (rank + d for d in (-1, 1) if 0 <= i + d < gpus)
    if i == 0 and parents[node] >= 0:
        yield meets(node, parents[node], gpus)
    yield from (c * gpus for c, up in enumerate(parents) if up == node and meets(c, up, gpus) == rank)
