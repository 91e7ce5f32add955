"""Data parallel in its plainest form: after backward, an all_reduce for every parameter. Chapter: data-parallel.

Three ways to the same mean, and the one that stays right when ranks have unequal work:
- `summed`: SUM, then divide by the ranks. What Gloo, NCCL and MPI all can.
- `averaged`: AVG, which divides by itself.
- `weighted`: each rank's sum of losses is divided by everybody's count of terms, so that a token counts the same on whatever
  rank it is. A mean of the ranks' means is another number as soon as one rank has fewer tokens.
"""

from __future__ import annotations

import torch
import torch.distributed as dist

from helpers.parallel.model import Params, share
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, Strategy, watched

from .replicated import all_reduced, replicated

COUNT = 8  # bytes of a number of tokens, int64


def summed(training: Training) -> Trained:
    """Inside a rank: add up over ranks, then divide."""

    def synchronise(params: Params) -> None:
        for p in params.values():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()

    return replicated(training, synchronise)


def averaged(training: Training) -> Trained:
    """Inside a rank: the backend divides."""

    def synchronise(params: Params) -> None:
        for p in params.values():
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)

    return replicated(training, synchronise)


def weighted(training: Training) -> Trained:
    """Inside a rank: right also where ranks have unequally many tokens (training.padded). One more all_reduce, of one number."""
    rank, nranks, model = dist.get_rank(), dist.get_world_size(), training.model
    params, losses = training.params(), []
    optimizer = training.make_optimizer(params.values())
    with watched(model, params, optimizer) as watch:
        for step in range(training.steps):
            x, y = share(training.data(step), rank, nranks)
            total, count = model.loss_sum(model.forward(params, x), y)
            everybodys = torch.tensor(count)
            dist.all_reduce(everybodys)
            loss = total / everybodys
            loss.backward()
            for p in params.values():
                dist.all_reduce(p.grad)  # already divided by the number of all tokens
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach().double())
    whole = torch.stack(losses)
    dist.all_reduce(whole)
    return watch.trained(whole.tolist(), params)


def predicted(training: Training, nranks: int, rank: int = 0) -> Predicted:
    """summed and averaged: a call for each parameter, 2N(P-1)/P bytes a step."""
    return all_reduced(training, nranks, len(training.model.shapes))


def predicted_weighted(training: Training, nranks: int, rank: int = 0) -> Predicted:
    """The same and one number of 8 bytes a step."""
    return all_reduced(training, nranks, len(training.model.shapes) + 1, COUNT)


STRATEGIES = (
    Strategy("data, sum and divide", summed, predicted),
    Strategy("data, avg", averaged, predicted),
    Strategy("data, token weights", weighted, predicted_weighted),
)
