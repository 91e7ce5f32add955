"""The same two models of torch's own layers, nn.Linear and nn.RMSNorm, as `parallelize_module` wants them. Chapter: tensor-parallel."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from helpers.parallel.model import MLP, Model, Params, Transformer


def linear(weight: Tensor) -> nn.Linear:
    """A linear map without bias that holds the very parameter given."""
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
    made.weight = weight
    return made


def norm(weight: Tensor) -> nn.RMSNorm:
    """As Transformer.normed."""
    made = nn.RMSNorm(weight.shape[0], eps=1e-6, device="meta")
    made.weight = weight
    return made


class Matrix(nn.Module):
    """A layer of the MLP. The GELU is no module of its own: what `parallelize_module` lays out is the map."""

    def __init__(self, own: Params, last: bool):
        super().__init__()
        self.map, self.last = linear(own["weight"]), last

    def forward(self, x: Tensor) -> Tensor:
        x = self.map(x)
        return x if self.last else F.gelu(x)


class Embedding(nn.Module):
    """Layer 0 of the transformer."""

    def __init__(self, own: Params):
        super().__init__()
        self.tokens, self.positions = own["tokens"], own["positions"]

    def forward(self, x: Tensor) -> Tensor:
        return F.embedding(x, self.tokens) + self.positions[: x.shape[1]]


class Attention(nn.Module):
    """However many heads q, k and v give, these are computed."""

    def __init__(self, own: Params, head_width: int):
        super().__init__()
        self.q, self.k, self.v, self.o = (linear(own[name]) for name in "qkvo")
        self.head_width = head_width

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (one(x).unflatten(-1, (-1, self.head_width)).transpose(1, 2) for one in (self.q, self.k, self.v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.o(out.transpose(1, 2).flatten(2))


class Feed(nn.Module):
    """Up, GELU, down."""

    def __init__(self, own: Params):
        super().__init__()
        self.up, self.down = linear(own["up"]), linear(own["down"])

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    """A block of the transformer."""

    def __init__(self, own: Params, head_width: int):
        super().__init__()
        self.norm1, self.attention = norm(own["norm1"]), Attention(own, head_width)
        self.norm2, self.mlp = norm(own["norm2"]), Feed(own)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Head(nn.Module):
    """The last layer of the transformer."""

    def __init__(self, own: Params):
        super().__init__()
        self.norm, self.head = norm(own["norm"]), linear(own["head"])

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(x))


class Native(nn.Module):
    """The layers of `model` in their order, holding `params`: parameter "2.q" is here "layers.2.attention.q.weight"."""

    def __init__(self, model: Model, params: Params):
        super().__init__()
        owns = [{n.partition(".")[2]: params[n] for n in model.names(i)} for i in range(model.depth)]
        if isinstance(model, MLP):
            self.layers = nn.ModuleList(Matrix(own, i == model.depth - 1) for i, own in enumerate(owns))
        elif isinstance(model, Transformer):
            blocks = [Block(own, model.head_width) for own in owns[1:-1]]
            self.layers = nn.ModuleList([Embedding(owns[0]), *blocks, Head(owns[-1])])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

    def by_name(self) -> Params:
        """The parameters by their names in the model: what is registered now."""
        return {_plain(name): p for name, p in self.named_parameters()}


def _plain(name: str) -> str:
    """ "layers.2.attention.q.weight" -> "2.q", and the MLP's "layers.2.map.weight" -> "2.weight"."""
    _, i, *rest = name.split(".")
    if rest == ["map", "weight"]:
        return f"{i}.weight"
    return f"{i}.{next(one for one in reversed(rest) if one != 'weight')}"
