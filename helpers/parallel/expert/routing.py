"""Top-k routing with a capacity: which token goes into which slot of which expert, and which is dropped. Chapter: expert.

Every expert has `capacity` slots for the tokens of one rank, whether they are filled or not, so that all ranks exchange equally many
bytes and no rank has to know what the others chose (GShard, arXiv 2006.16668; Switch, arXiv 2101.03961). First choices are served before
second ones, and among these earlier tokens first. A token that finds no slot is dropped by that expert; only the residual carries it on.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Routing(NamedTuple):
    """Of the tokens of one rank. slot: int64 [tokens, k], among experts * capacity, -1 where dropped; weight: [tokens, k], the
    router's softmax over all experts, of the chosen ones."""

    slot: Tensor
    weight: Tensor

    @property
    def dropped(self) -> int:
        """Choices, not tokens, that found no slot."""
        return int((self.slot < 0).sum())


def capacity(tokens: int, k: int, experts: int, factor: float) -> int:
    """Slots of one expert for one rank's tokens: factor times an even share, rounded up, at least one."""
    return max(1, ceil(Fraction(tokens * k, experts) * Fraction(factor)))


def routed(scores: Tensor, k: int, slots: int) -> Routing:
    """scores: [tokens, experts], of the router, for the tokens of one rank; slots: of each expert."""
    tokens, experts = scores.shape
    weight, chosen = F.softmax(scores, -1).topk(k, -1)
    first = chosen.t().flatten()  # all first choices, then all second ones
    taken = F.one_hot(first, experts).cumsum(0).gather(1, first[:, None])[:, 0] - 1
    slot = torch.where(taken < slots, first * slots + taken, -1)
    return Routing(slot.view(k, tokens).t(), weight)


def dispatched(x: Tensor, routing: Routing, nslots: int) -> Tensor:
    """Tokens in their slots: [tokens, width] -> [nslots, width]. Empty slots are zeros."""
    filled = routing.slot >= 0
    which = filled.nonzero()[:, 0]
    return x.new_zeros(nslots, x.shape[1]).index_put((routing.slot[filled],), x[which])


def combined(answers: Tensor, routing: Routing) -> Tensor:
    """The weighted sum of a token's answers: [nslots, width] -> [tokens, width]. What was dropped adds nothing."""
    filled = routing.slot >= 0
    found = answers[routing.slot.clamp(min=0)] * (routing.weight * filled)[..., None]
    return found.sum(1)
