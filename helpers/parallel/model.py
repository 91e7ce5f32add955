"""The two models that every strategy trains: the deep MLP and a small transformer, as plain tensors by name. Chapter: data-parallel.

A model is a value: it knows the shapes of its parameters and what its layers compute, and holds nothing. Parameters are a
dict of tensors, "3.weight" is layer 3's, so a strategy may keep some layers, or slices of them, and call `layer` on what it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.facts import Model as Shape

from .checks import divides, whole

Params = dict[str, Tensor]
IGNORED = -100  # the target of a position that is padding: torch's cross_entropy leaves it out


class Batch(NamedTuple):
    """x: what the model sees; y: what it should say. The first dimension of both counts samples."""

    x: Tensor
    y: Tensor


class Model:
    """What both models share: seeded parameters, and a forward that is its layers one after the other.

    depth: how many layers there are to cut between. shapes: of every parameter, by name.
    """

    depth: int
    shapes: dict[str, tuple[int, ...]]

    def init(self, seed: int = 0, dtype: torch.dtype = torch.float64) -> Params:
        """The same numbers in every type, on every rank, on the default device; leaves that want gradients.

        Matrices are normal with variance 1 / (their inputs), norms are ones.
        """
        made, params = torch.Generator("cpu").manual_seed(seed), {}
        for name, shape in self.shapes.items():
            drawn = torch.randn(shape, generator=made, dtype=torch.float64, device="cpu") / shape[-1] ** 0.5
            value = torch.ones_like(drawn) if len(shape) == 1 else drawn
            params[name] = nn.Parameter(value.to(torch.get_default_device(), dtype))
        return params

    def names(self, i: int) -> list[str]:
        """The parameters of layer i."""
        return [name for name in self.shapes if name.startswith(f"{i}.")]

    @property
    def nparams(self) -> int:
        return sum(torch.Size(shape).numel() for shape in self.shapes.values())

    def layer(self, i: int, params: Params, x: Tensor) -> Tensor:
        """Layer i's output. params: at least its own, by their names."""
        raise NotImplementedError

    def forward(self, params: Params, x: Tensor) -> Tensor:
        for i in range(self.depth):
            x = self.layer(i, params, x)
        return x

    def loss(self, out: Tensor, y: Tensor) -> Tensor:
        """The mean over what counts: a scalar."""
        total, count = self.loss_sum(out, y)
        return total / count

    def loss_sum(self, out: Tensor, y: Tensor) -> tuple[Tensor, int]:
        """(the sum, how many terms it has): what ranks with unequal shares have to exchange."""
        raise NotImplementedError

    def terms(self, y: Tensor) -> int:
        """How many terms the loss of these targets has: known before any forward. Every number counts."""
        return y.numel()

    def data(self, seed: int, step: int, batch: int, dtype: torch.dtype = torch.float64, padded: bool = False) -> Batch:
        """The global batch of a step: the same on every rank that asks."""
        raise NotImplementedError


def share(batch: Batch, rank: int, nranks: int) -> Batch:
    """A rank's samples: the rank-th of nranks equal parts. ValueError where the ranks do not divide the batch."""
    each = divides(nranks, "ranks", len(batch.x), "batch")
    mine = slice(rank * each, (rank + 1) * each)
    return Batch(batch.x[mine], batch.y[mine])


@dataclass(frozen=True)
class MLP(Model):
    """The deep MLP of the source lecture: `layers` square matrices, GELU between them. x and y: [batch, width], in `dtype`."""

    layers: int = 4
    width: int = 16

    def __post_init__(self) -> None:
        whole("layers", self.layers)
        whole("width", self.width)

    @property
    def depth(self) -> int:
        return self.layers

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {f"{i}.weight": (self.width, self.width) for i in range(self.layers)}

    def layer(self, i: int, params: Params, x: Tensor) -> Tensor:
        """x [..., width] -> the same shape."""
        x = F.linear(x, params[f"{i}.weight"])
        return F.gelu(x) if i < self.layers - 1 else x

    def loss_sum(self, out: Tensor, y: Tensor) -> tuple[Tensor, int]:
        """Squared errors; every number counts."""
        return (out - y).square().sum(), self.terms(y)

    def data(self, seed: int, step: int, batch: int, dtype: torch.dtype = torch.float64, padded: bool = False) -> Batch:
        """Normal numbers. ValueError for padded: its samples all have one length."""
        if padded:
            raise ValueError("the MLP's samples have one length, got padded=True: take Transformer()")
        made, size = _seeded(seed, step), (whole("batch", batch), self.width)
        return Batch(*(_normal(size, made).to(torch.get_default_device(), dtype) for _ in range(2)))


