"""Tensor parallel: matrices cut among ranks, activations exchanged inside every layer; DTensor beside it. Chapter: tensor-parallel."""

from . import ours
from .divided import Divided

STRATEGIES = (*ours.STRATEGIES,)
__all__ = ["STRATEGIES", "Divided", "ours"]
