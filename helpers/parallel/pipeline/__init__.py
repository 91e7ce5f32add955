"""Pipeline parallel: each rank has some layers, microbatches pass through all of them, forward and back. Chapter: pipeline."""

from . import ours, torchs

STRATEGIES = (*ours.STRATEGIES, *torchs.STRATEGIES)
