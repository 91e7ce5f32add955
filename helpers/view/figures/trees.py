"""Two trees over one line of ranks, the first above it and the second below: who is inner where. Chapter: trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import plotly.graph_objects as go

from helpers.view.figures.twin import tabled
from helpers.view.shared.tokens import colour, plotly_template

WORDS = ("inner", "leaf", "inner in both")
MOST = 16  # ranks that fit side by side on a phone
UNSEEN = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": ""}
Tree = Sequence[int]
Node = tuple[int, int, str, int]  # (0 above or 1 below, rank, its word, how high it stands)


def two_trees(first: Tree, second: Tree, title: str) -> go.Figure:
    """first, second: the parent of every rank, -1 at the root. A rank has the same place on the line in both.

    Filled: inner (it has a child). Hollow: leaf. Red: inner in both. ValueError on trees of different sizes, of more than 16 ranks,
    or without exactly one root.
    """
    trees = (list(first), list(second))
    _refuse(trees)
    nodes = _nodes(trees)
    place = {(tree, rank): (rank, height) for tree, rank, _, height in nodes}
    edges = [(place[tree, up], place[tree, rank]) for tree, rank, *_ in nodes if (up := trees[tree][rank]) >= 0]
    marks = [_marks(word, found, trees) for word in WORDS if (found := [node for node in nodes if node[2] == word])]
    figure = go.Figure([_lines(edges), *marks], layout={"template": plotly_template(), "title": title})
    figure.update_layout(height=400, showlegend=True, legend={"orientation": "h", "x": 0, "y": 0, "yanchor": "top"})
    figure.update_layout(margin={"l": 16, "r": 16, "b": 48})
    figure.add_hline(y=0, line={"color": colour("edge"), "width": 1})
    figure.update_xaxes(UNSEEN)
    figure.update_yaxes(UNSEEN)
    figure.update_layout(tabled(("what it is", "name"), ("rank", "text"), ("where it stands", "hover")))
    return figure


def _refuse(trees: tuple[list[int], list[int]]) -> None:
    sizes = [len(tree) for tree in trees]
    if sizes[0] != sizes[1] or not 2 <= sizes[0] <= MOST:
        raise ValueError(f"two trees over the same 2 to {MOST} ranks, got {sizes[0]} and {sizes[1]} ranks")
    for name, tree in zip(("first", "second"), trees, strict=True):
        if tree.count(-1) != 1:
            raise ValueError(f"a tree has one root, whose parent is -1; the {name} has {tree.count(-1)}")


def _nodes(trees: tuple[list[int], list[int]]) -> list[Node]:
    """Every rank of both trees; the deepest stand nearest to the line."""
    inner = [{up for up in tree if up >= 0} for tree in trees]
    both = inner[0] & inner[1]
    depths = [[_depth(tree, rank) for rank in range(len(tree))] for tree in trees]
    words = [
        [WORDS[2] if rank in both else WORDS[0] if rank in found else WORDS[1] for rank in range(len(trees[0]))]
        for found in inner
    ]
    return [
        (tree, rank, words[tree][rank], (1, -1)[tree] * (max(depths[tree]) - depths[tree][rank] + 1))
        for tree in (0, 1)
        for rank in range(len(trees[tree]))
    ]


def _depth(tree: Tree, rank: int) -> int:
    """Edges up to the root. ValueError where the parents run in a circle."""
    depth, up = 0, tree[rank]
    while up >= 0:
        depth, up = depth + 1, tree[up]
        if depth > len(tree):
            raise ValueError(f"the parents of rank {rank} run in a circle: {list(tree)}")
    return depth


def _lines(edges: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> go.Scatter:
    """One trace for all: a gap after every edge."""
    return go.Scatter(
        x=[x for (upper, _), (lower, _) in edges for x in (upper, lower, None)],
        y=[y for (_, upper), (_, lower) in edges for y in (upper, lower, None)],
        mode="lines",
        name="parent and child",
        line={"color": colour("muted"), "width": 2},
        hoverinfo="skip",
        hovertext=[],
        showlegend=False,
    )


def _marks(word: str, nodes: Sequence[Node], trees: tuple[list[int], list[int]]) -> go.Scatter:
    """The ranks of one kind as squares with their numbers; what hovering one says, its line in the table says too."""
    line, fill, ink = {
        "inner": ("accent", "accent", "page"),
        "leaf": ("accent", "page", "ink"),
        "inner in both": ("wrong", "page", "wrong"),
    }[word]
    return go.Scatter(
        x=[rank for _, rank, *_ in nodes],
        y=[height for *_, height in nodes],
        mode="markers+text",
        name=word,
        text=[str(rank) for _, rank, *_ in nodes],
        textfont={"color": colour(ink), "size": 11},
        marker={"symbol": "square", "size": 19, "color": colour(fill), "line": {"color": colour(line), "width": 2}},
        hovertext=[f"{rank}: {_said(tree, rank, trees[tree])}" for tree, rank, *_ in nodes],
        hovertemplate="%{hovertext}<extra>%{fullData.name}</extra>",
        cliponaxis=False,
    )


def _said(tree: int, rank: int, parents: Tree) -> str:
    """Where the rank stands in that tree, in words."""
    which = ("first", "second")[tree]
    children = Counter(parents)[rank]
    above = "root" if parents[rank] < 0 else f"under {parents[rank]}"
    below = ("no child", "1 child")[children] if children < 2 else f"{children} children"
    return f"{which} tree, {above}, {below}"
