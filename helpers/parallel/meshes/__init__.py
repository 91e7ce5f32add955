"""Meshes: replicas, shards and tensor slices at once, on two or three axes; FSDP2 over DTensor beside ours. Chapter: meshes."""

from .axes import Axes
from .by_torch import by_torch, predicted_by_torch
from .ours import meshed, predicted
from .strategies import STRATEGIES, THREE

__all__ = ["STRATEGIES", "THREE", "Axes", "by_torch", "meshed", "predicted", "predicted_by_torch"]
