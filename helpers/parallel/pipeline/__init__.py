"""Pipeline parallel: each rank has some layers, microbatches pass through all of them, forward and back. Chapter: pipeline."""

from .strategies import STRATEGIES

__all__ = ["STRATEGIES"]
