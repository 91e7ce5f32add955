"""DDP's buckets: the gradients a second time, in flat pieces that are reduced while backward goes on. Chapter: too-big."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from helpers.units import MIB

FIRST, REST = MIB, 25 * MIB  # DistributedDataParallel's own: a small first bucket, so that communication starts early


def assigned(nbytes: Iterable[int], first: int = FIRST, rest: int = REST) -> list[list[int]]:
    """Which gradients share a bucket, as their places in `nbytes`: bytes of each, in the order in which backward makes them.

    A bucket is full as soon as it holds its limit or more (torch/csrc/distributed/c10d/reducer.cpp).
    """
    buckets: list[list[int]] = [[]]
    filled = 0
    for place, one in enumerate(nbytes):
        buckets[-1].append(place)
        filled += one
        if filled >= (rest if len(buckets) > 1 else first):
            buckets.append([])
            filled = 0
    return [bucket for bucket in buckets if bucket]


def bucket_sizes(nbytes: Iterable[int], first: int = FIRST, rest: int = REST) -> list[int]:
    """Bytes of each bucket; see `assigned`."""
    sizes = list(nbytes)
    return [sum(sizes[place] for place in bucket) for bucket in assigned(sizes, first, rest)]


def make_buckets(model: nn.Module) -> list[torch.Tensor]:
    """Buffers as DDP keeps them beside the gradients, last parameters first; they stay as long as DDP does."""
    params = [p for p in model.parameters() if p.requires_grad]
    dtype, device = params[0].dtype, params[0].device
    sizes = bucket_sizes(p.numel() * p.element_size() for p in reversed(params))
    return [torch.empty(size // dtype.itemsize, dtype=dtype, device=device) for size in sizes]
