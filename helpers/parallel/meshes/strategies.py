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
    training, (run, paper, by) = Training(WIDE, optimizer="adamw"), made
    how |= {"axes": axes}
    return Strategy(f"mesh, {name}", partial(run, **how), partial(paper, **how), training, prod(astuple(axes)), by)


STRATEGIES = (
    _strategy("DP x TP", OURS, Axes(replica=2, tensor=2), way="sequence"),
    _strategy("ZeRO-3 x TP", OURS, Axes(shard=2, tensor=2)),
    _strategy("FSDP2 x DTensor", TORCH, Axes(shard=2, tensor=2)),
    _strategy("ZeRO-3 x TP, checkpointed", OURS, Axes(shard=2, tensor=2), checkpoint=True),
    _strategy("FSDP2 x DTensor, checkpointed", TORCH, Axes(shard=2, tensor=2), checkpoint=True),
    _strategy("TP x PP", PIPED, PipelineAxes(pipeline=2, tensor=2)),
    _strategy("TP x PP, sequence", PIPED, PipelineAxes(pipeline=2, tensor=2), way="sequence"),
)
THREE = (
    _strategy("DP x ZeRO-3 x TP", OURS, Axes(2, 2, 2)),
    _strategy("HSDP x DTensor", TORCH, Axes(2, 2, 2)),
    _strategy("DP x PP x TP", PIPED, PipelineAxes(2, 2, 2)),
)
