"""One parameter on one rank, cut along its first dimension. Chapter: too-big."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from helpers.memory.sharding import ShardingError


class Piece:
    """One parameter on one rank. shard: its rows, what the optimizer works on. numel: of a shard with its filling.

    added: its whole gradient of several backwards, where that has another type than the parameter.
    """

    def __init__(self, whole: nn.Parameter, nranks: int, rank: int, wide: torch.dtype):
        if not whole.dim():
            raise ShardingError("FSDP2 cuts along the first dimension, and a parameter here is a single number")
        rows, row = -(-whole.shape[0] // nranks), whole.shape[1:].numel()
        mine = min(max(whole.shape[0] - rank * rows, 0), rows)
        self.whole, self.numel = whole, rows * row
        self.added: Tensor | None = None
        self.kept = torch.empty(self.numel, dtype=wide, device="meta")
        self.shape = (mine, *whole.shape[1:])
        self.shard = nn.Parameter(self.of(self.kept, 0), whole.requires_grad)
        self.gathered = torch.empty(self.numel * nranks, dtype=whole.dtype, device="meta")
        whole.data = self.gathered[: whole.numel()].view(whole.shape)
        self.free()

    def of(self, flat: Tensor, start: int) -> Tensor:
        """This rank's rows of the parameter, where they stand in a flat tensor."""
        return flat[start : start + torch.Size(self.shape).numel()].view(self.shape)

    def make(self) -> None:
        """Room for the whole parameter."""
        self.gathered.untyped_storage().resize_(self.gathered.numel() * self.gathered.element_size())

    def cast(self) -> Tensor:
        """The shard in the type that computes; itself, where that is the same."""
        return self.kept.to(self.whole.dtype)

    def free(self) -> None:
        """The whole parameter goes; its shape stays."""
        self.gathered.untyped_storage().resize_(0)

    @property
    def grad(self) -> Tensor | None:
        """The whole gradient, of one backward or several."""
        return self.whole.grad if self.added is None else self.added

    def add_up(self) -> None:
        """The gradient of this backward goes to those before."""
        if self.added is not None and self.whole.grad is not None:
            self.added += self.whole.grad
            self.whole.grad = None

    def widen(self, dtype: torch.dtype | None) -> None:
        """The first gradient of several, in the type that they are reduced in, if that is another one."""
        if self.whole.grad is not None and dtype not in (None, self.whole.grad.dtype):
            self.added = self.whole.grad.to(dtype)
            self.whole.grad = None

    def take(self) -> Tensor | None:
        """The whole gradient; it leaves the parameter."""
        found = self.grad
        self.added = self.whole.grad = None
        return found
