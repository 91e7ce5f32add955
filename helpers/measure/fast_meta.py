"""Elementwise operators on meta tensors in microseconds: their result's shape, and nothing else.

torch asks its Python references for the shape of x * y, 130 us a time, and imports a compiler first (a second). Here the common
cases are answered directly; every other case goes to torch. A test compares shape, strides and type of both. Chapters: too-big.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
SAME_TYPE = {
    aten.mul.Tensor,
    aten.mul.Scalar,
    aten.add.Tensor,
    aten.sub.Tensor,
    aten.div.Tensor,
    aten.neg.default,
    aten.sqrt.default,
    aten.silu_backward.default,
}
IN_PLACE = {
    aten.mul_.Tensor,
    aten.add_.Tensor,
    aten.lerp_.Scalar,
    aten.addcmul_.default,
    aten.addcdiv_.default,
}


class FastMeta(TorchDispatchMode):
    """Inside, the listed operators are answered here where all their tensors are of one floating type on meta."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: wrapping this method would import torch's compiler, which takes longer than a prediction."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in IN_PLACE and args[0].is_meta:
            return args[0]
        if func in SAME_TYPE and not kwargs:
            made = elementwise(args)
            if made is not None:
                return made
        if func in SHAPES and not kwargs:
            made = SHAPES[func](*args)
            if made is not None:
                return made
        return func(*args, **(kwargs or {}))


@contextmanager
def without_compiler() -> Iterator[None]:
    """Optimizers without the wrappers that import torch.compile's machinery (0.9 s) only to say that it shall not look at them."""
    with ExitStack() as patches:
        for name in ("add_param_group", "zero_grad"):
            plain = getattr(Optimizer, name)
            patches.enter_context(mock.patch.object(Optimizer, name, getattr(plain, "__wrapped__", plain)))
        yield


def elementwise(args: tuple) -> Tensor | None:
    """An empty tensor with the shape, strides and type of the result, or None where the answer is not plain."""
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    first = tensors[0]
    if not first.is_floating_point() or any(not t.is_meta or t.dtype != first.dtype for t in tensors):
        return None
    if any(isinstance(arg, complex) for arg in args):
        return None
    shape = first.shape
    if any(t.shape != shape for t in tensors):
        shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    if all(_in_order(t) for t in tensors):
        return torch.empty(shape, dtype=first.dtype, device="meta")
    return None


def cat(tensors: list[Tensor], dim: int = 0) -> Tensor | None:
    """As elementwise, for tensors that differ along `dim` only."""
    first = tensors[0]
    if any(not (t.is_meta and t.dtype == first.dtype and t.dim() == first.dim() and _in_order(t)) for t in tensors):
        return None
    shape = list(first.shape)
    shape[dim] = sum(t.shape[dim] for t in tensors)
    return torch.empty(shape, dtype=first.dtype, device="meta")


def layer_norm(x: Tensor, shape: list[int], weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple | None:
    """(result, mean, 1/deviation): two fp32 numbers a row."""
    if not (x.is_meta and _in_order(x)) or x.dtype == torch.float64:
        return None
    rows = (*x.shape[: x.dim() - len(shape)], *(1,) * len(shape))
    statistics = (torch.empty(rows, dtype=torch.float32, device="meta") for _ in range(2))
    return torch.empty(x.shape, dtype=x.dtype, device="meta"), *statistics


def layer_norm_backward(grad, x, shape, mean, rstd, weight, bias, mask) -> tuple | None:
    """(dx, dweight, dbias), None where nobody asks."""
    if not (x.is_meta and _in_order(x)):
        return None
    shapes = (x.shape, shape, shape)
    return tuple(
        torch.empty(one, dtype=x.dtype, device="meta") if wanted else None
        for one, wanted in zip(shapes, mask, strict=True)
    )


def addmm(bias: Tensor, left: Tensor, right: Tensor) -> Tensor | None:
    """bias + left @ right, row by row."""
    if not left.is_meta or left.dtype != right.dtype:
        return None
    return torch.empty((left.shape[0], right.shape[1]), dtype=left.dtype, device="meta")


def dropout(x: Tensor, p: float, train: bool | None) -> tuple | None:
    """(result, mask of one byte an element)."""
    if not (x.is_meta and train and _in_order(x)):
        return None
    return tuple(torch.empty(x.shape, dtype=dtype, device="meta") for dtype in (x.dtype, torch.bool))


def _in_order(tensor: Tensor) -> bool:
    """Strides never rise from left to right: then an elementwise result is laid out row by row. Broadcast dims do not count."""
    last = None
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        if size == 1 or stride == 0:
            continue
        if last is not None and stride > last:
            return False
        last = stride
    return True


SHAPES = {
    aten.cat.default: cat,
    aten.addmm.default: addmm,
    aten.native_layer_norm.default: layer_norm,
    aten.native_layer_norm_backward.default: layer_norm_backward,
    aten.native_dropout.default: dropout,
}
