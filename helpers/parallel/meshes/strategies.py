"""The meshes of the course's table, and those that want eight ranks. Chapter: meshes."""

from __future__ import annotations

from dataclasses import astuple
from functools import partial
from math import prod
from typing import Any

from helpers.parallel.reference import Training
from helpers.parallel.strategy import Strategy
from helpers.parallel.tensor.ours import WIDE

from . import ours, staged
from .axes import Axes, PipelineAxes
from .by_torch import by_torch, predicted_by_torch

OURS = ours.meshed, ours.predicted, "ours"
PIPED = staged.piped, staged.predicted, "ours"
TORCH = by_torch, predicted_by_torch, "FSDP2 and DTensor"


def _strategy(name: str, made: tuple[Any, Any, str], axes: Axes | PipelineAxes, **how: Any) -> Strategy:
    """made: what trains, its formula, and whose it is."""
    (run, paper, by), nranks = made, prod(astuple(axes))
    training = Training(WIDE, batch=2 * nranks, optimizer="adamw")
    how |= {"axes": axes}
    return Strategy(f"mesh, {name}", partial(run, **how), partial(paper, **how), training, nranks, by)


def on(nranks: int) -> tuple[Strategy, ...]:
    """Two axes: two tensor ranks, and the other half of so many ranks on the other axis. nranks: 4 or 8."""
    half = nranks // 2
    shards, stages = Axes(shard=half, tensor=2), PipelineAxes(pipeline=half, tensor=2)
    return (
        _strategy("DP x TP", OURS, Axes(replica=half, tensor=2), way="sequence"),
        _strategy("ZeRO-3 x TP", OURS, shards),
        _strategy("FSDP2 x DTensor", TORCH, shards),
        _strategy("ZeRO-3 x TP, checkpointed", OURS, shards, checkpoint=True),
        _strategy("FSDP2 x DTensor, checkpointed", TORCH, shards, checkpoint=True),
        _strategy("TP x PP", PIPED, stages),
        _strategy("TP x PP, sequence", PIPED, stages, way="sequence"),
    )


STRATEGIES = on(4)
THREE = (
    _strategy("DP x ZeRO-3 x TP", OURS, Axes(2, 2, 2)),
    _strategy("HSDP x DTensor", TORCH, Axes(2, 2, 2)),
    _strategy("DP x PP x TP", PIPED, PipelineAxes(2, 2, 2)),
)
