"""Checks that a lab speaks: claims, wanted errors, and one checker per exercise (`exercises.ring.other_way_round`)."""

from . import hangs, primitives, ranks, ring
from .answer import Answer
from .claims import ClaimError, claim, gap, refuses

__all__ = ["Answer", "ClaimError", "claim", "gap", "hangs", "primitives", "ranks", "refuses", "ring"]
