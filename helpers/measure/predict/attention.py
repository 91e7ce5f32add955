"""Which kernel attention takes on a CPU and on CUDA; on meta tensors torch itself computes the plain products, and keeps every score.

Chapters: training-memory, too-big.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend
from torch.nn.functional import pad
from torch.utils._python_dispatch import _disable_current_modes

aten = torch.ops.aten
HALF = (torch.float16, torch.bfloat16)


def batched(kernel: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Three dimensions as a batch of one, where this torch takes them so (2.15 does; until then they go to the plain products)."""

    @functools.wraps(kernel)
    def attention(query, key, value, attn_mask=None, *rest, **options) -> Tensor:
        if not query.dim() == key.dim() == value.dim() == 3 or not _takes_three():
            return kernel(query, key, value, attn_mask, *rest, **options)
        mask = attn_mask.unsqueeze(0) if attn_mask is not None and attn_mask.dim() == 3 else attn_mask
        return kernel(*(t.unsqueeze(0) for t in (query, key, value)), mask, *rest, **options).squeeze(0)

    return attention


@functools.cache
def _takes_three() -> bool:
    with _disable_current_modes():
        return torch._fused_sdp_choice(*[torch.empty(1, 1, 8)] * 3) == SDPBackend.FLASH_ATTENTION.value


@batched
def on_cpu(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
) -> Tensor:
    """What torch's own choice for a CPU runs: its flash kernel, or the plain products (dropout, a head in strides, ...).

    RuntimeError as there where sdpa_kernel allows neither.
    """
    asked = (*map(_one_row, (query, key, value)), None if attn_mask is None else _one_row(attn_mask))
    choice = torch._fused_sdp_choice(*asked, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    if choice != SDPBackend.FLASH_ATTENTION.value:
        return _plain(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    mask = _added(attn_mask, query.dtype)
    kernel = aten._scaled_dot_product_flash_attention_for_cpu
    return kernel(query, key, value, dropout_p, is_causal, attn_mask=mask, scale=scale)[0]


def _one_row(tensor: Tensor) -> Tensor:
    """A CPU's tensor of that shape, whose rows all lie in one place: torch's choice asks for shapes, types and the last stride."""
    last = tensor.stride(-1)
    with _disable_current_modes():  # no tracker hears of it
        row = torch.empty(max(tensor.shape[-1] - 1, 0) * last + 1, dtype=tensor.dtype)
        strides = (0,) * (tensor.dim() - 1) + (last,)
        return row.as_strided(tensor.shape, strides).requires_grad_(tensor.requires_grad)


def _plain(*args, **options) -> Tensor:
    return aten.scaled_dot_product_attention.default.decompose(*args, **options)


def _added(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """A mask as a summand (ATen/native/transformers/attention.cpp, convert_boolean_attn_mask)."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.where(mask, 0.0, torch.scalar_tensor(float("-inf"), dtype=dtype, device=mask.device))


@batched
def on_cuda(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
) -> Tensor:
    """Flash attention for 16-bit types without a mask, else memory-efficient attention, else the plain one.

    With cuDNN 9.15 a Hopper or Blackwell GPU asks cuDNN first, whose kernel keeps the same: q, k, v, the output, and one fp32 number a
    row. ValueError where sdpa_kernel allows none that fits.
    """
    kernel = attention_kernel(query, key, value, attn_mask, is_causal, enable_gqa)
    if kernel == "math":
        return _plain(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    if kernel == "flash":
        width = query.shape[-1]
        wide = (pad(t, (0, -width % 8)) if width % 8 else t for t in (query, key, value))
        scale = width**-0.5 if scale is None else scale
        out = aten._scaled_dot_product_flash_attention(*wide, dropout_p, is_causal, False, scale=scale)[0]
        return out[..., :width] if width % 8 else out
    grads = any(tensor.requires_grad for tensor in (query, key, value)) and torch.is_grad_enabled()
    mask = _aligned(_added(attn_mask, query.dtype), (*query.shape[:3], key.shape[2]))
    operator = aten._scaled_dot_product_efficient_attention
    return operator(query, key, value, mask, grads, dropout_p, is_causal, scale=scale)[0]


def _aligned(mask: Tensor | None, shape: tuple[int, ...]) -> Tensor | None:
    """The mask for every head, its rows at multiples of eight elements (attention.cpp, preprocess_mask)."""
    if mask is None:
        return None
    if mask.stride(-1) != 1 or any(stride % 8 for stride in mask.stride()[:-1]):
        length = mask.shape[-1]
        mask = pad(mask, (0, 8 - length % 8))[..., :length]
    return mask.expand(shape)


def attention_kernel(query, key, value, attn_mask=None, is_causal=False, enable_gqa=False) -> str:
    """Which kernel an A100 or newer would take: "flash", "efficient" or "math". query, key, value: [batch, heads, tokens, head_dim].

    The order and the conditions of ATen/native/transformers/cuda/sdp_utils.cpp, with what sdpa_kernel allows. ValueError: none fits.
    """
    cuda = torch.backends.cuda
    fits = _fitting(query, key, value, attn_mask, is_causal, enable_gqa)
    allowed = {
        "flash": cuda.flash_sdp_enabled() or cuda.cudnn_sdp_enabled(),
        "efficient": cuda.mem_efficient_sdp_enabled(),
        "math": cuda.math_sdp_enabled(),
    }
    for kernel in fits:
        if allowed[kernel]:
            return kernel
    names = ", ".join(kernel for kernel, on in allowed.items() if on) or "none"
    raise ValueError(
        f"attention of {query.dtype} {tuple(query.shape)} with keys {tuple(key.shape)} could take {', '.join(fits)} on CUDA,"
        f" and sdpa_kernel allows {names}"
    )


def _fitting(query, key, value, attn_mask, is_causal, enable_gqa) -> list[str]:
    """The kernels that could, best first."""
    tensors = (query, key, value)
    if any(t.dim() != 4 or t.dtype != query.dtype or t.shape[0] != query.shape[0] or 0 in t.shape for t in tensors):
        return ["math"]
    width, heads, keys = query.shape[-1], query.shape[1], key.shape[1]
    alike = heads == keys == value.shape[1]
    grouped = enable_gqa and keys == value.shape[1] and heads % keys == 0
    packed = width == key.shape[-1] and all(t.stride(-1) == 1 for t in tensors)
    square = not is_causal or query.shape[2] == key.shape[2]
    fits = []
    flash = square and query.dtype in HALF and attn_mask is None and width == value.shape[-1] and width <= 256
    if packed and (alike or grouped) and flash:
        fits.append("flash")
    unit = 8 if query.dtype in HALF else 4
    whole = width % unit == 0 and value.shape[-1] % unit == 0
    if packed and alike and whole and query.dtype != torch.float64:
        fits.append("efficient")
    return [*fits, "math"]
