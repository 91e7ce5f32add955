"""A transformer's part on one rank: fewer heads, narrower MLPs, a piece of the vocabulary, some of the layers and experts.

Tensor parallelism as in Megatron (Shoeybi et al. 2019): columns of the first linear map and rows of the second, so that one sum over
ranks ends each half of a block. That sum is in place, and takes no buffer that torch could see. Chapter: too-big.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.facts import Model
from helpers.memory.sharding import Sharding, ShardingError
from helpers.step.models import Transformer, angles, cross_entropy, known

from .context import core
from .moves import Column, Exchange, Gather, Gathered, Scatter


class Part(Transformer):
    """What one rank holds and computes. Tokens go in at the first stage, else the stream [batch, tokens, hidden] of the one before;
    the last stage gives the loss, the others hand on the stream. A context rank gets its own tokens of a sequence and no others.

    shape: of the whole model. Embedding and head hold vocab / tensor rows, rounded up; norms, positions and biases added after a sum
    are on every rank.
    """

    def __init__(self, shape: Model, sharding: Sharding, attention: str = "flash", dropout: float = 0.0, **where):
        super().__init__(slice_of(shape, sharding), attention, dropout, **where)
        self.sharding, self.rotary, self.hidden = sharding, self.positions is None, shape.hidden
        if not sharding.first:
            self.embedding = self.positions = None
        if not sharding.last:
            self.norm = self.head = None
        for layer in self.layers if sharding.context > 1 else ():
            layer.attention.core = core(layer.attention, sharding)
        if sharding.sequence:
            self._share_tokens()
        if sharding.expert > 1:
            self._share_experts()

    def _share_tokens(self) -> None:
        nranks = self.sharding.tensor
        for layer in self.layers:
            layer.attention = Gathered(layer.attention, ("q", "k", "v"), nranks)
            columns = ("gate", "up") if hasattr(layer.mlp, "gate") else ("up",)
            layer.mlp = Gathered(layer.mlp, columns, nranks)
        if self.sharding.last:
            self.head = Column(self.head, nranks)

    def _share_experts(self) -> None:
        for layer in self.layers:
            mine = len(layer.mlp.experts) // self.sharding.expert
            layer.mlp.experts = Elsewhere(list(layer.mlp.experts)[:mine], layer.mlp.counts)
            layer.mlp.answers = partial(answers, layer.mlp.experts)

    def forward(self, x: Tensor, targets: Tensor | None = None) -> Tensor:
        """x: tokens [batch, tokens] or the stream; targets: the last stage's."""
        tokens = x.shape[1]
        if self.sharding.first:
            x = self.embedded(x)
        elif self.sharding.sequence:
            tokens *= self.sharding.tensor
        turns = angles(tokens, self.head_dim, x) if self.rotary else None
        for layer in self.layers:
            x = layer(x, turns)
        if not self.sharding.last:
            return x
        x = self.norm(x)  # the same name: the stream before it is not needed any more
        if self.sharding.sequence and self.chunks > 1:
            x = Gather.apply(x, self.sharding.tensor)
        return x if self.apart else self.loss(x, targets)

    def embedded(self, tokens: Tensor) -> Tensor:
        """As in the whole model; with sequence parallelism this rank's tokens of it."""
        if not self.sharding.sequence:
            return super().embedded(tokens)
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        x = Scatter.apply(x, self.sharding.tensor)
        return F.dropout(x, self.dropout, self.training) if self.dropout else x

    def loss(self, x: Tensor, targets: Tensor) -> Tensor:
        """Over this rank's piece of the vocabulary: the sums over the rest are two numbers a token.

        In pieces it is of the tokens of all ranks, gathered once (torchtitan's norm before the head does so); else of this rank's, whose
        neighbours' are gathered again in backward.
        """
        if not self.sharding.sequence or self.chunks > 1:
            return super().loss(x, targets)
        with self.head.of(x):
            logits = self.head(Gather.apply(x, self.sharding.tensor))
        return cross_entropy(logits, targets)


def check_part(shape: Model, sharding: Sharding, seq: int) -> None:
    """ShardingError for what its ranks cannot share evenly, or what is not written here."""
    sharding.check(shape, seq)
    if sharding.sequence and shape.experts:
        raise ShardingError(f"{shape.name}: experts under sequence parallelism are not written; take sequence=False")


def slice_of(shape: Model, sharding: Sharding) -> Model:
    """The shape of one rank's part: a Model of its own, but for the experts."""
    t = sharding.tensor
    return replace(
        shape,
        layers=shape.layers // sharding.pipeline,
        heads=shape.heads // t,
        kv_heads=shape.kv_heads // t,
        ffn=shape.ffn // t,
        vocab=-(-shape.vocab // t),
    )


class Elsewhere(nn.ModuleList):
    """This rank's experts: rows [visits, hidden] go to the ranks of theirs, and the answers come back.

    As many rows come in as go out, in balance. counts: rows of each expert here, from what was chosen.
    """

    def __init__(self, experts: Iterable[nn.Module], counts: Callable[[Tensor], list[int]]):
        super().__init__(experts)
        self.counts = counts

    def forward(self, visits: Tensor, chosen: Tensor) -> Tensor:
        pieces = Exchange.apply(visits).split(self.counts(chosen))
        return Exchange.apply(torch.cat([expert(piece) for expert, piece in zip(self, pieces, strict=True)]))


def answers(experts: Elsewhere, visits: Tensor, chosen: Tensor) -> list[Tensor]:
    """As Experts.answers, all in one piece."""
    return [experts(visits, chosen)]


def part(
    model: Model | str,
    sharding: Sharding,
    seq: int | None = None,
    *,
    attention="flash",
    dropout=0.0,
    dtype=torch.float32,
) -> Part:
    """This rank's part on the meta device. ShardingError, before anything is built, for what its ranks cannot share evenly."""
    shape = known(model)
    check_part(shape, sharding, seq or shape.context)
    return Part(shape, sharding, attention, dropout, device="meta", dtype=dtype)
