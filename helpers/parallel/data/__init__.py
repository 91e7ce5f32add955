"""Data parallel: all parameters everywhere, the batch divided; from an all_reduce a parameter to DDP. Chapter: data-parallel."""

from . import bucketed, ddp, naive, server
from .bucketed import Overlap
from .replicated import replicated

STRATEGIES = (*server.STRATEGIES, *naive.STRATEGIES, *bucketed.STRATEGIES, *ddp.STRATEGIES)
__all__ = ["STRATEGIES", "Overlap", "bucketed", "ddp", "naive", "replicated", "server"]
