"""Elementwise operators on meta tensors in microseconds: their result's shape, and nothing else.

torch asks its Python references for the shape of x * y, 130 us a time, and imports a compiler first (a second). Here the common
cases are answered directly; every other case goes to torch. A test compares shape, strides and type of both. Chapters: too-big.
"""

from __future__ import annotations

import contextlib
import math
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.patches import OPTIMIZERS

from .layouts import compared, dense, elementwise, in_order
from .truer import TRUER

aten = torch.ops.aten
SAME_TYPE = {
    aten.mul.Tensor,
    aten.mul.Scalar,
    aten.add.Tensor,
    aten.sub.Tensor,
    aten.div.Tensor,
    aten.neg.default,
    aten.sqrt.default,
    aten.cos.default,
    aten.sin.default,
    aten.exp.default,
    aten.logaddexp.default,
    aten.gelu.default,
    aten.gelu_backward.default,
    aten.silu.default,
    aten.silu_backward.default,
}
# Never the line that a reader wants to see; the separator, for torchvision's is.
OURS = (
    *(f"{folder}{os.sep}" for folder in (Path(__file__).parents[2], Path(torch.__file__).parent)),
    contextlib.__file__,
)
STEP, MODULES = str(Path(__file__).with_name("meta_step.py")), f"{Path(nn.__file__).parent}{os.sep}"
NO_MATTER = {"approximate", "alpha"}  # options that change no shape and no type
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
        answer = answers(func)
        made = None if answer is None else answer(args, kwargs)
        return func(*args, **(kwargs or {})) if made is None else made


def answers(func: torch._ops.OpOverload) -> Callable[[tuple, dict | None], object] | None:
    """What answers an operator here, from its args and kwargs; that returns None where its answer is not plain. For track."""
    if func in IN_PLACE:
        return lambda args, kwargs: args[0] if args[0].is_meta else None
    if func in SAME_TYPE:
        return lambda args, kwargs: None if kwargs and kwargs.keys() - NO_MATTER else elementwise(args)
    if func == aten.ge.Tensor:
        return lambda args, kwargs: compared(args)
    shape = SHAPES.get(func)
    return None if shape is None else lambda args, kwargs: shape(*args, **(kwargs or {}))


@contextmanager
def without_compiler() -> Iterator[None]:
    """Optimizers without the wrappers that import torch.compile's machinery (0.9 s) only to say that it shall not look at them."""
    with ExitStack() as patches:
        for name in ("add_param_group", "zero_grad"):
            plain = getattr(Optimizer, name)
            patches.enter_context(OPTIMIZERS.during(Optimizer, name, getattr(plain, "__wrapped__", plain)))
        yield


def cat(tensors: list[Tensor], dim: int = 0) -> Tensor | None:
    """As elementwise, for tensors that differ along `dim` only."""
    first = tensors[0]
    if any(not (t.is_meta and t.dtype == first.dtype and t.dim() == first.dim() and in_order(t)) for t in tensors):
        return None
    shape = list(first.shape)
    shape[dim] = sum(t.shape[dim] for t in tensors)
    return torch.empty(shape, dtype=first.dtype, device="meta")


def stack(tensors: list[Tensor], dim: int = 0) -> Tensor | None:
    """Of one shape, type and place; the result is laid out row by row, whatever they are."""
    first = tensors[0]
    if any(not t.is_meta or t.dtype != first.dtype or t.shape != first.shape for t in tensors):
        return None
    shape = list(first.shape)
    shape.insert(dim if dim >= 0 else dim + len(shape) + 1, len(tensors))
    return torch.empty(shape, dtype=first.dtype, device="meta")


