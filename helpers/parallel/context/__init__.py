"""Context parallel: one sequence on several ranks, its attention in a ring, gathered, or by heads. Chapter: context."""

from . import activations, blocks, by_heads, cut, gathered, ours, ring
from .cut import Cut, cut_model

STRATEGIES = ours.STRATEGIES
__all__ = ["STRATEGIES", "Cut", "activations", "blocks", "by_heads", "cut", "cut_model", "gathered", "ours", "ring"]
