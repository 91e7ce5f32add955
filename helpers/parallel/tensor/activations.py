"""What a rank keeps of the deep MLP's activations from forward to backward: tracked, and on paper. Chapter: tensor-parallel.

A linear map keeps its input, for the gradient of its weight; a GELU keeps its own input; the loss keeps the error. With n = batch * width
elements, P ranks and L layers:

    way         kept                                            checkpointed: inputs of layers, and the error
    gathered    L n + (L - 1) n/P + n                           L n + n
    pairs       L n + L n/P                                     L/2 (n + n/P) + n
    sequence    L/2 (n + 3 n/P) - n/P + n                       n + (L - 1) n/P + n

So cutting matrices alone leaves whole activations on every rank, and "sequence" cuts what lies between pairs. It keeps what it
gathers, too: Korthikanti et al. keep the part and gather once more in backward, which checkpointing does here.
"""

from __future__ import annotations

from fractions import Fraction

import torch.distributed as dist

from helpers.memory import CLASSES
from helpers.parallel.model import MLP
from helpers.parallel.reference import Training
from helpers.parallel.strategy import watched

from .cuts import check
from .divided import Divided

AFTER_FORWARD = "after forward"


def kept(training: Training, way: str, checkpoint: bool = False) -> int:
    """Inside a rank: bytes of activations alive after one forward, by the tracker. All ranks are one tensor parallel group."""
    model = Divided(training.model, dist.group.WORLD, way, checkpoint)
    params = model.slices(training.params())
    with watched(model, params) as watch:
        x, y = training.data(0)
        loss = model.loss(model.forward(params, x), y)
        watch.tracker.mark(AFTER_FORWARD)
        loss.backward()
    trace = watch.tracker.trace
    at = next(i for i, name, _ in trace.marks if name == AFTER_FORWARD)
    return int(trace.by_class[at][CLASSES.index("activation")])


def predicted(training: Training, nranks: int, way: str, checkpoint: bool = False) -> Fraction:
    """The table above, in bytes. ValueError for another model than the MLP, and as `cuts.check`."""
    model = training.model
    if not isinstance(model, MLP):
        raise ValueError(f"the table is of the deep MLP, got {type(model).__name__}")
    check(model, way, nranks, training.batch)
    layers, part = model.layers, Fraction(1, nranks)
    whole = {
        "gathered": layers + (layers - 1) * part + 1,
        "pairs": layers + layers * part,
        "sequence": Fraction(layers, 2) * (1 + 3 * part) - part + 1,
    }
    again = {
        "gathered": layers + 1,
        "pairs": Fraction(layers, 2) * (1 + part) + 1,
        "sequence": 1 + (layers - 1) * part + 1,
    }
    return (again if checkpoint else whole)[way] * training.batch * model.width * training.itemsize
