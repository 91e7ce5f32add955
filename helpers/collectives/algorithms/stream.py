"""Chunks that follow each other down the edges of one tree or two, so that no rank sends or receives twice in a step. Chapter: trees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ..schedule import Schedule
from ..transfers import Transfer, whole
from .shapes import Tree, depths


class Edge(NamedTuple):
    """In tree number `tree`, `up` sends to `rank`; level: how far `up` is from the root."""

    level: int
    tree: int
    up: int
    rank: int


def stream(nranks: int, trees: Sequence[Tree], nchunks: int, last_first: bool = False) -> Schedule:
    """Down all trees at once: tree k carries every len(trees)-th chunk, from chunk k on. Not named yet.

    Every edge has a beat, 0 or 1, and carries a chunk every second step (every step, where one beat is enough).
    """
    whole("nranks", nranks, 1)
    whole("nchunks", nchunks, 1)
    steps = defaultdict(list)
    for edge, first, period in _timetable(trees):
        chunks = _carried(edge.tree, trees, nchunks)
        for i, chunk in enumerate(reversed(chunks) if last_first else chunks):
            steps[first + period * i].append(Transfer(edge.up, edge.rank, chunk))
    return Schedule(None, None, nranks, nchunks, tuple(tuple(steps[t]) for t in sorted(steps)))


def stream_up(nranks: int, trees: Sequence[Tree], nchunks: int) -> Schedule:
    """The stream down read backwards, in which the last chunk of each tree was sent first."""
    return stream(nranks, trees, nchunks, last_first=True).backwards("reduce")


def up_and_down(nranks: int, trees: Sequence[Tree], nchunks: int) -> Schedule:
    """An all_reduce, once it is named: up to the roots, then down from them."""
    return stream_up(nranks, trees, nchunks) + stream(nranks, trees, nchunks)


def stream_steps(trees: Sequence[Tree], nchunks: int) -> int:
    """How many steps `stream` takes, counted on the edges alone."""
    starts = {(edge.tree, first, period) for edge, first, period in _timetable(trees)}
    return len({first + period * i for k, first, period in starts for i in range(len(_carried(k, trees, nchunks)))})


def _carried(k: int, trees: Sequence[Tree], nchunks: int) -> range:
    return range(k, nchunks, len(trees))


def _timetable(trees: Sequence[Tree]) -> list[tuple[Edge, int, int]]:
    """(edge, its first step, the steps from one chunk to the next) of every edge."""
    levels = [depths(tree) for tree in trees]
    edges = sorted(
        Edge(levels[k][up], k, up, rank) for k, tree in enumerate(trees) for rank, up in enumerate(tree) if up >= 0
    )
    beats = _beats(edges)
    period = max(beats, default=0) + 1
    return [(edge, period * edge.level + beat, period) for edge, beat in zip(edges, beats, strict=True)]


def _beats(edges: list[Edge]) -> list[int]:
    """0 or 1 for every edge, so that no two of a beat share a sender or a receiver.

    A rank has at most two edges out and two in, over all trees; so edges that share an end form paths and even cycles, and
    along these the beats take turns, from the edge that is nearest to a root: beat k in tree k.
    """
    sharing = defaultdict(list)
    for e, edge in enumerate(edges):
        sharing["from", edge.up].append(e)
        sharing["to", edge.rank].append(e)
    beats = [-1] * len(edges)
    for start, edge in enumerate(edges):
        todo = [(start, edge.tree)]
        while todo:
            e, beat = todo.pop()
            if beats[e] < 0:
                beats[e] = beat
                ends = (*sharing["from", edges[e].up], *sharing["to", edges[e].rank])
                todo += [(other, 1 - beat) for other in ends if other != e]
    return beats
