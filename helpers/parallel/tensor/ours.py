"""Tensor parallel training: every rank has slices of the matrices and sees the whole batch. Chapter: tensor-parallel.

What data must move, when, and why: a rank's matrices give a part of the outputs, or a part of a sum. The next rank's work needs the
whole, so activations move inside every layer, forward and backward, and nothing can be computed meanwhile. They grow with the batch,
not with the parameters. With N bytes of activations [batch, seq, width] and P ranks, a block of a transformer moves in a step
- "pairs": 4 all_reduces, 8N(P-1)/P; with checkpointing 6, for the forward is computed twice: 12N(P-1)/P;
- "sequence": 4 all_gathers and 4 reduce_scatters, again 8N(P-1)/P, and the gradients of two norms;
- "gathered": with F bytes [batch, seq, ffn]: (8N + 2F)(P-1)/P.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import prod

import torch.distributed as dist

from helpers.parallel.model import MLP, Model, Transformer
from helpers.parallel.reference import Trained, Training, step_counts
from helpers.parallel.strategy import Predicted, Strategy, watched

from .cuts import Moves, check, shapes, traffic
from .divided import Divided

SHARE = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1}  # times N(P-1)/P is what a rank sends


def tensor(training: Training, way: str = "pairs", checkpoint: bool = False) -> Trained:
    """Inside a rank: all ranks are one tensor parallel group."""
    model = Divided(training.model, dist.group.WORLD, way, checkpoint)
    check(training.model, way, dist.get_world_size(), training.batch)
    params, losses = model.slices(training.params()), []
    optimizer = training.make_optimizer(params.values())
    with watched(model, params, optimizer) as watch:
        for step in range(training.steps):
            x, y = training.data(step)
            loss = model.loss(model.forward(params, x), y)
            loss.backward()
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return watch.trained(losses, model.whole(params))


def predicted(
    training: Training, nranks: int, rank: int = 0, way: str = "pairs", checkpoint: bool = False
) -> Predicted:
    """Calls and bytes of `traffic`; slices of parameters, gradients and states. ValueError as `cuts.check`."""
    check(training.model, way, nranks, training.batch)
    moves = step_moves(training.model, way, training.batch, checkpoint)
    calls = {op: training.steps * sum(one == op for one, _ in moves) for op in SHARE}
    sent = {op: training.steps * sent_bytes(moves, op, nranks, training.itemsize) for op in SHARE}
    return Predicted(calls, sent, held(training, way, nranks))


def step_moves(model: Model, way: str, batch: int, checkpoint: bool = False) -> Moves:
    """All of one step, in no order: forward, backward, and forward again of what is checkpointed."""
    found: Moves = []
    for i, layer in enumerate(traffic(model, way, batch)):
        again = checkpoint and (isinstance(model, MLP) or 0 < i < model.depth - 1)
        found += layer.forward * (1 + again) + layer.backward
    return found


def sent_bytes(moves: Moves, op: str, nranks: int, itemsize: int) -> Fraction:
    """What a rank sends in calls of one operation."""
    return sum(n for one, n in moves if one == op) * itemsize * Fraction(SHARE[op] * (nranks - 1), nranks)


def held(training: Training, way: str, nranks: int) -> dict[str, int]:
    """Bytes between backward and step: of this rank's slices, and of what every rank has whole."""
    mine = [prod(shape) for shape in shapes(training.model, way, nranks).values()]
    return states(training, sum(mine), len(mine))


def states(training: Training, numel: int, tensors: int) -> dict[str, int]:
    """Of a rank that holds and updates `numel` elements in so many tensors. SGD without momentum keeps nothing."""
    n = numel * training.itemsize
    adamw = 2 * n + step_counts(tensors)
    return {"parameter": n, "gradient": n, "optimizer": adamw if training.optimizer == "adamw" else 0}


WIDE = Transformer(kv_heads=4)  # so that four ranks divide its heads of keys and values


def _strategy(name: str, training: Training, **how: object) -> Strategy:
    return Strategy(f"tensor, {name}", partial(tensor, **how), partial(predicted, **how), training)


STRATEGIES = (
    _strategy("gathered", Training(), way="gathered"),
    _strategy("pairs", Training(), way="pairs"),
    _strategy("sequence", Training(), way="sequence"),
    _strategy("transformer, gathered", Training(WIDE, optimizer="adamw"), way="gathered"),
    _strategy("transformer, pairs", Training(WIDE, optimizer="adamw"), way="pairs"),
    _strategy("transformer, sequence", Training(WIDE, optimizer="adamw"), way="sequence"),
    _strategy("transformer, checkpointed", Training(WIDE, optimizer="adamw"), way="sequence", checkpoint=True),
)
