"""torch.autocast as CUDA has it, for tensors on any device. torch has none for meta tensors, so it is done by name.

Chapters: training-memory, too-big.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor
from torch.nn import functional

from helpers.patches import AUTOCAST

# ATen/autocast_mode.h: what computes in 16 bits, and what in fp32. By where a model finds it.
PRODUCTS = ("matmul", "mm", "bmm", "mv", "addmm", "addbmm", "baddbmm")
CURVES = ("softmax", "log_softmax", "exp", "log", "pow", "rsqrt", "reciprocal", "sum", "prod", "cumsum", "norm")
NARROW = (
    (functional, ("linear", "scaled_dot_product_attention", "conv1d", "conv2d", "conv3d", "bilinear")),
    (torch, (*PRODUCTS, "einsum")),
    (Tensor, (*PRODUCTS, "__matmul__", "__rmatmul__")),
)
NORMS = ("layer_norm", "rms_norm", "group_norm", "softmax", "log_softmax", "softplus", "cosine_similarity")
LOSSES = (
    "cross_entropy",
    "nll_loss",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "kl_div",
    "binary_cross_entropy_with_logits",
)
WIDE = (
    (functional, (*NORMS, *LOSSES)),
    (torch, CURVES),
    (Tensor, (*CURVES, "__pow__")),
)
ON_CPU = ((functional, LOSSES), (torch, ("prod",)), (Tensor, ("prod",)))  # softmax and norms stay in 16 bits there
_regions: list[torch.dtype | None] = []  # innermost last; None: switched off there
_copies: dict[tuple[Tensor, torch.dtype], Tensor] = {}


@contextmanager
def autocast(dtype: torch.dtype = torch.bfloat16, enabled: bool = True, like: str = "cuda") -> Iterator[None]:
    """torch.autocast(like, dtype) for tensors on any device, as far as the names above reach; it may be nested. like: or "cpu".

    A weight (a leaf that wants a gradient) is cast once and its copy kept until the outermost autocast ends; any other tensor is cast
    at every use, so three projections of one input make three copies of it.
    """
    if not (enabled or _regions):  # nothing to switch off
        yield
        return
    with ExitStack() as patches:
        if not _regions:
            _install(patches, WIDE if like == "cuda" else ON_CPU)
        _regions.append(dtype if enabled else None)
        try:
            yield
        finally:
            _regions.pop()
            if not _regions:
                _copies.clear()


def torchs_autocast(device_type: str, dtype: torch.dtype | None = None, enabled: bool = True, cache_enabled=None):
    """What torch.autocast is inside cuda_like(): this one for "meta" and "cuda" (which takes fp16 where no type is named)."""
    if device_type not in ("meta", "cuda"):
        return _theirs(device_type, dtype, enabled, cache_enabled)
    return autocast(dtype or torch.float16, enabled)


_theirs = torch.autocast


def _install(patches: ExitStack, wide: tuple) -> None:
    for table, cast in ((NARROW, _narrow), (wide, _wide)):
        for home, names in table:
            for name in names:
                patches.enter_context(AUTOCAST.during(home, name, _casting(getattr(home, name), cast)))


def _casting(function: Callable, cast: Callable) -> Callable:
    @functools.wraps(function)
    def casting(*args, **options):
        if not _regions or _regions[-1] is None:
            return function(*args, **options)
        return function(*map(cast, args), **{name: cast(value) for name, value in options.items()})

    return casting


def _floating(value: object) -> bool:
    return isinstance(value, Tensor) and value.dtype in (torch.float32, torch.bfloat16, torch.float16)


def _wide(value: object) -> object:
    return value.to(torch.float32) if _floating(value) else value


def _narrow(value: object) -> object:
    if not _floating(value):
        return value
    to = _regions[-1]
    if not (value.is_leaf and value.requires_grad and torch.is_grad_enabled()) or value.dtype == to:
        return value.to(to)
    if (value, to) not in _copies:
        _copies[value, to] = value.to(to)
    return _copies[value, to]
