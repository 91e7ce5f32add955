"""DDP's buckets: the gradients a second time, in flat pieces that are reduced while backward goes on. Chapter: too-big."""

from __future__ import annotations

import torch
from torch import nn

from helpers.memory.payloads import bucket_sizes


def make_buckets(model: nn.Module) -> list[torch.Tensor]:
    """Buffers as DDP keeps them beside the gradients, last parameters first; they stay as long as DDP does."""
    params = [p for p in model.parameters() if p.requires_grad]
    dtype, device = params[0].dtype, params[0].device
    sizes = bucket_sizes(p.numel() * p.element_size() for p in reversed(params))
    return [torch.empty(size // dtype.itemsize, dtype=dtype, device=device) for size in sizes]
