"""ZeRO-1, -2 and -3 written plainly over torch.distributed: who keeps which part of the model states, and what moves. Chapter: too-big."""

from .adam import Adam
from .group import Alone, Group, Hybrid, Paper
from .training import Zero
from .unit import Unit

__all__ = ["Adam", "Alone", "Group", "Hybrid", "Paper", "Unit", "Zero"]
