"""A model with experts, in one process or with its experts on several ranks. Chapter: expert."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.parallel.checks import divides, whole
from helpers.parallel.model import MLP, Batch, Model, Params

from .routing import Routing, capacity, combined, dispatched, routed


@dataclass(frozen=True)
class Routed(Model):
    """A dense layer (0), then `layers` layers x + experts(x), each token through k of `experts` MLPs. x and y: [batch, width].

    parts: the batch is routed in so many equal parts, each with a capacity of its own, as that many ranks route theirs: the single
    process that ranks are compared with drops the same tokens. factor: of the capacity. ValueError for what cannot be.
    """

    layers: int = 2
    width: int = 16
    ffn: int = 32
    experts: int = 8
    k: int = 2
    factor: float = 1.0
    parts: int = 1

    def __post_init__(self) -> None:
        for name in ("layers", "width", "ffn", "experts", "k", "parts"):
            whole(name, getattr(self, name))
        if self.k > self.experts:
            raise ValueError(
                f"a token goes to k of the experts, got k={self.k} of {self.experts}: take k from 1 to {self.experts}"
            )
        if not 0 < self.factor < float("inf"):
            raise ValueError(f"the capacity factor is a number above 0, got {self.factor!r}")

    @property
    def depth(self) -> int:
        return self.layers + 1

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {"0.weight": (self.width, self.width)}
        for i in range(1, self.depth):
            found |= {f"{i}.router": (self.experts, self.width), f"{i}.up": (self.experts, self.ffn, self.width)}
            found[f"{i}.down"] = (self.experts, self.width, self.ffn)
        return found

    def slots(self, tokens: int) -> int:
        """Of one expert for the tokens of one rank."""
        return capacity(tokens, self.k, self.experts, self.factor)

    def layer(self, i: int, params: Params, x: Tensor) -> Tensor:
        """x [batch, width] -> the same shape."""
        if i == 0:
            return F.gelu(F.linear(x, params["0.weight"]))
        divides(self.parts, "parts", len(x), "batch")
        return x + torch.cat([self.routed_part(i, params, part) for part in x.chunk(self.parts)])

    def routed_part(self, i: int, params: Params, x: Tensor) -> Tensor:
        """One rank's tokens through the experts: out into slots, through, and back."""
        routing = self.route(i, params, x)
        answers = self.answers(i, params, dispatched(x, routing, self.experts * self.slots(len(x))))
        return combined(answers, routing)

    def route(self, i: int, params: Params, x: Tensor) -> Routing:
        """What the router of layer i decides for one rank's tokens."""
        return routed(F.linear(x, params[f"{i}.router"]), self.k, self.slots(len(x)))

    def answers(self, i: int, params: Params, slots: Tensor) -> Tensor:
        """Each expert on its slots: [experts * slots, width] -> the same shape."""
        up, down = params[f"{i}.up"], params[f"{i}.down"]
        return through(slots.view(self.experts, -1, self.width), up, down).flatten(0, 1)

    def loss_sum(self, out: Tensor, y: Tensor) -> tuple[Tensor, int]:
        """Squared errors; every number counts."""
        return (out - y).square().sum(), y.numel()

    def data(self, seed: int, step: int, batch: int, dtype: torch.dtype = torch.float64, padded: bool = False) -> Batch:
        """As the MLP's."""
        return MLP(1, self.width).data(seed, step, batch, dtype, padded)


def through(x: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """Experts side by side: x [experts, slots, width], up [experts, ffn, width], down [experts, width, ffn]."""
    return torch.bmm(F.gelu(torch.bmm(x, up.mT)), down.mT)
