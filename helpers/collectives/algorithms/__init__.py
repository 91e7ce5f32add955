"""The catalogue: every algorithm, by (collective, algorithm). One file per family.

`about(build)` tells what a builder's docstring says of it; `build.profile(nranks)` its loads, without building it.
"""

from . import bidirectional, bruck, exchange, flat, halving, hierarchical, ring, switch, tree, trees
from .shapes import double_tree

CATALOGUE = {
    ("all_reduce", "ring"): ring.all_reduce,
    ("all_reduce", "flat"): flat.all_reduce,
    ("all_reduce", "binomial"): tree.all_reduce,
    ("all_reduce", "bidirectional"): bidirectional.all_reduce,
    ("all_reduce", "binary-tree"): trees.all_reduce,
    ("all_reduce", "two-trees"): trees.all_reduce_two,
    ("all_reduce", "double-tree"): trees.all_reduce_double,
    ("all_reduce", "halving-doubling"): halving.all_reduce,
    ("all_reduce", "recursive-doubling"): halving.doubled_all_reduce,
    ("all_reduce", "one-shot"): exchange.one_shot,
    ("all_reduce", "two-shot"): exchange.two_shot,
    ("all_reduce", "nvls"): switch.all_reduce,
    ("all_reduce", "sharp"): switch.sharp,
    ("all_reduce", "hierarchical"): hierarchical.all_reduce,
    ("reduce_scatter", "ring"): ring.reduce_scatter,
    ("reduce_scatter", "flat"): flat.reduce_scatter,
    ("reduce_scatter", "bidirectional"): bidirectional.reduce_scatter,
    ("reduce_scatter", "recursive-halving"): halving.reduce_scatter,
    ("reduce_scatter", "bruck"): bruck.reduce_scatter,
    ("reduce_scatter", "pat"): bruck.pat_reduce_scatter,
    ("reduce_scatter", "nvls"): switch.reduce_scatter,
    ("reduce_scatter", "hierarchical"): hierarchical.reduce_scatter,
    ("all_gather", "ring"): ring.all_gather,
    ("all_gather", "flat"): flat.all_gather,
    ("all_gather", "bidirectional"): bidirectional.all_gather,
    ("all_gather", "recursive-doubling"): halving.all_gather,
    ("all_gather", "bruck"): bruck.all_gather,
    ("all_gather", "pat"): bruck.pat_all_gather,
    ("all_gather", "nvls"): switch.all_gather,
    ("all_gather", "hierarchical"): hierarchical.all_gather,
    ("broadcast", "ring"): ring.broadcast,
    ("broadcast", "flat"): flat.broadcast,
    ("broadcast", "binomial"): tree.broadcast,
    ("broadcast", "bidirectional"): bidirectional.broadcast,
    ("broadcast", "binary-tree"): trees.broadcast,
    ("broadcast", "two-trees"): trees.broadcast_two,
    ("reduce", "ring"): ring.reduce,
    ("reduce", "flat"): flat.reduce,
    ("reduce", "binomial"): tree.reduce,
    ("reduce", "bidirectional"): bidirectional.reduce,
    ("reduce", "binary-tree"): trees.reduce,
    ("reduce", "two-trees"): trees.reduce_two,
    ("scatter", "flat"): flat.scatter,
    ("scatter", "binomial"): tree.scatter,
    ("gather", "flat"): flat.gather,
    ("gather", "binomial"): tree.gather,
    ("all_to_all", "flat"): flat.all_to_all,
    ("all_to_all", "pairwise"): exchange.all_to_all,
    ("all_to_all", "bruck"): bruck.all_to_all,
}

__all__ = ["CATALOGUE", "double_tree"]
