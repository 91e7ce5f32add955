"""Tensor parallel: matrices cut among ranks, activations exchanged inside every layer; DTensor beside it. Chapter: tensor-parallel."""

from . import activations, conjugates, decoding, dtensor, matmul, ours, vocabulary
from .divided import Divided

STRATEGIES = (*ours.STRATEGIES, *dtensor.STRATEGIES)
__all__ = ["STRATEGIES", "Divided", "activations", "conjugates", "decoding", "dtensor", "matmul", "ours", "vocabulary"]
