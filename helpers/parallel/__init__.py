"""Training on many ranks, a file a strategy: data, sharded, and what they are compared with. Chapters: data-parallel, sharded.

    with Ranks(4) as ranks:
        results = ranks.run(data.averaged, Training())

Strategies are modules (`from helpers.parallel import data`), their table is `helpers.parallel.table`.
"""

from .counting import Moved, counted
from .model import MLP, Batch, Transformer, share
from .reference import Trained, Training, difference, train
from .zero import Zero

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
    "share",
    "train",
]
