"""Watching memory for real: the tracker, the prediction without the memory, the ladder of bandwidths."""

from .ledger import TrackError
from .tracker import Watch, track

__all__ = ["TrackError", "Watch", "track"]
