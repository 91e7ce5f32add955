"""An all_to_all that autograd can go through: ours, and torch's. Chapter: expert."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

Exchange = Callable[[Tensor, dist.ProcessGroup], Tensor]


class _Exchanged(Function):
    """All to all, both ways: what came from a rank goes back to it as gradient."""

    @staticmethod
    def forward(ctx, x: Tensor, group: dist.ProcessGroup) -> Tensor:
        ctx.group = group
        return all_to_all(x, group)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return all_to_all(grad, ctx.group), None


def all_to_all(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """Equal parts of x, along its first dimension, one to each rank; from each rank the part that is meant for this one."""
    x = x.contiguous()
    got = torch.empty_like(x)
    dist.all_to_all_single(got, x, group=group)
    return got


def exchanged(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """Ours."""
    return _Exchanged.apply(x, group)


def exchanged_by_torch(x: Tensor, group: dist.ProcessGroup) -> Tensor:
    """torch's own, with its own backward."""
    from torch.distributed._functional_collectives import all_to_all_single_autograd, wait_tensor

    splits = [len(x) // group.size()] * group.size()
    return wait_tensor(all_to_all_single_autograd(x.contiguous(), splits, splits, group))
