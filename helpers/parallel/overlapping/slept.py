"""Layers that only take their time, and gradients that are known: the rank's number plus one, everywhere. Chapter: overlap.

They sleep where others compute, so any machine shows what a GPU that computes beside its link would. Their bytes are real and travel.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .lanes import Lanes

ITEM = 4  # bytes of a float32


class Layer(NamedTuple):
    """Seconds of its forward and of its backward, bytes of its parameters and so of its gradients (float32)."""

    forward: float
    backward: float
    nbytes: int


class _Sleep(torch.autograd.Function):
    """The input, after a while, both ways."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, slept: Slept) -> Tensor:
        ctx.slept, ctx.shape = slept, weight.shape
        slept.take("forward", slept.layer.forward)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        ctx.slept.take("backward", ctx.slept.layer.backward)
        return gradient, torch.full(ctx.shape, dist.get_rank() + 1.0), None


class Slept(nn.Module):
    """One layer. lanes: where its computing is noted."""

    def __init__(self, layer: Layer, number: int, lanes: Lanes):
        super().__init__()
        self.layer, self.number, self.lanes = layer, number, lanes
        self.weight = nn.Parameter(torch.zeros(layer.nbytes // ITEM))

    def forward(self, x: Tensor) -> Tensor:
        return _Sleep.apply(x, self.weight, self)

    def take(self, what: str, seconds: float) -> None:
        """As long as it would compute."""
        with self.lanes.span("compute", f"{what} {self.number}"):
            time.sleep(seconds)


def mean_gradient() -> float:
    """What every element of every gradient is when all ranks have their mean."""
    return (dist.get_world_size() + 1) / 2