def layer_norm(x: Tensor, shape: list[int], weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple | None:
    """(result, mean, 1/deviation): two fp32 numbers a row."""
    if not (x.is_meta and in_order(x)) or x.dtype == torch.float64:
        return None
    rows = (*x.shape[: x.dim() - len(shape)], *(1,) * len(shape))
    statistics = (torch.empty(rows, dtype=torch.float32, device="meta") for _ in range(2))
    return torch.empty(x.shape, dtype=x.dtype, device="meta"), *statistics


def layer_norm_backward(grad, x, shape, mean, rstd, weight, bias, mask) -> tuple | None:
    """(dx, dweight, dbias), None where nobody asks."""
    if not (x.is_meta and in_order(x)):
        return None
    shapes = (x.shape, shape, shape)
    return tuple(
        torch.empty(one, dtype=x.dtype, device="meta") if wanted else None
        for one, wanted in zip(shapes, mask, strict=True)
    )


def softmax(x: Tensor, dim: int, half_to_float: bool) -> Tensor | None:
    """As its input."""
    return None if half_to_float or not in_order(x) else elementwise((x,))


def softmax_backward(grad: Tensor, result: Tensor, dim: int, dtype: torch.dtype) -> Tensor | None:
    """As the gradient, if that has the input's type."""
    return elementwise((grad, result)) if grad.dtype == dtype and in_order(grad) and in_order(result) else None


def nll_loss(logs: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignored: int) -> tuple | None:
    """(loss, total weight): two numbers, for a mean or a sum over rows."""
    if not logs.is_meta or logs.dim() != 2 or reduction == 0:
        return None
    return tuple(torch.empty((), dtype=logs.dtype, device="meta") for _ in range(2))


def nll_loss_backward(grad: Tensor, logs: Tensor, *rest: object) -> Tensor | None:
    """As the logs."""
    return elementwise((logs,)) if logs.is_meta and logs.dim() == 2 and in_order(logs) else None


def arange(start: float, stop: float | None = None, step: float = 1, **kwargs) -> Tensor | None:
    """Numbers on a line, of a type that was asked for; whole ones need not ask."""
    start, stop = (0, start) if stop is None else (start, stop)
    whole = torch.int64 if all(isinstance(number, int) for number in (start, stop, step)) else None
    dtype = kwargs.get("dtype") or whole
    if str(kwargs.get("device")) != "meta" or dtype is None:
        return None
    return torch.empty(math.ceil((stop - start) / step), dtype=dtype, device="meta")


def like(x: Tensor, **options) -> Tensor | None:
    """empty_like and zeros_like of a tensor that fills its storage: the same strides."""
    if not x.is_meta or options.get("memory_format") not in (None, torch.preserve_format) or not dense(x):
        return None
    return torch.empty_strided(x.shape, x.stride(), dtype=options.get("dtype") or x.dtype, device="meta")


def flash(q: Tensor, k: Tensor, v: Tensor, *_: object, **__: object) -> tuple | None:
    """(output, log of sums, None, None, tokens, tokens, seed, offset, no debug mask)."""
    if not (q.is_meta and dense(q)):
        return None
    rows = torch.empty(q.shape[:3], dtype=torch.float32, device="meta")
    seed, offset = (torch.empty(n, dtype=torch.uint64, device="meta") for n in ((2,), ()))
    nothing = torch.empty(0, dtype=q.dtype, device="meta")
    return like(q), rows, None, None, q.shape[2], k.shape[2], seed, offset, nothing


def flash_backward(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, *_: object, **__: object) -> tuple | None:
    """(dq, dk, dv), laid out as q, k and v are."""
    return (like(q), like(k), like(v)) if q.is_meta and all(map(dense, (q, k, v))) else None


def embedding(table: Tensor, tokens: Tensor, *_: object) -> Tensor | None:
    """A row of the table for each token."""
    return torch.empty((*tokens.shape, table.shape[1]), dtype=table.dtype, device="meta") if table.is_meta else None


def embedding_backward(grad: Tensor, tokens: Tensor, rows: int, *_: object) -> Tensor | None:
    """As the table."""
    return torch.empty((rows, grad.shape[-1]), dtype=grad.dtype, device="meta") if grad.is_meta else None


def mm(left: Tensor, right: Tensor) -> Tensor | None:
    """left @ right, row by row."""
    return addmm(left, left, right)


def addmm(bias: Tensor, left: Tensor, right: Tensor, **_: float) -> Tensor | None:
    """bias + left @ right, row by row."""
    if not left.is_meta or left.dtype != right.dtype:
        return None
    return torch.empty((left.shape[0], right.shape[1]), dtype=left.dtype, device="meta")


def dropout(x: Tensor, p: float, train: bool | None) -> tuple | None:
    """(result, mask of one byte an element)."""
    if not (x.is_meta and train):
        return None
    if dense(x):
        return like(x), like(x, dtype=torch.bool)
    if not in_order(x):
        return None
    return tuple(torch.empty(x.shape, dtype=dtype, device="meta") for dtype in (x.dtype, torch.bool))


def value(tensor: Tensor, *_: object, **__: object) -> None:
    """A number, or where something is, of a tensor that has a shape only. ValueError naming the line that asks."""
    if not tensor.is_meta:
        return
    asks = _asking()
    raise ValueError(
        f"{asks.filename}:{asks.lineno} asks for a tensor's value ({asks.line}), and a prediction computes none;"
        " inputs or a setting that avoid that line would do"
    )


def _asking() -> traceback.FrameSummary:
    """The innermost line of the reader's within a step; where his module is torch's own, the line of that."""
    stack = traceback.extract_stack()
    step = max((i for i, line in enumerate(stack) if line.filename == STEP), default=0)
    theirs = [line for line in stack[step:] if not line.filename.startswith(OURS)]
    return (theirs or [line for line in stack if line.filename.startswith(MODULES)])[-1]


def index(x: Tensor, places: list[Tensor | None]) -> None:
    """torch's own answer; but how many places a mask picks is a question for its values."""
    for place in places:
        if place is not None and place.dtype == torch.bool:
            value(place)


ASKS = {
    aten._local_scalar_dense.default: value,
    aten.nonzero.default: value,
    aten.index.Tensor: index,
}
SHAPES = {
    **ASKS,
    **TRUER,
    aten.cat.default: cat,
    aten.stack.default: stack,
    aten.addmm.default: addmm,
    aten.mm.default: mm,
    aten.embedding.default: embedding,
    aten.embedding_dense_backward.default: embedding_backward,
    aten.empty_like.default: like,
    aten.zeros_like.default: like,
    aten._scaled_dot_product_flash_attention.default: flash,
    aten._scaled_dot_product_flash_attention_backward.default: flash_backward,
    aten._softmax.default: softmax,
    aten._log_softmax.default: softmax,
    aten._softmax_backward_data.default: softmax_backward,
    aten._log_softmax_backward_data.default: softmax_backward,
    aten.nll_loss_forward.default: nll_loss,
    aten.nll_loss_backward.default: nll_loss_backward,
    aten.arange.default: arange,
    aten.arange.start: arange,
    aten.arange.start_step: arange,
    aten.native_layer_norm.default: layer_norm,
    aten.native_layer_norm_backward.default: layer_norm_backward,
    aten.native_dropout.default: dropout,
}
