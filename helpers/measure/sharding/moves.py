"""Collectives on the meta device that autograd can go through: nothing is sent, every buffer is made and is seen as communication.

torch's functional collectives know how to make their outputs without a group, so the tracker sees the same operators as between real
ranks. Rows that would have to be put in order afterwards are not: on meta there is nothing to order. Chapter: too-big.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
import torch.distributed._functional_collectives  # registers the operators below for meta tensors
from torch import Tensor, nn
from torch.nn import functional as F

NOBODY = "on paper"  # the name of a group that is never asked
ops = torch.ops._c10d_functional


def all_gathered(part: Tensor, nranks: int) -> Tensor:
    """Every rank's part, behind each other along the first dimension."""
    return ops.all_gather_into_tensor(part, nranks, NOBODY)


def reduce_scattered(whole: Tensor, nranks: int) -> Tensor:
    """This rank's part, along the first dimension, of the sum."""
    return ops.reduce_scatter_tensor(whole, "sum", nranks, NOBODY)


def gathered(x: Tensor, nranks: int) -> Tensor:
    """[batch, tokens / nranks, hidden] -> [batch, tokens, hidden]: every rank's tokens."""
    whole = all_gathered(x, nranks)
    return whole.view(x.shape[0], x.shape[1] * nranks, *x.shape[2:])


def scattered(x: Tensor, nranks: int) -> Tensor:
    """[batch, tokens, hidden] -> [batch, tokens / nranks, hidden]: the sum over ranks of this rank's tokens."""
    rows = x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])
    part = reduce_scattered(rows, nranks)
    return part.view(x.shape[0], x.shape[1] // nranks, *x.shape[2:])


def exchanged(x: Tensor) -> Tensor:
    """As many rows as were given, from all ranks: routing is taken to be balanced."""
    return ops.all_to_all_single(x, [x.shape[0]], [x.shape[0]], NOBODY)


def received(*shape: int, dtype: torch.dtype) -> Tensor:
    """The buffer that another stage's tensor arrives in."""
    return ops.broadcast_(torch.empty(shape, dtype=dtype, device="meta"), 0, NOBODY)


class Gather(torch.autograd.Function):
    """Every rank's tokens on the way there, the sum of gradients on the way back."""

    @staticmethod
    def forward(ctx, x: Tensor, nranks: int) -> Tensor:
        ctx.nranks = nranks
        return gathered(x, nranks)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return scattered(grad, ctx.nranks), None


class Together(torch.autograd.Function):
    """Every rank's x along one dimension on the way there, in rank order; the sum of gradients of the own part on the way back."""

    @staticmethod
    def forward(ctx, x: Tensor, dim: int, nranks: int) -> Tensor:
        ctx.dim, ctx.nranks = dim, nranks
        part = x.movedim(dim, 0).contiguous()
        return all_gathered(part, nranks).movedim(0, dim).contiguous()

    @staticmethod
    def backward(ctx, grad: Tensor):
        whole = grad.movedim(ctx.dim, 0).contiguous()
        return reduce_scattered(whole, ctx.nranks).movedim(0, ctx.dim), None, None


class Scatter(torch.autograd.Function):
    """The sum of this rank's tokens on the way there, everybody's gradients on the way back."""

    @staticmethod
    def forward(ctx, x: Tensor, nranks: int) -> Tensor:
        ctx.nranks = nranks
        return scattered(x, nranks)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return gathered(grad, ctx.nranks), None


class Exchange(torch.autograd.Function):
    """All to all, both ways."""

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return exchanged(x)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return exchanged(grad.contiguous())


class GatheredLinear(torch.autograd.Function):
    """A linear map of gathered tokens that keeps this rank's tokens only, and gathers again in backward (Korthikanti et al. 2022)."""

    @staticmethod
    def forward(ctx, whole: Tensor, part: Tensor, weight: Tensor, bias: Tensor | None, nranks: int) -> Tensor:
        ctx.save_for_backward(part, weight)
        ctx.nranks, ctx.biased = nranks, bias is not None
        return F.linear(whole, weight, bias)

    @staticmethod
    def backward(ctx, grad: Tensor):
        part, weight = ctx.saved_tensors
        rows = grad.flatten(0, 1)
        there = grad @ weight
        of_weight = rows.t() @ gathered(part, ctx.nranks).flatten(0, 1)
        return there, None, of_weight, rows.sum(0) if ctx.biased else None, None


class Column(nn.Module):
    """An nn.Linear whose output columns are shared by ranks, and whose input is gathered from `part`, this rank's tokens.

    Without a part it is an nn.Linear: its input stays as it is.
    """

    def __init__(self, linear: nn.Linear, nranks: int):
        super().__init__()
        self.weight, self.bias, self.nranks, self.part = linear.weight, linear.bias, nranks, None

    @contextmanager
    def of(self, part: Tensor) -> Iterator[None]:
        """Inside, what it gathers is `part`. A recomputation that ends early leaves by an exception, and must leave nothing behind."""
        self.part = part
        try:
            yield
        finally:
            self.part = None

    def forward(self, whole: Tensor) -> Tensor:
        if self.part is None:
            return F.linear(whole, self.weight, self.bias)
        return GatheredLinear.apply(whole, self.part, self.weight, self.bias, self.nranks)


class Gathered(nn.Module):
    """Attention or an MLP between a gather and a scatter of tokens. columns: the names of its first linear maps."""

    def __init__(self, inner: nn.Module, columns: tuple[str, ...], nranks: int):
        super().__init__()
        self.inner, self.nranks = inner, nranks
        for name in columns:
            setattr(inner, name, Column(getattr(inner, name), nranks))
        self.columns = [getattr(inner, name) for name in columns]

    def forward(self, x: Tensor, *rest: object) -> Tensor:
        whole = Gather.apply(x, self.nranks)
        with ExitStack() as parts:
            for column in self.columns:
                parts.enter_context(column.of(x))
            out = self.inner(whole, *rest)
        del whole
        return Scatter.apply(out, self.nranks)
