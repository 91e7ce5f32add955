"""One parameter on one rank, cut along its first dimension. Chapter: too-big."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from helpers.memory.sharding import ShardingError


class Piece:
    """One parameter on one rank. shard: its rows, what the optimizer works on. numel: of a shard with its filling."""

    def __init__(self, whole: nn.Parameter, nranks: int, rank: int, wide: torch.dtype):
        if not whole.dim():
            raise ShardingError("FSDP2 cuts along the first dimension, and a parameter here is a single number")
        rows, row = -(-whole.shape[0] // nranks), whole.shape[1:].numel()
        mine = min(max(whole.shape[0] - rank * rows, 0), rows)
        self.whole, self.numel = whole, rows * row
        self.kept = torch.empty(self.numel, dtype=wide, device="meta")
        self.shape = (mine, *whole.shape[1:])
        self.shard = nn.Parameter(self.of(self.kept, 0), whole.requires_grad)
        self.gathered = torch.empty(self.numel * nranks, dtype=whole.dtype, device="meta")
        whole.data = self.gathered[: whole.numel()].view(whole.shape)
        self.summed: Tensor | None = None  # whole gradients that wait for more, in the type of the reduction
        self.free()

    def of(self, flat: Tensor, start: int) -> Tensor:
        """This rank's rows of the parameter, where they stand in a flat tensor."""
        return flat[start : start + torch.Size(self.shape).numel()].view(self.shape)

    def make(self) -> None:
        """Room for the whole parameter."""
        self.gathered.untyped_storage().resize_(self.gathered.numel() * self.gathered.element_size())

    def free(self) -> None:
        """The whole parameter goes; its shape stays."""
        self.gathered.untyped_storage().resize_(0)

    @property
    def grad(self) -> Tensor | None:
        """The whole gradient."""
        return self.whole.grad if self.summed is None else self.summed

    def add_up(self) -> None:
        """A new gradient, to those that wait."""
        if self.summed is not None and self.whole.grad is not None:
            self.summed += self.whole.grad
            self.whole.grad = None

    def keep(self, dtype: torch.dtype | None) -> None:
        """The gradient will wait for more, in that type; None: in its own."""
        if (grad := self.whole.grad) is not None and dtype not in (None, grad.dtype):
            self.whole.grad = None
            self.summed = grad.to(dtype)

    def take(self) -> Tensor | None:
        """The whole gradient, which nobody else holds afterwards."""
        grad = self.grad
        self.summed = self.whole.grad = None
        return grad
