"""1F1B: which micro-batch a stage computes when, and how many wait for their backward. Chapter: too-big.

The order is that of `helpers.pipeline`.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from helpers.pipeline.orders import one_forward_one_backward

from .moves import received
from .part import Part

Targets = tuple[Tensor, Tensor]


class Pipeline:
    """A stage's forwards and backwards of one step. batch() gives tokens and targets of the next micro-batch.

    phase("forward") or phase("backward") is entered around each: what a stage receives is made outside of any module.

    An output that has been sent on is freed, as Megatron frees it.
    """

    def __init__(self, part: Part, batch: Callable[[], Targets], phase: Callable[[str], AbstractContextManager]):
        plan = part.sharding
        self.part, self.batch, self.phase, self.waiting = part, batch, phase, deque()
        self.most = plan.in_flight
        self.todo = deque(one_forward_one_backward(plan.stage, plan.pipeline, plan.micro_batches))

    def fill(self) -> None:
        """Compute until as many micro-batches wait for their backward as ever will."""
        while len(self.waiting) < self.most:
            self._next()

    def drain(self) -> None:
        """Compute the rest of the step."""
        while self.todo:
            self._next()

    def _next(self) -> None:
        forward = self.todo.popleft().kind == "F"
        with self.phase("forward" if forward else "backward"):
            if forward:
                self.waiting.append(_forward(self.part, *self.batch()))
            else:
                _backward(self.part, *self.waiting.popleft())
                gc.collect(0)  # checkpointing leaves cycles that hold a stream until Python looks for them


def _forward(part: Part, tokens: Tensor, targets: Tensor) -> tuple[object, tuple[int, ...], Tensor]:
    """(where backward begins, shape of its gradient, () for a loss; a tensor to make that gradient like)."""
    plan = part.sharding
    share = plan.tensor if plan.sequence else 1
    like = next(part.parameters())
    x = tokens
    if not plan.first:
        x = received(tokens.shape[0], tokens.shape[1] // share, part.hidden, like=like).requires_grad_()
    out = part(x, targets if plan.last else None)
    return torch.autograd.graph.get_gradient_edge(out), tuple(out.shape), like


def _backward(part: Part, edge: object, shape: tuple[int, ...], like: Tensor) -> None:
    grad = (
        torch.ones((), dtype=torch.float32, device=like.device) if part.sharding.last else received(*shape, like=like)
    )
    torch.autograd.backward((edge,), (grad,))
