"""A layer of experts (Mixtral): a router sends every token's row to a few of them, and their answers are added up.

On the meta device there are no values, so nobody knows who goes where: routing is taken to be balanced, every expert getting the same
number of rows (rounded up). On a real device the rows go where the router sends them. Chapters: too-big, expert.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.facts import Model


class Linear(nn.Linear):
    """nn.Linear that draws no random numbers on the meta device, where they would be thrown away."""

    def reset_parameters(self) -> None:
        if not self.weight.is_meta:
            super().reset_parameters()


class SwiGLU(nn.Module):
    """down(silu(gate(x)) * up(x)): three matrices, no bias."""

    def __init__(self, hidden: int, ffn: int, **where):
        super().__init__()
        self.gate = Linear(hidden, ffn, bias=False, **where)
        self.up = Linear(hidden, ffn, bias=False, **where)
        self.down = Linear(ffn, hidden, bias=False, **where)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """x [batch, tokens, hidden] -> the same: `active` of the experts for each token, weighted by the router."""

    def __init__(self, shape: Model, **where):
        super().__init__()
        self.active = shape.active
        self.router = Linear(shape.hidden, shape.experts, bias=False, **where)
        self.experts = nn.ModuleList(SwiGLU(shape.hidden, shape.ffn, **where) for _ in range(shape.experts))

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, -2)
        weights, chosen = F.softmax(self.router(rows), dim=-1, dtype=torch.float32).topk(self.active, dim=-1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype).flatten()
        order = chosen.flatten().argsort()  # visits, sorted by expert
        token = order // self.active
        answers = self.answers(rows[token], chosen)
        visits = torch.cat(answers) * weights[order][:, None]
        return torch.zeros_like(rows).index_add_(0, token, visits).view_as(x)

    def answers(self, visits: Tensor, chosen: Tensor) -> list[Tensor]:
        """What each expert makes of its rows. visits [tokens * active, hidden], sorted by expert."""
        pieces = visits.split(self.counts(chosen))
        return [expert(piece) for expert, piece in zip(self.experts, pieces, strict=True)]

    def counts(self, chosen: Tensor) -> list[int]:
        """Rows for each expert; on meta, balanced."""
        n, visits = len(self.experts), chosen.numel()
        if not chosen.is_meta:
            return torch.bincount(chosen.flatten(), minlength=n).tolist()
        return [visits // n + (i < visits % n) for i in range(n)]
