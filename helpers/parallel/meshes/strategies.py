"""The meshes of the course's table, and those that want eight ranks. Chapter: meshes."""

from __future__ import annotations

from dataclasses import astuple
from functools import partial
from math import prod
from typing import Any

from helpers.parallel.reference import Training
from helpers.parallel.strategy import Strategy
from helpers.parallel.tensor.ours import WIDE

from .axes import Axes
from .by_torch import by_torch, predicted_by_torch
from .ours import meshed, predicted


def _strategy(
    name: str, axes: Axes, run: Any = meshed, paper: Any = predicted, by: str = "ours", way: str = "pairs"
) -> Strategy:
    training = Training(WIDE, optimizer="adamw")
    how = {"axes": axes, "way": way}
    return Strategy(f"mesh, {name}", partial(run, **how), partial(paper, **how), training, prod(astuple(axes)), by)


STRATEGIES = (
    _strategy("DP x TP", Axes(replica=2, tensor=2), way="sequence"),
    _strategy("ZeRO-3 x TP", Axes(shard=2, tensor=2)),
    _strategy("FSDP2 x DTensor", Axes(shard=2, tensor=2), by_torch, predicted_by_torch, "FSDP2 and DTensor"),
)
THREE = (
    _strategy("DP x ZeRO-3 x TP", Axes(2, 2, 2)),
    _strategy("HSDP x DTensor", Axes(2, 2, 2), by_torch, predicted_by_torch, "FSDP2 and DTensor"),
)
