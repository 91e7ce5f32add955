"""Y = X W with both matrices cut among ranks, run: the four cases of helpers.collectives.product. Chapter: tensor-parallel."""

from __future__ import annotations

from fractions import Fraction

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.collectives.product import W_DIMS, X_DIMS, Y_DIMS, Case, case
from helpers.parallel.checks import divides

from .conjugates import all_gather, all_reduce, reduce_scatter

__all__ = ["W_DIMS", "X_DIMS", "Y_DIMS", "Case", "case", "matmul", "part", "sent"]


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
