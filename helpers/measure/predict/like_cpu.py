"""Where an operator on meta tensors tells of a CUDA GPU and the CPU does otherwise: for predictions that a small real run can check.

Chapter: too-big.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .fast_meta import ASKS
from .truer import TRUER

aten = torch.ops.aten


def answers(func: torch._ops.OpOverload) -> Callable[[tuple, dict | None], object] | None:
    """As fast_meta.answers, of the few operators that differ."""
    made = SHAPES.get(func)
    return None if made is None else lambda args, kwargs: made(*args, **(kwargs or {}))


def layer_norm(x: Tensor, shape: list[int], weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple:
    """(result, mean, 1/deviation), the numbers of a row in the input's type; in fp32 where the weights are (layer_norm_kernel.cpp)."""
    mixed = weight is not None and weight.dtype != x.dtype
    rows = (*x.shape[: x.dim() - len(shape)], *(1,) * len(shape))
    wide = torch.float32 if mixed else x.dtype
    mean, deviation = (torch.empty(rows, dtype=wide, device="meta") for _ in range(2))
    return torch.empty(x.shape, dtype=x.dtype, device="meta"), mean, deviation


def embedding_bag(
    table: Tensor,
    tokens: Tensor,
    offsets: Tensor,
    by_freq=False,
    mode=0,
    sparse=False,
    weights=None,
    last=False,
    pad=-1,
) -> tuple | None:
    """(result, bag of each token, tokens of each bag, places of maxima); sums look no bag up (EmbeddingBag.cpp, its fast path)."""
    if not table.is_meta:
        return None
    where, bags = {"dtype": tokens.dtype, "device": "meta"}, offsets.numel() - last
    of_bag = torch.empty(offsets.numel(), **where)[:bags]
    looked_up = mode or pad >= 0 or table.stride(1) != 1
    bag_of = torch.empty(tokens.numel() + 1, **where)[:-1] if looked_up else torch.empty(0, **where)
    out = table.new_empty(bags, table.shape[1])
    return out, bag_of, of_bag, torch.empty(out.shape if mode == 2 else bags, **where)


def batch_norm(x: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: object) -> tuple | None:
    """(result, mean, 1/deviation), in the weights' type; with the running ones no new ones are made (Normalization.cpp)."""
    if not x.is_meta:
        return None
    channels, dtype = x.shape[1] if rest[-3] else 0, x.dtype if weight is None else weight.dtype
    return torch.empty_like(x), *(torch.empty(channels, dtype=dtype, device="meta") for _ in range(2))


SHAPES = {
    **ASKS,
    **TRUER,
    aten.native_layer_norm.default: layer_norm,
    aten._embedding_bag.default: embedding_bag,
    aten.native_batch_norm.default: batch_norm,
    aten._native_batch_norm_legit.default: batch_norm,
}
