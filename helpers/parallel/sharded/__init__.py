"""Sharded data parallel: the states are divided too; our ZeRO, torch's FSDP2, and both in teams. Chapter: sharded."""

from . import fsdp2, ours
from .fsdp2 import How

STRATEGIES = (*ours.STRATEGIES, *fsdp2.STRATEGIES)
__all__ = ["STRATEGIES", "How", "fsdp2", "ours"]
