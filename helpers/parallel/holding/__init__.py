"""Who holds what: a training step on real ranks, stopped at every collective and every layer. Chapters: data-parallel, sharded."""

from .moments import SLOTS, Moments
from .ways import NRANKS, WAYS, step_of

__all__ = ["NRANKS", "SLOTS", "WAYS", "Moments", "step_of"]
