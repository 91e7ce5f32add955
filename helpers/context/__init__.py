"""A sequence that is shared out among ranks: who has which tokens, who computes what, what moves, and what hides it. Chapter: context.

    chunks("zigzag", seq=16, nranks=4, rank=1)          # range(2, 4), range(12, 14)
    work("plain", 16, 4)                                # of every rank and step of the ring: how many scores count
    layer_passes("ring", keys=..., stream=..., nranks=4)  # what a layer moves, forward and backward

Ranks run the same placement (`helpers.parallel.context`), and it is what is drawn.
"""

from .chunks import ORDERS, chunk_pairs, chunks, positions, source
from .hiding import Ring, threshold
from .traffic import FORMS, Passes, Sent, layer_passes
from .work import seen, slowest, work, work_share

__all__ = [
    "FORMS",
    "ORDERS",
    "Passes",
    "Ring",
    "Sent",
    "chunk_pairs",
    "chunks",
    "layer_passes",
    "positions",
    "seen",
    "slowest",
    "source",
    "threshold",
    "work",
    "work_share",
]
