"""Checks that a lab speaks: claims, wanted errors, and one checker per exercise (`exercises.ring.other_way_round`)."""

from . import primitives, ranks, ring
from .answer import Answer
from .claims import ClaimError, claim, gap, refuses

__all__ = ["Answer", "ClaimError", "claim", "gap", "primitives", "ranks", "refuses", "ring"]
