"""What all data parallel strategies share: every rank holds everything and sees its part of the batch. Chapter: data-parallel.

After backward each rank has another gradient. Before the step all must have the mean, or the replicas drift apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.parallel.checks import divides
from helpers.parallel.model import Params, share
from helpers.parallel.reference import Trained, Training, step_counts
from helpers.parallel.strategy import Predicted, watched

Synchronise = Callable[[Params], None]


def replicated(training: Training, synchronise: Synchronise) -> Trained:
    """Inside a rank: forward and backward on its samples, `synchronise(params)`, step. The parameters start equal by their seed.

    synchronise has to leave in every .grad the gradient of the mean over the whole batch.
    """
    rank, nranks = dist.get_rank(), dist.get_world_size()
    params, losses = training.params(), []
    optimizer = training.make_optimizer(params.values())
    with watched(training.model, params, optimizer) as watch:
        for step in range(training.steps):
            loss = local_loss(training, params, step, rank, nranks)
            loss.backward()
            synchronise(params)
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
    return watch.trained(mean_over_ranks(losses), params)


def local_loss(training: Training, params: Params, step: int, rank: int, nranks: int) -> Tensor:
    """The mean over this rank's samples."""
    x, y = share(training.data(step), rank, nranks)
    return training.model.loss(training.model.forward(params, x), y)


def local_loss_of(training: Training, module: nn.Module, step: int, dtype: torch.dtype | None = None) -> Tensor:
    """The same through a module that torch or Zero has wrapped. dtype: what x is cast to, where the module computes in another type."""
    x, y = share(training.data(step), dist.get_rank(), dist.get_world_size())
    if dtype is not None and x.is_floating_point():
        x = x.to(dtype)
    return training.model.loss(module(x), y)


def mean_over_ranks(losses: Sequence[Tensor]) -> list[float]:
    """The global batch's losses where every rank has an equal share. One all_reduce, after all steps."""
    total = torch.stack([loss.double() for loss in losses])
    dist.all_reduce(total)
    return (total / dist.get_world_size()).tolist()


def nbytes(training: Training) -> int:
    """N of the formulas: bytes of all gradients."""
    return training.model.nparams * training.itemsize


def states(training: Training) -> dict[str, int]:
    """What a rank holds that holds everything: parameters, gradients of their size, and the optimizer's state.

    SGD without momentum keeps nothing. AdamW keeps two moments of the parameters' type, and a step count for each.
    """
    adamw = 2 * nbytes(training) + step_counts(len(training.model.shapes))
    return {
        "parameter": nbytes(training),
        "gradient": nbytes(training),
        "optimizer": adamw if training.optimizer == "adamw" else 0,
    }


def all_reduced(training: Training, nranks: int, calls: int, more: int = 0) -> Predicted:
    """Every gradient passes an all_reduce once a step: 2N(P-1)/P bytes from each rank, in `calls` calls a step.

    In a reduce_scatter every rank sends its N but for its own part, N(P-1)/P, and in the all_gather that follows the same once
    more. more: bytes besides the gradients a step.
    """
    divides(nranks, "ranks", training.batch, "batch")
    sent = Fraction(2 * (nranks - 1), nranks) * (nbytes(training) + more) * training.steps
    return Predicted({"all_reduce": calls * training.steps}, {"all_reduce": sent}, states(training))
