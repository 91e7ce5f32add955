"""A backward in two parts: gradients of inputs now, gradients of weights when there is time. Chapter: pipeline.

A matmul y = x W^T has two in its backward, dx = dy W and dW = dy^T x, and neither needs the other. Under `deferring` a linear's
backward does the first, and puts x and dy down for the second. That is most of a backward's work that nobody waits for; the
small rest (weights of norms and embeddings) stays with the first part, as in the authors' own code (arXiv 2401.10241).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


class Left(NamedTuple):
    """A weight's gradient that is still to be computed: dy^T x, summed over all dimensions but the last."""

    weight: Tensor
    x: Tensor
    dy: Tensor

    def accumulate(self) -> None:
        """Into weight.grad, as autograd does."""
        with torch.no_grad():
            grad = self.dy.flatten(0, -2).T @ self.x.flatten(0, -2)
            self.weight.grad = grad if self.weight.grad is None else self.weight.grad.add_(grad)


class _Linear(torch.autograd.Function):
    """x [..., inputs], weight [outputs, inputs]; left: where the second part is put down."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, left: list[Left]) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.leaf, ctx.left = weight, left
        return F.linear(x, weight)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, None, None]:
        x, weight = ctx.saved_tensors
        ctx.left.append(Left(ctx.leaf, x.detach(), dy.detach()))  # the graph behind x would hold all of it
        return (dy @ weight if ctx.needs_input_grad[0] else None), None, None


class deferring(TorchFunctionMode):
    """`with deferring(left):` every F.linear without bias, of a weight that is a leaf, leaves its weight's gradient in `left`."""

    def __init__(self, left: list[Left]):
        super().__init__()
        self.left = left

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        if func is F.linear and len(args) == 2 and not kwargs and args[1].is_leaf and args[1].requires_grad:
            return _Linear.apply(*args, self.left)
        return func(*args, **(kwargs or {}))
