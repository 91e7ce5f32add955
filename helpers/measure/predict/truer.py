"""Operators of which torch's own meta kernels say something else than a CPU and CUDA do. Chapters: training-memory, too-big.

Larger, or fewer: some kernels make their result in their input's shape, compute, and cut it down; the block stays as large, as long as
the result lives. Of 526 operators that torch's own samples call on a CPU (torch.testing, 2.13) these and those of like_cpu differ in bytes.

Apart: some are taken apart on meta tensors though a CPU or a GPU has a kernel for them; here stands what that one keeps and makes.
They are apart before the tracker hears of them, so they are caught above, at autograd's key. So nobody passes by, however he came by the
function. (As torch's dispatcher tells it, 2.11 to 2.15: composite, with a CPU kernel, are attention, mish's backward and a channel shuffle
that only mobile builds call; a CPU's attention is a kernel of other name.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod

import torch
from torch import Tensor

from helpers.patches import COMPOSITE

aten = torch.ops.aten
_standing: list[torch.library.Library] = []


def col2im(x: Tensor, size: list[int], kernel: list[int], *_: object) -> Tensor | None:
    """fold's result, and the gradient of unfold (ATen/native/Col2Im.cpp and cuda/Col2Im.cu)."""
    return _cut(x, (*x.shape[:-2], x.shape[-2] // prod(kernel), *size)) if x.is_meta else None


def loss(x: Tensor, *others: object) -> Tensor | None:
    """A mean or a sum over everything: one number (ATen/native/Loss.cpp)."""
    return None if _reduction(others) == 0 or not x.is_meta else _cut(x, ())


def smooth_loss(x: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Tensor | None:
    """As loss."""
    return loss(x, reduction)


def _reduction(others: tuple) -> object:
    """1, a mean, where nothing is said; it comes last, behind tensors."""
    last = others[-1]
    return 1 if last is None or isinstance(last, Tensor) else last


def _cut(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    block = torch.empty(max(x.numel(), prod(shape)), dtype=x.dtype, device="meta")
    return block[: prod(shape)].view(shape)


def batch_norm_backward(grad: Tensor, x: Tensor, weight: Tensor | None, *rest: object) -> tuple | None:
    """(dx, dweight, dbias), None where nobody asks: a first layer's input wants no gradient."""
    if not x.is_meta or rest[-1][0]:
        return None
    made = aten.native_batch_norm_backward(grad, x, weight, *rest)
    return None, *made[1:]


TRUER = {
    aten.col2im.default: col2im,
    aten.native_batch_norm_backward.default: batch_norm_backward,
    aten.binary_cross_entropy.default: loss,
    aten.mse_loss.default: loss,
    aten.soft_margin_loss.default: loss,
    aten.smooth_l1_loss.default: smooth_loss,
}


# apart -------------------------------------------------------------------------------------------------------------------
@contextmanager
def with_kernels(attention: Callable[..., Tensor]) -> Iterator[None]:
    """Inside, these operators on meta tensors are kernels, attention that one; it may be nested, and the outermost stays."""
    if _standing:
        yield
        return
    library = torch.library.Library("aten", "IMPL")
    COMPOSITE.of_operator(library, "scaled_dot_product_attention", attention)
    COMPOSITE.of_operator(library, "mish_backward", _mish_backward)
    _standing.append(library)
    try:
        yield
    finally:
        _standing.pop()._destroy()


def _mish_backward(grad: Tensor, x: Tensor) -> Tensor:
    return torch.empty_like(x)
