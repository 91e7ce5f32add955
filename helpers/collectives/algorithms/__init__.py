"""The catalogue: every algorithm, by (collective, algorithm). One file per family."""

from . import flat, ring, tree

CATALOGUE = {
    ("all_reduce", "ring"): ring.all_reduce,
    ("all_reduce", "flat"): flat.all_reduce,
    ("all_reduce", "binomial"): tree.all_reduce,
    ("reduce_scatter", "ring"): ring.reduce_scatter,
    ("reduce_scatter", "flat"): flat.reduce_scatter,
    ("all_gather", "ring"): ring.all_gather,
    ("all_gather", "flat"): flat.all_gather,
    ("broadcast", "ring"): ring.broadcast,
    ("broadcast", "flat"): flat.broadcast,
    ("broadcast", "binomial"): tree.broadcast,
    ("reduce", "flat"): flat.reduce,
    ("reduce", "binomial"): tree.reduce,
    ("scatter", "flat"): flat.scatter,
    ("gather", "flat"): flat.gather,
    ("all_to_all", "flat"): flat.all_to_all,
}

__all__ = ["CATALOGUE"]
