"""Y = X W with both matrices cut among ranks: which collective that takes, as plain data. Chapter: tensor-parallel.

Y[b, o] = sum over i of X[b, i] W[i, o]. The inner dimension i is summed over and gone from Y; b and o stay. Each matrix is cut along one
of its two dimensions or not at all, over the same ranks:

1. nobody cuts i, and at most one of b and o is cut: every rank has what its part of Y needs. Nothing moves; Y is cut as they are.
2. one of them cuts i: its ranks have terms of the sum that the other cannot match whole. Here it is gathered first: all_gather.
   (The other may be cut to match instead, for nothing, since every rank has it whole: then it is case 3.)
3. both cut i: each rank multiplies what it has and gets a partial sum of all of Y: all_reduce, or reduce_scatter if Y is to be cut.
4. X cuts b and W cuts o: rank r would get block (r, r) of Y only, and nobody the others. One of them is gathered first: all_gather.

The four cases are those of "How to Scale Your Model", part 3 (https://jax-ml.github.io/scaling-book/sharding/).
`helpers.parallel.tensor.matmul` runs them on ranks, the sketch `product` draws them.
"""

from __future__ import annotations

from typing import NamedTuple

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