@dataclass(frozen=True)
class Transformer(Model):
    """A small decoder: embeddings (layer 0), `layers` pre-norm blocks, norm and head (the last layer), so depth = layers + 2.

    heads: query heads; kv_heads: those of keys and values, each shared by heads / kv_heads of them. x and y: tokens,
    [batch, seq]; y is x one on, IGNORED where it is padding. Attention takes the number of heads from its matrices' rows,
    so a rank that has some heads' rows computes these. ValueError for sizes that do not divide.
    """

    layers: int = 2
    width: int = 16
    heads: int = 4
    kv_heads: int = 2
    ffn: int = 32
    vocab: int = 32
    seq: int = 8

    def __post_init__(self) -> None:
        divides(self.heads, "heads", self.width, "width")
        divides(self.kv_heads, "kv_heads", self.heads, "heads")
        for name in ("layers", "ffn", "vocab", "seq"):
            whole(name, getattr(self, name))

    @property
    def depth(self) -> int:
        return self.layers + 2

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        found = {"0.tokens": (self.vocab, self.width), "0.positions": (self.seq, self.width)}
        for i in range(1, self.layers + 1):
            found |= {f"{i}.{name}": shape for name, shape in self._block().items()}
        return found | {f"{self.layers + 1}.norm": (self.width,), f"{self.layers + 1}.head": (self.vocab, self.width)}

    def _block(self) -> dict[str, tuple[int, ...]]:
        kv = self.kv_heads * self.head_width
        return {
            "norm1": (self.width,),
            "q": (self.width, self.width),
            "k": (kv, self.width),
            "v": (kv, self.width),
            "o": (self.width, self.width),
            "norm2": (self.width,),
            "up": (self.ffn, self.width),
            "down": (self.width, self.ffn),
        }

    def layer(self, i: int, params: Params, x: Tensor) -> Tensor:
        """Layer 0: tokens [batch, seq] -> [batch, seq, width]; blocks keep that shape; the last: -> [batch, seq, vocab]."""
        own = {name.partition(".")[2]: params[name] for name in self.names(i)}
        if i == 0:
            return F.embedding(x, own["tokens"]) + own["positions"][: x.shape[1]]
        if i == self.depth - 1:
            return F.linear(self.normed(x, own["norm"]), own["head"])
        x = x + self.attention(own, self.normed(x, own["norm1"]))
        return x + self.mlp(own, self.normed(x, own["norm2"]))

    @staticmethod
    def normed(x: Tensor, weight: Tensor) -> Tensor:
        """RMS norm over the last dimension."""
        return F.rms_norm(x, weight.shape, weight, eps=1e-6)

    def attention(self, own: Params, x: Tensor) -> Tensor:
        """Causal attention of the heads whose rows are in own["q"], "k" and "v"; "o" has their columns. x: [batch, seq, width]."""
        return F.linear(self.attended(own, x), own["o"])

    def attended(self, own: Params, x: Tensor) -> Tensor:
        """What these heads say, beside each other: [batch, seq, heads here * head_width]."""
        q, k, v = (F.linear(x, own[n]).unflatten(-1, (-1, self.head_width)).transpose(1, 2) for n in "qkv")
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return out.transpose(1, 2).flatten(2)

    @staticmethod
    def mlp(own: Params, x: Tensor) -> Tensor:
        """Up, GELU, down: of whatever rows of "up" and columns of "down" are there."""
        return F.linear(F.gelu(F.linear(x, own["up"])), own["down"])

    def loss_sum(self, out: Tensor, y: Tensor) -> tuple[Tensor, int]:
        """Cross entropy; padding does not count."""
        total = F.cross_entropy(out.flatten(0, 1), y.flatten(), ignore_index=IGNORED, reduction="sum")
        return total, self.terms(y)

    def terms(self, y: Tensor) -> int:
        """Tokens that are no padding."""
        return int((y != IGNORED).sum())

    def data(self, seed: int, step: int, batch: int, dtype: torch.dtype = torch.float64, padded: bool = False) -> Batch:
        """Random tokens (of type int64, whatever dtype says). padded: sample b ends after 1 to seq tokens, by chance."""
        made = _seeded(seed, step)
        tokens = torch.randint(self.vocab, (whole("batch", batch), self.seq + 1), generator=made, device="cpu")
        x, y = tokens[:, :-1], tokens[:, 1:].clone()
        if padded:
            lengths = torch.randint(1, self.seq + 1, (batch, 1), generator=made, device="cpu")
            y[torch.arange(self.seq, device="cpu") >= lengths] = IGNORED
        here = torch.get_default_device()
        return Batch(x.to(here), y.to(here))


def shape_of(model: Transformer) -> Shape:
    """The same model as `helpers.facts` describes models: what formulas take."""
    return Shape(
        "the small transformer",
        layers=model.layers,
        hidden=model.width,
        heads=model.heads,
        kv_heads=model.kv_heads,
        ffn=model.ffn,
        vocab=model.vocab,
        context=model.seq,
        mlp="gelu",
        positions="learned",
    )


def _seeded(seed: int, step: int) -> torch.Generator:
    return torch.Generator("cpu").manual_seed(1_000_003 * (seed + 1) + step)


def _normal(size: tuple[int, ...], made: torch.Generator) -> Tensor:
    return torch.randn(size, generator=made, dtype=torch.float64, device="cpu")
