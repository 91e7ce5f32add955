"""Where autograd tells that all of a unit's gradients are there. Chapter: too-big."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.measure.tracker.dispatch import tensors


class _AfterBackward(torch.autograd.Function):
    """Its backward runs when the gradients of a unit's inputs are there: then those of its parameters are, too."""

    @staticmethod
    def forward(ctx, then: Callable[[], None], *inputs: Tensor):
        ctx.then = then
        return inputs

    @staticmethod
    def backward(ctx, *grads: Tensor):
        ctx.then()
        return None, *grads


def watched(then: Callable[[], None], args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The same arguments; those that want a gradient go through _AfterBackward, which calls `then`."""
    wanted = [tensor for tensor in tensors((args, kwargs)) if tensor.requires_grad]
    if not wanted:
        return args, kwargs
    instead = dict(zip(map(id, wanted), _AfterBackward.apply(then, *wanted), strict=True))
    return _replaced(args, instead), _replaced(kwargs, instead)


def _replaced(value: object, instead: dict[int, Tensor]) -> object:
    if isinstance(value, dict):
        return {key: _replaced(one, instead) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_replaced(one, instead) for one in value)
    return instead.get(id(value), value)
