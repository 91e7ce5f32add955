"""A Transformer whose sequence is shared out: a Model again, what trains a Model trains it. Chapter: context.

Embedding, norms, MLPs, head and loss look at one token at a time, so each rank does them for its own. Positions go with the tokens: a
learned one is a row of its table, and a rotary one would be the angle of the same number. Only attention needs other ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.context import FORMS, positions
from helpers.context.chunks import check as check_order
from helpers.parallel.attention import ring
from helpers.parallel.checks import divides_all, whole
from helpers.parallel.model import Model, Params, Transformer

from . import by_heads, gathered

TOKENS = 1  # the dimension of tokens in [batch, seq, ...]


@dataclass(frozen=True)
class Cut(Transformer):
    """`seq` is that of the whole sequence; x and y are this rank's part of it. Make it inside a rank, by `cut_model`.

    done: gets a line for each product of a ring's forward, in every layer.
    """

    form: str = "ring"
    order: str = "plain"
    group: Any = None
    done: list[ring.Done] = field(default_factory=list, compare=False)

    @property
    def mine(self) -> Tensor:
        """The positions of this rank's tokens."""
        return torch.tensor(positions(self.order, self.seq, self.group.size(), self.group.rank()))

    def own(self, whole: Tensor) -> Tensor:
        """This rank's tokens of [batch, seq, ...]."""
        return whole.index_select(TOKENS, self.mine)

    def layer(self, i: int, params: Params, x: Tensor) -> Tensor:
        if i == 0:
            return F.embedding(x, params["0.tokens"]) + params["0.positions"][self.mine]
        return super().layer(i, params, x)

    def attended(self, own: Params, x: Tensor) -> Tensor:
        q, k, v = (F.linear(x, own[n]).unflatten(-1, (-1, self.head_width)).transpose(1, 2) for n in "qkv")
        return self._looked(q, k, v).transpose(1, 2).flatten(2)

    def _looked(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if self.form == "ring":
            return ring.attended(q, k, v, self.order, self.seq, self.group, self.done)
        if self.form == "gathered":
            return gathered.attended(q, k, v, self.order, self.seq, self.group)
        return by_heads.attended(q, k, v, self.group)


def cut_model(model: Transformer, group: Any, form: str = "ring", order: str = "plain") -> Cut:
    """Inside a rank. ValueError as `check`."""
    check(model, group.size(), form, order)
    sizes = {one.name: getattr(model, one.name) for one in fields(Transformer)}
    return Cut(**sizes, form=form, order=order, group=group)


def check(model: Model, nranks: int, form: str, order: str) -> None:
    """ValueError, before anything is launched, for what ranks cannot share out, with the nearest sizes that work."""
    if not isinstance(model, Transformer):
        raise ValueError(f"a sequence is that of a Transformer, got {type(model).__name__}")
    if form not in FORMS:
        raise ValueError(f"a way to share out attention is one of {', '.join(FORMS)}, got {form!r}")
    whole("context ranks", nranks)
    check_order(order, model.seq, nranks)
    if form == "heads":
        if order != "plain":
            raise ValueError(f"heads are shared out with tokens in the plain order, got {order!r}")
        divides_all(nranks, "context ranks", {"heads": model.heads, "kv_heads": model.kv_heads})
