"""Annotations: how the batch and each matrix lie, written once, and what DTensor and XLA put in to make it so. Chapter: annotations."""

from . import blocks, by_dtensor, by_jax, recording
from .by_hand import by_hand, total
from .by_jax import NoJaxError
from .layouts import LAYOUTS, Layout

__all__ = ["LAYOUTS", "Layout", "NoJaxError", "blocks", "by_dtensor", "by_hand", "by_jax", "recording", "total"]
