"""Who moves the bytes of a collective, what that takes from a matrix product beside it, and one-sided handing over."""

from helpers.nccl.movers.beside import Held, beside, even, held, persistent
from helpers.nccl.movers.blocks import registered_blocks, symmetric_blocks
from helpers.nccl.movers.choice import COLLECTIVES, POLICIES, who_moves
from helpers.nccl.movers.handover import HandoverError, check_handover
from helpers.nccl.movers.ways import ENGINES, MOVERS, Mover

__all__ = [
    "COLLECTIVES",
    "ENGINES",
    "MOVERS",
    "POLICIES",
    "HandoverError",
    "Held",
    "Mover",
    "beside",
    "check_handover",
    "even",
    "held",
    "persistent",
    "registered_blocks",
    "symmetric_blocks",
    "who_moves",
]
