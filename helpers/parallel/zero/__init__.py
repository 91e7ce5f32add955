"""ZeRO-1, -2 and -3 written plainly over torch.distributed: who keeps which part of the model states, and what moves. Chapter: too-big."""

from .adam import Adam
from .group import Alone, Done, Group, Hybrid, Paper
from .training import Zero
from .unit import Unit
from .watched import watched

__all__ = ["Adam", "Alone", "Done", "Group", "Hybrid", "Paper", "Unit", "Zero", "watched"]
