"""What a rank keeps of activations from forward to backward when it has some of the tokens, by the tracker. Chapter: context.

A ring keeps for each of its tokens what one process keeps: keys and values of others are there for a step and gone. So it is a P-th,
but for the count of terms that the loss is divided by. Gathered keys stay until backward, in every layer, from all ranks.
"""

from __future__ import annotations

import torch.distributed as dist

from helpers.parallel.attention.ring import Group
from helpers.parallel.reference import Training
from helpers.parallel.strategy import watched

from .cut import cut_model

AFTER_FORWARD = "after forward"


def kept(training: Training, form: str = "ring", order: str = "plain", group: Group | None = None) -> int:
    """Inside a rank: bytes of activations alive after one forward. group: those that share the sequence, by default all ranks."""
    cut = cut_model(training.model, group or dist.group.WORLD, form, order)
    params, (x, y) = training.params(), training.data(0)
    mine = cut.own(x), cut.own(y)
    with watched(cut, params) as watch:
        total, _ = cut.loss_sum(cut.forward(params, mine[0]), mine[1])
        watch.tracker.mark(AFTER_FORWARD)
        total.backward()
    return watch.tracker.trace.at(AFTER_FORWARD)["activation"]
