"""A model whose matrices are cut among the ranks of a group: a Model again, what trains a Model trains it. Chapter: tensor-parallel."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.parallel.model import MLP, Batch, Model, Params

from .conjugates import all_gather, copied, gathered, joined, own_part, parted, scattered, summed
from .cuts import check, cuts, shapes
from .recompute import recomputed

TOKENS = 1  # the dimension of tokens in [batch, seq, width]


@dataclass(frozen=True)
class Divided(Model):
    """`model` among the ranks of `group`, in one of the WAYS. Ask for it inside a rank. ValueError as `cuts.check`.

    checkpoint: keep only the inputs of layers (of blocks, in a Transformer), and compute the rest again in backward.
    Its x and its output are whole, and the same on every rank of the group.
    """

    model: Model
    group: dist.ProcessGroup
    way: str = "pairs"
    checkpoint: bool = False

    def __post_init__(self) -> None:
        check(self.model, self.way, self.group.size())

    @property
    def depth(self) -> int:
        return self.model.depth

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return shapes(self.model, self.way, self.group.size())

    def slices(self, params: Params) -> Params:
        """This rank's slices of whole parameters: copies, leaves that want gradients."""
        cut = cuts(self.model, self.way)
        with torch.no_grad():
            return {n: nn.Parameter(self._slice(p, cut[n])) for n, p in params.items()}

    def _slice(self, p: Tensor, dim: int | None) -> Tensor:
        return p.clone() if dim is None else own_part(p, dim, self.group).contiguous()

    def whole(self, params: Params) -> Params:
        """Every rank's slices put together. All ranks of the group have to ask."""
        cut = cuts(self.model, self.way)
        return {n: p if cut[n] is None else all_gather(p.detach(), cut[n], self.group) for n, p in params.items()}

    def layer(self, i: int, params: Params, x: Tensor) -> Tensor:
        own = {name: params[name] for name in self.model.names(i)}
        kept = isinstance(self.model, MLP) or 0 < i < self.depth - 1
        if self.checkpoint and kept:
            return recomputed(lambda these, y: self._layer(i, these, y), own, x)
        return self._layer(i, own, x)

    def _layer(self, i: int, params: Params, x: Tensor) -> Tensor:
        if isinstance(self.model, MLP):
            return self._matrix(i, params[f"{i}.weight"], x)
        if 0 < i < self.depth - 1:
            own = {name.partition(".")[2]: p for name, p in params.items()}
            return self._gathered_block(own, x) if self.way == "gathered" else self._block(own, x)
        if self.way != "sequence":
            return self.model.layer(i, params, x)
        if i == 0:
            return parted(self.model.layer(0, params, x), self.group, TOKENS)
        return self.model.layer(i, params, joined(x, self.group, TOKENS))

    def _matrix(self, i: int, weight: Tensor, x: Tensor) -> Tensor:
        """One layer of the MLP: by outputs and gathered; or in pairs, of which the even ones are cut by outputs."""
        last = i == self.depth - 1
        if self.way == "gathered":
            out = F.linear(x, weight)
            return joined(out, self.group, -1) if last else gathered(F.gelu(out), self.group, -1)
        if i % 2 == 0:
            return F.gelu(F.linear(self._entered(x, 0) if i else x, weight))
        out = F.linear(x, weight)
        return summed(out, self.group) if last else F.gelu(self._left(out, 0))

    def _block(self, own: Params, x: Tensor) -> Tensor:
        """A transformer's block: two pairs."""
        model = self.model
        x = x + self._left(model.attention(own, self._entered(self._normed(own["norm1"], x), TOKENS)), TOKENS)
        return x + self._left(model.mlp(own, self._entered(self._normed(own["norm2"], x), TOKENS)), TOKENS)

    def _gathered_block(self, own: Params, x: Tensor) -> Tensor:
        """Each of the four maps cut by its outputs. Heads need nobody else's: they are gathered for the map behind them."""
        model, group = self.model, self.group
        heads = model.attended(own, copied(model.normed(x, own["norm1"]), group))
        x = x + joined(F.linear(gathered(heads, group, -1), own["o"]), group, -1)
        up = F.gelu(F.linear(copied(model.normed(x, own["norm2"]), group), own["up"]))
        return x + joined(F.linear(gathered(up, group, -1), own["down"]), group, -1)

    def _normed(self, weight: Tensor, x: Tensor) -> Tensor:
        """A norm of some of the tokens sees some of the gradient of its weight: `copied` adds these up."""
        return self.model.normed(x, copied(weight, self.group) if self.way == "sequence" else weight)

    def _entered(self, x: Tensor, dim: int) -> Tensor:
        """Into a pair: the same on every rank, or tokens, of which all are wanted."""
        return gathered(x, self.group, dim) if self.way == "sequence" else copied(x, self.group)

    def _left(self, x: Tensor, dim: int) -> Tensor:
        """Out of a pair: partial sums."""
        return scattered(x, self.group, dim) if self.way == "sequence" else summed(x, self.group)

    def loss_sum(self, out: Tensor, y: Tensor) -> tuple[Tensor, int]:
        return self.model.loss_sum(out, y)

    def data(self, seed: int, step: int, batch: int, dtype: torch.dtype = torch.float64, padded: bool = False) -> Batch:
        return self.model.data(seed, step, batch, dtype, padded)
