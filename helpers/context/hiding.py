"""When a ring's messages hide behind its arithmetic: per link, as a formula and for a model. Chapter: context.

At each step a rank computes with one block of keys and values while the next arrives. For n tokens and k numbers a token in all heads of
keys, the block is 2 k n numbers of w bytes. A score and its sum over values take 4 h operations, with h numbers in all heads of queries.
With F operations a second and B bytes a second one way, computing lasts at least as long as sending from

    n = k w F / (2 h B)    where all n^2 scores are computed: a block before the diagonal in the plain order, or without a mask
    n = k w F / (h B)      in the zigzag order, which computes half of them at every step

tokens a rank. With as many heads of keys as of queries and two bytes, the first is F / B, the condition of ring attention's authors
(arXiv 2310.01889). It speaks of tokens a rank, not of the sequence, so more ranks want a longer one.
Backward computes twice as much, as `helpers.ledger.flops` counts it, and sends twice as much. Flash attention's kernel has a fifth product,
Q K^T once more, so it hides more than is told here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from helpers.facts import Link, Model

from .chunks import check
from .work import work

PER_SCORE = 4  # operations a score and number of a query: a product and a sum, against the key, and again for the value
BACKWARD = 2  # of backward by those of forward: two products for each
HALF = {"plain": 2, "zigzag": 1, "striped": 1}  # twice the share of a block's n^2 scores that is computed


def threshold(model: Model, flops: float, bandwidth: float, order: str = "zigzag", itemsize: int = 2) -> int:
    """Tokens a rank from which on a step of the forward lasts as long as its message. flops: a second; bandwidth: bytes a second one way.

    Tensor ranks divide both heads alike, so the number stays. Latency is left out.
    ValueError for another order, or a rate that is not positive.
    """
    if order not in HALF:
        raise ValueError(f"an order of tokens is one of {', '.join(HALF)}, got {order!r}")
    if not (flops > 0 and bandwidth > 0):
        raise ValueError(f"flops and bandwidth are above 0, got {flops!r} and {bandwidth!r}")
    heads = model.heads * model.head_dim
    return ceil(model.kv_hidden * itemsize * flops / (HALF[order] * heads * bandwidth))


@dataclass(frozen=True)
class Ring:
    """One layer's ring on one of `tensor` ranks that share its heads. seq: of the whole sequence; flops: a second of a GPU.

    batch: sequences that go round together.
    """

    model: Model
    seq: int
    nranks: int
    link: Link
    flops: float
    order: str = "zigzag"
    tensor: int = 1
    itemsize: int = 2
    batch: int = 1

    def __post_init__(self) -> None:
        check(self.order, self.seq, self.nranks)
        if not (self.tensor > 0 and self.flops > 0):
            raise ValueError(f"tensor ranks and flops are above 0, got {self.tensor!r} and {self.flops!r}")
        if not self.batch > 0:
            raise ValueError(f"batch is above 0, got {self.batch!r}")
        if self.model.kv_heads % self.tensor:
            raise ValueError(f"{self.tensor} tensor ranks do not share kv_heads {self.model.kv_heads} evenly")

    @property
    def block(self) -> int:
        """Bytes of one message: keys and values of a rank's tokens."""
        return 2 * self.model.kv_hidden // self.tensor * self.seq // self.nranks * self.itemsize * self.batch

    @property
    def sends(self) -> float:
        """Seconds of one message, a call of its own."""
        return self.link.call + self.link.seconds(self.block)

    def computes(self, backward: bool = False) -> list[float]:
        """Seconds of the slowest rank's scores that count, step by step, at `flops`."""
        heads = self.model.heads * self.model.head_dim // self.tensor
        each = PER_SCORE * heads * self.batch / self.flops * (BACKWARD if backward else 1)
        return [max(at) * each for at in zip(*work(self.order, self.seq, self.nranks), strict=True)]

    def under_way(self, backward: bool = False) -> list[int]:
        """Messages that each step of a rank has to hide: the next keys, and in backward from step 2 on the gradients of the last step."""
        last = self.nranks - 1
        return [(step < last) + (backward and step > 1) for step in range(self.nranks)]

    def lasts(self, backward: bool = False) -> float:
        """Seconds: each step takes what is longer, its arithmetic or its messages. At the end of backward the gradients come home."""
        steps = zip(self.computes(backward), self.under_way(backward), strict=True)
        home = self.sends if backward and self.nranks > 1 else 0.0
        return sum(max(seconds, messages * self.sends) for seconds, messages in steps) + home

    def exposed(self, backward: bool = False) -> float:
        """Seconds of it that are no arithmetic."""
        return self.lasts(backward) - sum(self.computes(backward))
