"""Checks that a lab speaks: claims, wanted errors, and a module of checkers per chapter (`from helpers.exercises import ring`).

Only those modules that play answers on real ranks import torch, so what draws or lists exercises can do without it.
"""

from .answer import Answer
from .claims import ClaimError, claim, gap, refuses

__all__ = ["Answer", "ClaimError", "claim", "gap", "refuses"]
