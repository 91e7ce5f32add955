"""Where an operator on meta tensors tells of a CUDA GPU and the CPU does otherwise: for predictions that a small real run can check.

Chapter: too-big.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

aten = torch.ops.aten


def answers(func: torch._ops.OpOverload) -> Callable[[tuple, dict | None], object] | None:
    """As fast_meta.answers, of the few operators that differ."""
    if func != aten.native_layer_norm.default:
        return None
    return lambda args, kwargs: layer_norm(*args, **(kwargs or {}))


def layer_norm(x: Tensor, shape: list[int], weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple:
    """(result, mean, 1/deviation), the numbers of a row in the input's type; in fp32 where the weights are (layer_norm_kernel.cpp)."""
    mixed = weight is not None and weight.dtype != x.dtype
    rows = (*x.shape[: x.dim() - len(shape)], *(1,) * len(shape))
    wide = torch.float32 if mixed else x.dtype
    mean, deviation = (torch.empty(rows, dtype=wide, device="meta") for _ in range(2))
    return torch.empty(x.shape, dtype=x.dtype, device="meta"), mean, deviation
