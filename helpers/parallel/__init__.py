"""Training on many ranks, a file a strategy: data, sharded, and what they are compared with. Chapters: data-parallel, sharded.

    with Ranks(4) as ranks:
        results = ranks.run(data.averaged, Training())

Strategies are modules (`from helpers.parallel import data`, or `parallel.data`), their table is `helpers.parallel.table`.
"""

import importlib
import importlib.util
from types import ModuleType

from helpers.ranks.machine import server

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
    "share",
    "train",
]


def __getattr__(name: str) -> ModuleType:
    """A module of ours when it is first named: all of them at once would take half a second of every import."""
    if name.startswith("_") or not importlib.util.find_spec(f"{__name__}.{name}"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
