"""Six functions that autograd can go through: what a collective does to activations, its conjugate to gradients. Chapter: tensor-parallel.

The gradient of a sum is a copy and the gradient of a copy is a sum, so forward and backward come in pairs:

    function    forward              backward
    copied      nothing              all_reduce          f of Megatron-LM (Shoeybi et al. 2019, arXiv 1909.08053, section 3)
    summed      all_reduce           nothing             g, its conjugate
    gathered    all_gather           reduce_scatter      g of sequence parallelism (Korthikanti et al. 2022, arXiv 2205.05198)
    scattered   reduce_scatter       all_gather          its conjugate
    joined      all_gather           own part            where the ranks then all compute the same: each has the whole gradient
    parted      own part             all_gather          its conjugate

`gathered` and `joined` differ in what comes back. After `gathered` every rank computes something else, so its gradient is one term of a
sum; after `joined` all compute the same, and adding up would count it nranks times.
x: any shape and type that the backend adds up; dim: along which it is cut, and the group's ranks must divide it.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

Group = dist.ProcessGroup


def all_gather(x: Tensor, dim: int, group: Group) -> Tensor:
    """Every rank's x, one behind the other along dim, in rank order."""
    part = x.movedim(dim, 0).contiguous()
    whole = part.new_empty((part.shape[0] * group.size(), *part.shape[1:]))
    dist.all_gather_into_tensor(whole, part, group=group)
    return whole.movedim(0, dim).contiguous()  # else each map that reads it keeps a contiguous copy of its own


def reduce_scatter(x: Tensor, dim: int, group: Group) -> Tensor:
    """This rank's part, along dim, of the sum of every rank's x."""
    whole = x.movedim(dim, 0).contiguous()
    part = whole.new_empty((whole.shape[0] // group.size(), *whole.shape[1:]))
    dist.reduce_scatter_tensor(part, whole, group=group)
    return part.movedim(0, dim)


def all_reduce(x: Tensor, group: Group) -> Tensor:
    """The sum of every rank's x, in a tensor of its own: autograd may still want x."""
    total = x.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total, group=group)
    return total


def own_part(x: Tensor, dim: int, group: Group) -> Tensor:
    """This rank's part of x along dim, a copy."""
    return x.chunk(group.size(), dim)[group.rank()].clone()


class _Copied(Function):
    @staticmethod
    def forward(ctx, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return all_reduce(grad, ctx.group), None


class _Summed(Function):
    @staticmethod
    def forward(ctx, x: Tensor, group: Group) -> Tensor:
        return all_reduce(x, group)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return grad, None


class _Gathered(Function):
    @staticmethod
    def forward(ctx, x: Tensor, dim: int, group: Group) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return all_gather(x, dim, group)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return reduce_scatter(grad, ctx.dim, ctx.group), None, None


class _Scattered(Function):
    @staticmethod
    def forward(ctx, x: Tensor, dim: int, group: Group) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return reduce_scatter(x, dim, group)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return all_gather(grad, ctx.dim, ctx.group), None, None


class _Joined(Function):
    @staticmethod
    def forward(ctx, x: Tensor, dim: int, group: Group) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return all_gather(x, dim, group)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return own_part(grad, ctx.dim, ctx.group), None, None


class _Parted(Function):
    @staticmethod
    def forward(ctx, x: Tensor, dim: int, group: Group) -> Tensor:
        ctx.dim, ctx.group = dim, group
        return own_part(x, dim, group)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return all_gather(grad, ctx.dim, ctx.group), None, None


def copied(x: Tensor, group: Group) -> Tensor:
    """x, the same on every rank, goes into what differs; back come gradients to add up."""
    return _Copied.apply(x, group)


def summed(x: Tensor, group: Group) -> Tensor:
    """Partial sums become the sum, on every rank."""
    return _Summed.apply(x, group)


def gathered(x: Tensor, group: Group, dim: int) -> Tensor:
    """Parts become the whole on every rank, which then goes into what differs."""
    return _Gathered.apply(x, dim, group)


def scattered(x: Tensor, group: Group, dim: int) -> Tensor:
    """Partial sums become this rank's part of the sum."""
    return _Scattered.apply(x, dim, group)


def joined(x: Tensor, group: Group, dim: int) -> Tensor:
    """Parts become the whole on every rank, with which all do the same."""
    return _Joined.apply(x, dim, group)


def parted(x: Tensor, group: Group, dim: int) -> Tensor:
    """Of x, the same on every rank, this rank's part."""
    return _Parted.apply(x, dim, group)
