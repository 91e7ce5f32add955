"""Activation checkpointing, written out: keep a layer's input, compute what is inside again in backward. Chapter: tensor-parallel.

What is computed again communicates again: a layer's forward collectives run twice a step. (torch.utils.checkpoint takes any
function and stops before the last collective, whose result backward does not want; here a layer has one input and its parameters,
and no random numbers to repeat.)
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd import Function

from helpers.parallel.model import Params

Layer = Callable[[Params, Tensor], Tensor]


class _Again(Function):
    @staticmethod
    def forward(ctx, layer: Layer, names: list[str], x: Tensor, *values: Tensor) -> Tensor:
        ctx.layer, ctx.names = layer, names
        ctx.save_for_backward(x, *values)
        return layer(dict(zip(names, values, strict=True)), x)

    @staticmethod
    def backward(ctx, grad: Tensor):
        wanted = ctx.needs_input_grad[2:]
        again = [v.detach().requires_grad_(want) for v, want in zip(ctx.saved_tensors, wanted, strict=True)]
        with torch.enable_grad():
            out = ctx.layer(dict(zip(ctx.names, again[1:], strict=True)), again[0])
        found = iter(torch.autograd.grad(out, [v for v in again if v.requires_grad], grad))
        return None, None, *(next(found) if want else None for want in wanted)


def recomputed(layer: Layer, params: Params, x: Tensor) -> Tensor:
    """layer(params, x), of which only x and the parameters are kept until backward."""
    return _Again.apply(layer, list(params), x, *params.values())
