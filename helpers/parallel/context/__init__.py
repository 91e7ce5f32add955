"""Context parallel: one sequence on several ranks, its attention in a ring, gathered, or by heads. Chapter: context."""

from helpers.parallel.attention import blocks, ring

from . import activations, by_heads, cut, gathered, ours
from .cut import Cut, cut_model
from .ours import on

STRATEGIES = ours.STRATEGIES
__all__ = [
    "STRATEGIES",
    "Cut",
    "activations",
    "blocks",
    "by_heads",
    "cut",
    "cut_model",
    "gathered",
    "on",
    "ours",
    "ring",
]
