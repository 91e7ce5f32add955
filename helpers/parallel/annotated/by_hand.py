"""What the course's own strategies move where a layout says the same as they do: what compilers are held against. Chapter: annotations.

The formulas are those of data, sharded, tensor and meshes, for one step. Where the batch is cut, a loss that everybody reads costs one
all_reduce of a number more, which the strategies leave out of their count.
"""

from __future__ import annotations

from fractions import Fraction

from helpers.collectives import PRIMITIVES
from helpers.parallel import data, meshes, sharded, tensor
from helpers.parallel.reference import Training

from .layouts import Layout

Moves = dict[str, tuple[int, Fraction]]  # of an operation: calls, bytes that a rank sends


def by_hand(training: Training, layout: Layout, nranks: int) -> Moves:
    """Of one step on one rank. ValueError for sizes that the ranks do not divide."""
    layout.check(training, nranks)
    one = training.but(steps=1)
    found = _mesh(one, layout, nranks) if len(layout.axes) > 1 else _one_axis(one, layout, nranks)
    if layout.batch[0]:
        ndata = layout.parts(layout.batch[0], nranks)
        calls, sent = found.get("all_reduce", (0, Fraction(0)))
        found["all_reduce"] = calls + 1, sent + _sent("all_reduce", training.itemsize, ndata)
    return found


def total(moves: Moves) -> Fraction:
    """Bytes of all operations."""
    return sum((sent for _, sent in moves.values()), Fraction(0))


def _one_axis(training: Training, layout: Layout, nranks: int) -> Moves:
    if not layout.batch[0]:
        paper = tensor.ours.predicted(training, nranks, way="pairs" if len(layout.weights) > 1 else "gathered")
    elif any(layout.weights[0]):
        paper = sharded.fsdp2.predicted(training, nranks, how=sharded.How(reshard=layout.remat))
    else:
        paper = data.naive.predicted(training, nranks)
    return {op: (calls, Fraction(paper.sent[op])) for op, calls in paper.calls.items() if calls}


def _mesh(training: Training, layout: Layout, nranks: int) -> Moves:
    """Pairs among tensor ranks, for a replica's samples, and for each slice of a gradient a sum among data ranks."""
    ndata, ntensor = layout.sizes(nranks)
    axes = meshes.Axes(replica=ndata, tensor=ntensor)
    inside = meshes.by_axis(training, nranks, axes=axes)["tensor"]["all_reduce"]
    shapes = training.model.shapes
    slices = [layout.share(shapes[f"{i}.weight"], layout.weight(i), nranks) for i in range(training.model.depth)]
    across = sum(_sent("all_reduce", n * training.itemsize, ndata) for n in slices)
    return {"all_reduce": (inside[0] + len(slices), inside[1] + across)}


def _sent(op: str, nbytes: int, nranks: int) -> Fraction:
    return PRIMITIVES[op].least(0, nranks, 0)[0] * nbytes
