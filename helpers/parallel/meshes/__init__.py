"""Meshes: replicas, shards, stages and tensor slices at once, on two or three axes; FSDP2 over DTensor beside ours. Chapter: meshes."""

from .axes import Axes, PipelineAxes, groups
from .by_torch import by_torch, predicted_by_torch
from .ours import by_axis, meshed, predicted
from .staged import by_axis as by_axis_piped
from .staged import piped
from .staged import predicted as predicted_piped
from .strategies import STRATEGIES, THREE, on

__all__ = [
    "STRATEGIES",
    "THREE",
    "Axes",
    "PipelineAxes",
    "by_axis",
    "by_axis_piped",
    "by_torch",
    "groups",
    "meshed",
    "on",
    "piped",
    "predicted",
    "predicted_by_torch",
    "predicted_piped",
]
