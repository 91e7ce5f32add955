"""Y = X W with both matrices cut among ranks: how they are cut decides which collective. Chapter: tensor-parallel.

Y[b, o] = sum over i of X[b, i] W[i, o]. The inner dimension i is summed over and gone from Y; b and o stay. Each matrix is cut along one
of its two dimensions or not at all, over the same ranks:

1. nobody cuts i, and at most one of b and o is cut: every rank has what its part of Y needs. Nothing moves; Y is cut as they are.
2. one of them cuts i: its ranks have terms of the sum that the other cannot match whole. Here it is gathered first: all_gather.
   (The other may be cut to match instead, for nothing, since every rank has it whole: then it is case 3.)
3. both cut i: each rank multiplies what it has and gets a partial sum of all of Y: all_reduce, or reduce_scatter if Y is to be cut.
4. X cuts b and W cuts o: rank r would get block (r, r) of Y only, and nobody the others. One of them is gathered first: all_gather.

The four cases are those of "How to Scale Your Model", part 3 (https://jax-ml.github.io/scaling-book/sharding/).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.parallel.checks import divides

from .conjugates import all_gather, all_reduce, reduce_scatter

X_DIMS, W_DIMS, Y_DIMS = "bi", "io", "bo"  # the names of the dimensions of X, W and Y, in their order


class Case(NamedTuple):
    """number: 1 to 4, as above. gathers: "X", "W" or "", what is gathered before. after: the collective on the product, or "".
    y: the dimension along which Y is cut in the end, "" where every rank has all of it."""

    number: int
    gathers: str
    after: str
    y: str


def case(x: str, w: str, y: str = "") -> Case:
    """What has to move. x: along which of "b" and "i" X is cut, w: along which of "i" and "o" W is; "" for not at all.

    y: where both cut i, along which of "b" and "o" Y shall be cut. In case 4 X is gathered. ValueError for another dimension.
    """
    for name, dim, dims in (("X", x, X_DIMS), ("W", w, W_DIMS), ("Y", y, Y_DIMS)):
        if dim not in ("", *dims):
            raise ValueError(f"{name} is cut along {dims[0]!r}, {dims[1]!r} or '', got {dim!r}")
    if y and (x, w) != ("i", "i"):
        raise ValueError(f"Y is cut as its factors leave it unless both cut 'i': got y={y!r} with x={x!r} and w={w!r}")
    if x == w == "i":
        return Case(3, "", "reduce_scatter" if y else "all_reduce", y)
    if x == "i":
        return Case(2, "X", "", w)
    if w == "i":
        return Case(2, "W", "", x)
    return Case(4, "X", "", w) if x and w else Case(1, "", "", x or w)


def matmul(x: Tensor, w: Tensor, cut: Case, dims: tuple[str, str], group: dist.ProcessGroup) -> Tensor:
    """Inside a rank: its part of Y. x, w: its parts of X and W; dims: along which they are cut, as `case` was told."""
    if cut.gathers == "X":
        x = all_gather(x, X_DIMS.index(dims[0]), group)
    if cut.gathers == "W":
        w = all_gather(w, W_DIMS.index(dims[1]), group)
    y = x @ w
    if cut.after == "all_reduce":
        return all_reduce(y, group)
    return reduce_scatter(y, Y_DIMS.index(cut.y), group) if cut.after else y


def sent(cut: Case, sizes: tuple[int, int, int], nranks: int, itemsize: int) -> Fraction:
    """Bytes that each rank sends. sizes: of b, i and o, whole. ValueError for sizes that nranks do not divide."""
    b, i, o = sizes
    for name, size in zip("bio", sizes, strict=True):
        divides(nranks, "ranks", size, name)
    n = {"X": b * i, "W": i * o}.get(cut.gathers, b * o)
    times = {"": 0, "all_reduce": 2, "reduce_scatter": 1}[cut.after] + bool(cut.gathers)
    return Fraction(times * (nranks - 1) * n * itemsize, nranks)


def part(whole: Tensor, dim: str, dims: str, rank: int, nranks: int) -> Tensor:
    """A rank's part of a matrix whose dimensions are called dims, cut along dim ("": all of it)."""
    return torch.chunk(whole, nranks, dims.index(dim))[rank] if dim else whole
