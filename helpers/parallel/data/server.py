"""The parameter server, the ancestor of data parallel: one rank keeps the truth, all others ask for it. Chapter: data-parallel.

Li et al., OSDI 2014; Dean et al., NIPS 2012. Here rank 0 serves, and computes its share of the batch too, synchronously. All gradients
go into one port and all parameters out of it: (P-1)N each way on rank 0, where an all_reduce has 2N(P-1)/P on every rank. That
is P/2 times as much on the busiest link, and it is why rings and trees took over. Only the server needs an optimizer.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.parallel.checks import divides
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, Strategy, watched

from .replicated import local_loss, mean_over_ranks, nbytes, states

SERVER = 0


def served(training: Training) -> Trained:
    """Inside a rank: push the gradient, let the server step, pull the parameters."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    params, losses = training.params(), []
    optimizer = training.make_optimizer(params.values()) if rank == SERVER else None
    with watched(training.model, params, optimizer) as watch:
        for step in range(training.steps):
            loss = local_loss(training, params, step, rank, nranks)
            loss.backward()
            _push(list(params.values()))
            watch.after_backward()
            if optimizer:
                optimizer.step()
            _pull(list(params.values()))
            losses.append(loss.detach())
    return watch.trained(mean_over_ranks(losses), params)


def _push(params: list[nn.Parameter]) -> None:
    """Gradients to the server, which takes their mean, rank by rank: there is no other sum than its own."""
    mine = torch.cat([p.grad.flatten() for p in params])
    if dist.get_rank() != SERVER:
        dist.send(mine, SERVER)
        return
    others = torch.empty_like(mine)
    for rank in range(1, dist.get_world_size()):
        dist.recv(others, rank)
        mine += others
    _spread(mine / dist.get_world_size(), [p.grad for p in params])


@torch.no_grad()
def _pull(params: list[nn.Parameter]) -> None:
    """Parameters from the server; what was pushed is forgotten."""
    whole = torch.cat([p.detach().flatten() for p in params])
    if dist.get_rank() != SERVER:
        dist.recv(whole, SERVER)
        _spread(whole, params)
    else:
        for rank in range(1, dist.get_world_size()):
            dist.send(whole, rank)
    for p in params:
        p.grad = None


def _spread(whole: Tensor, pieces: list[Tensor]) -> None:
    for piece, new in zip(pieces, whole.split([p.numel() for p in pieces]), strict=True):
        piece.copy_(new.view_as(piece))


def predicted(training: Training, nranks: int, rank: int = 0) -> Predicted:
    """The server receives P-1 gradients and sends P-1 times the parameters: N(P-1) each way. A worker: N each way."""
    divides(nranks, "ranks", training.batch, "batch")
    times = (nranks - 1 if rank == SERVER else 1) * training.steps
    held = states(training) if rank == SERVER else states(training) | {"optimizer": 0}
    return Predicted({"send": times, "recv": times}, {"send": times * nbytes(training)}, held)


STRATEGIES = (Strategy("data, parameter server", served, predicted),)
