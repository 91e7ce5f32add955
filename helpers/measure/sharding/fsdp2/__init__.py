"""torch's FSDP2 on paper: every buffer that fully_shard makes and frees, in its order; nothing is sent. Chapters: sharded, too-big.

Written from torch 2.13, torch/distributed/fsdp/_fully_shard, and held against it on real ranks (tests). What decides the memory:

- Each parameter is cut along its first dimension on its own, filled up to equally many rows for every rank. Shards, their gradients and
  the optimizer's numbers are fp32; what computes is gathered in the policy's type.
- In forward a unit's gathered buffer lives until the next unit has copied its own out; in backward it goes at once, and the unit that comes
  next is asked for meanwhile.
- The input of a reduction lives until the next unit's reduction, the last gradient copied into it until the reduction is issued.
- Among replicas (HSDP) a share crosses in place, and what crossed stays until backward is over, of every unit: where the reduction has a
  type of its own or adds to an earlier gradient, those are bytes beside the gradients.
- Experts that are elsewhere are a group of their own in their block's unit, as in torchtitan: cut among the ranks that have the same ones,
  gathered behind the rest and reduced before it; and units are asked for by name, one ahead, in forward, too. The matrices of each expert
  are cut by rows; torchtitan's, stacked, along the experts. One rank alone with its experts casts and copies what it would gather.
- In a pipeline no micro-batch is reduced on its own (stages.py).
- A unit whose inputs want no gradient (the embedding, the root) is reduced when backward is over.
- Some of a unit's modules may run again (a head, once for each piece of the loss) or not at all: then its forward ends with the root's.
  What comes into a unit that begins anew is watched anew: so a head whose pieces are computed again is reduced twice.
"""

from .model import FullyShard
from .piece import Piece
from .stages import Stages
from .unit import Unit, Wire
from .units import units

__all__ = ["FullyShard", "Piece", "Stages", "Unit", "Wire", "units"]
