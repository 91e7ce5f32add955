"""Training on many ranks, a file a strategy: data, sharded, and what they are compared with. Chapters: data-parallel, sharded.

    with Ranks(4) as ranks:
        results = ranks.run(data.averaged, Training())

Strategies are modules (`from helpers.parallel import data`), their table is `helpers.parallel.table`.
"""

from helpers.ranks.machine import server

from . import module
from .counting import Moved, counted
from .model import MLP, Batch, Transformer, share
from .reference import Trained, Training, difference, train
from .zero import Zero

# A rank's first optimizer imports torch's compiler, 2.7 s of one core. Four ranks on two cores: 17 s before, 1 s since.
server.also("torch._dynamo")

__all__ = [
    "MLP",
    "Batch",
    "Moved",
    "Trained",
    "Training",
    "Transformer",
    "Zero",
    "counted",
    "difference",
    "module",
    "share",
    "train",
]
