"""Operators on meta tensors as a CUDA GPU would choose them: what they keep for backward, and what they allocate.

torch built for the CPU takes some operators apart that CUDA runs as one kernel, and so keeps more for backward: dropout's mask in 4 bytes
instead of 1, attention's probabilities, fp32 copies inside an RMS norm. `cuda_like` swaps those for meta tensors; a CPU tensor is computed
as ever. torch's own functions are replaced by name, because a TorchFunctionMode is off inside nn.MultiheadAttention's own handler.
Not seen here, nor by any tracker of operators: what a kernel allocates inside (cuBLAS workspaces, flash attention's dq accumulator).
Chapters: training-memory, too-big.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch.nn import functional
from torch.optim import optimizer
from torch.utils._foreach_utils import _get_fused_kernels_supported_devices

from helpers.patches import AUTOCAST, CUDA_LIKE
from helpers.step.autocasting import torchs_autocast

from .attention import HALF, on_cuda
from .truer import with_kernels

_plain = {name: getattr(functional, name) for name in ("dropout", "rms_norm", "softmax", "log_softmax")}


@contextmanager
def cuda_like() -> Iterator[None]:
    """Inside, operators on meta tensors keep and allocate what CUDA's do (an A100 or newer); it may be nested.

    Swapped: dropout, scaled_dot_product_attention, rms_norm, softmax and log_softmax with a wider type, fused optimizers, torch.autocast
    for "cuda" and "meta" where a model opens or closes one of its own.
    Alike already, and tested so: layer_norm, cross_entropy, gelu, silu, relu, linear, embedding.
    """
    with ExitStack() as patches:
        patches.enter_context(with_kernels(on_cuda))
        for name, replacement in SWAPS.items():
            patches.enter_context(CUDA_LIKE.during(functional, name, replacement))
        for name in ("_fused_adam_", "_fused_adamw_", "_fused_sgd_"):
            patches.enter_context(CUDA_LIKE.during(torch, name, _in_place(getattr(torch, name))))
        for home in (torch, torch.amp, torch.amp.autocast_mode):
            patches.enter_context(AUTOCAST.during(home, "autocast", torchs_autocast))
        patches.enter_context(CUDA_LIKE.during(optimizer, "_get_fused_kernels_supported_devices", _fused_devices))
        yield


def dropout(input, p=0.5, training=True, inplace=False):
    """at::native_dropout where CUDA takes it (ATen/native/Dropout.cpp, is_fused_kernel_acceptable): keeps a mask of 1 byte an element."""
    if input.is_meta and training and not inplace and 0 < p < 1:
        return torch.native_dropout(input, p, True)[0]
    return _plain["dropout"](input, p, training, inplace)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """at::_fused_rms_norm where CUDA takes it: keeps the input, the weight and one fp32 number a row (ATen/native/layer_norm.cpp)."""
    if not input.is_meta or (weight is not None and weight.dtype != input.dtype):
        return _plain["rms_norm"](input, normalized_shape, weight, eps)
    return _FusedRMSNorm.apply(input, weight, len(normalized_shape))


class _FusedRMSNorm(torch.autograd.Function):
    """Shapes only. The real kernel's formula stands in derivatives.yaml: _fused_rms_norm."""

    @staticmethod
    def forward(ctx, input, weight, dims):
        wide = torch.float64 if input.dtype == torch.float64 else torch.float32
        rstd = torch.empty((*input.shape[:-dims], *(1,) * dims), dtype=wide, device=input.device)
        ctx.save_for_backward(input, weight, rstd)
        return torch.empty_like(input, memory_format=torch.contiguous_format)

    @staticmethod
    def backward(ctx, grad):
        input, weight, _ = ctx.saved_tensors
        return torch.empty_like(input), None if weight is None else torch.empty_like(weight), None


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """With a wider dtype CUDA widens inside the kernel (half_to_float): no fp32 copy of the input."""
    if not _widens(input, dim, dtype):
        return _plain["softmax"](input, dim, _stacklevel, dtype)
    return _WideningSoftmax.apply(input)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """As softmax."""
    if not _widens(input, dim, dtype):
        return _plain["log_softmax"](input, dim, _stacklevel, dtype)
    return _WideningSoftmax.apply(input)


class _WideningSoftmax(torch.autograd.Function):
    """Shapes only: keeps its fp32 result, gives back a gradient of the input's type (derivatives.yaml: _softmax, _log_softmax)."""

    @staticmethod
    def forward(ctx, input):
        result = torch.empty_like(input, dtype=torch.float32)
        ctx.save_for_backward(result)
        ctx.narrow = input.dtype
        return result

    @staticmethod
    def backward(ctx, grad):
        return torch.empty_like(grad, dtype=ctx.narrow)


def _widens(input, dim, dtype) -> bool:
    return input.is_meta and dim is not None and dtype == torch.float32 and input.dtype in HALF


def _in_place(kernel):
    """A fused optimizer's kernel: it updates in place and allocates nothing, so on meta tensors there is nothing to do."""

    def step(params, *rest, **options):
        return None if params[0].is_meta else kernel(params, *rest, **options)

    return step


def _fused_devices() -> list[str]:
    return [*_get_fused_kernels_supported_devices(), "meta"]


SWAPS = {
    "dropout": dropout,
    "rms_norm": rms_norm,
    "softmax": softmax,
    "log_softmax": log_softmax,
}
