"""1F1B: which micro-batch a stage computes when, and how many wait for their backward. Chapter: too-big.

Narayanan et al. 2021 (arXiv 2104.04473): warm up with as many forwards as there are stages behind this one, then one forward, one backward.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from .moves import received
from .part import Part

Targets = tuple[Tensor, Tensor]


def order(stage: int, pipeline: int, micro_batches: int) -> Iterator[str]:
    """ "forward" and "backward", as this stage computes them; micro-batches go through in order."""
    warm = min(pipeline - stage - 1, micro_batches)
    yield from ["forward"] * warm
    for _ in range(micro_batches - warm):
        yield from ("forward", "backward")
    yield from ["backward"] * warm


def in_flight(stage: int, pipeline: int, micro_batches: int) -> int:
    """The most micro-batches whose activations stage `stage` holds at once."""
    return min(pipeline - stage, micro_batches)


def run(part: Part, batch: Callable[[], Targets], phase: Callable[[str], object], mark: Callable[[str], None]) -> None:
    """One step's forwards and backwards of all micro-batches. batch() gives tokens and targets of the next one.

    phase("forward") is entered around each forward, phase("backward") around each backward; mark("after forward") when most
    micro-batches wait, mark("after backward") at the end. An output that has been sent on is freed, as Megatron frees it.
    """
    plan, waiting, most = part.sharding, deque(), 0
    how_many = in_flight(plan.stage, plan.pipeline, plan.micro_batches)
    for what in order(plan.stage, plan.pipeline, plan.micro_batches):
        if what == "forward":
            with phase("forward"):
                waiting.append(_forward(part, *batch()))
            most += len(waiting) == how_many
            if most == 1 and len(waiting) == how_many:
                mark("after forward")
        else:
            with phase("backward"):
                _backward(part, *waiting.popleft())
    mark("after backward")


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
