"""ZeRO-1, -2 and -3 of helpers.parallel.zero, and its hybrid, trained, counted and held against the formula. Chapter: sharded.

What data must move, when, and why, with N bytes of parameters, as many of gradients, and P ranks:
- stage 1 and 2: every rank needs all parameters for forward and only its part of the gradients for the step. Gradients by a
  reduce_scatter, N(P-1)/P; the new parameters by an all_gather, N(P-1)/P. Together 2N(P-1)/P, what an all_reduce moves.
- stage 3: no rank keeps the parameters. They are gathered before forward, dropped, gathered again before backward, and the
  gradients are scattered: 3N(P-1)/P, half as much again (ZeRO, SC20, section 7.2). Counting one gather, as is often done,
  makes it look free.
- hybrid: the same inside a team of S ranks, 3N(S-1)/S, and an all_reduce of each share N/S among the R teams: 2(N/S)(R-1)/R.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import torch

from helpers.parallel.checks import divides
from helpers.parallel.data.replicated import local_loss_of, mean_over_ranks
from helpers.parallel.model import Model
from helpers.parallel.module import Module
from helpers.parallel.reference import Trained, Training, step_counts
from helpers.parallel.strategy import Predicted, Strategy, watched
from helpers.parallel.zero import Group, Hybrid, Zero

TEAM = 2  # ranks that share out one replica in the table's hybrid


def zero(training: Training, stage: int, prefetch: bool = False, team: int | None = None) -> Trained:
    """Inside a rank: forward and backward as usual, Zero's hooks gather and reduce. team: ranks of one replica (None: all)."""
    params, losses = training.params(), []
    module = Module(training.model, params)
    group = Group() if team is None else Hybrid(team)
    ours = Zero(module, stage, group=group, prefetch=prefetch, optimizer=training.make_optimizer)
    with watched(training.model, module, ours.optimizer) as watch:
        ours.tell(watch.see)
        for step in range(training.steps):
            loss = local_loss_of(training, module, step)
            loss.backward()
            watch.after_backward()
            ours.step()
            ours.zero_grad()
            losses.append(loss.detach())
    for unit in ours.units:
        unit.gather()
    return watch.trained(mean_over_ranks(losses), module.by_name())


def unit_sizes(model: Model) -> list[int]:
    """Elements of each layer."""
    return [sum(torch.Size(model.shapes[name]).numel() for name in model.names(i)) for i in range(model.depth)]


def padded(model: Model, nranks: int) -> int:
    """Elements of all layers, each filled up until the ranks divide it."""
    return sum(-(-one // nranks) * nranks for one in unit_sizes(model))


def predicted(training: Training, nranks: int, rank: int = 0, *, stage: int, team: int | None = None) -> Predicted:
    """See above. Calls: one of each kind for each layer and step, and in stage 3 two gathers."""
    divides(nranks, "ranks", training.batch, "batch")
    nshards = nranks if team is None else team
    teams = divides(nshards, "ranks of a team", nranks, "ranks")
    layers, gathers = training.model.depth * training.steps, 2 if stage == 3 else 1
    n = padded(training.model, nshards) * training.itemsize * training.steps
    calls = {"all_gather": gathers * layers, "reduce_scatter": layers}
    once = n * Fraction(nshards - 1, nshards)
    sent = {"all_gather": gathers * once, "reduce_scatter": once}
    if team is not None:
        calls["all_reduce"] = layers
        sent["all_reduce"] = Fraction(n, nshards) * Fraction(2 * (teams - 1), teams)
    return Predicted(calls, sent, held(training, nshards, stage))


def held(training: Training, nranks: int, stage: int) -> dict[str, int]:
    """Bytes between backward and step: what the stage shares out is divided by the ranks.

    The optimizer's state is shared out from stage 1 on, gradients from 2 on, parameters in 3.
    """
    n = padded(training.model, nranks) * training.itemsize
    adamw = 2 * n // nranks + step_counts(training.model.depth)
    return {
        "parameter": n // nranks if stage == 3 else n,
        "gradient": n // nranks if stage > 1 else n,
        "optimizer": adamw if training.optimizer == "adamw" else 0,
    }


def _strategy(name: str, **how: int) -> Strategy:
    training = Training(optimizer="adamw")
    return Strategy(f"sharded, {name}", partial(zero, **how), partial(predicted, **how), training)


STRATEGIES = (
    _strategy("ZeRO-1", stage=1),
    _strategy("ZeRO-2", stage=2),
    _strategy("ZeRO-3", stage=3),
    _strategy("ZeRO-3 in teams of two", stage=3, team=TEAM),
)
