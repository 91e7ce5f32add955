"""The three collectives that ZeRO needs: between real ranks, for a rank alone, and on paper. Chapter: too-big."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist


class Group:
    """The ranks of torch.distributed's default group. Ask for it inside a rank."""

    def __init__(self) -> None:
        self.rank, self.nranks = dist.get_rank(), dist.get_world_size()

    def all_gather(self, whole: torch.Tensor, part: torch.Tensor) -> dist.Work:
        """Every rank's `part`, in rank order, into `whole`; `part` may be this rank's slice of it. Wait on what this returns."""
        return dist.all_gather_into_tensor(whole, part, async_op=True)

    def reduce_scatter(self, part: torch.Tensor, whole: torch.Tensor) -> None:
        """The mean over ranks of this rank's slice of `whole` into `part`, which may be that slice."""
        dist.reduce_scatter_tensor(part, whole, op=dist.ReduceOp.AVG)

    def broadcast(self, whole: torch.Tensor) -> None:
        """Rank 0's values for everybody."""
        dist.broadcast(whole, 0)


class Done:
    """A collective that is over."""

    def wait(self) -> None:
        """Nothing to wait for."""


@dataclass(frozen=True)
class Paper:
    """One rank of `nranks` whose others are not there: nothing is sent, every buffer is still made. For the meta device."""

    nranks: int
    rank: int = 0

    def __post_init__(self) -> None:
        if self.nranks < 1 or not 0 <= self.rank < self.nranks:
            raise ValueError(f"a rank is one of 0..nranks-1, got rank {self.rank} of {self.nranks}")

    def all_gather(self, whole: torch.Tensor, part: torch.Tensor) -> Done:
        """What has no data needs no sending."""
        return Done()

    def reduce_scatter(self, part: torch.Tensor, whole: torch.Tensor) -> None:
        """See all_gather."""

    def broadcast(self, whole: torch.Tensor) -> None:
        """See all_gather."""


class Alone(Paper):
    """A single rank: what the others are compared with."""

    def __init__(self) -> None:
        super().__init__(1)

    def all_gather(self, whole: torch.Tensor, part: torch.Tensor) -> Done:
        """The only part is the whole."""
        if whole.data_ptr() != part.data_ptr():
            whole.copy_(part)
        return Done()

    def reduce_scatter(self, part: torch.Tensor, whole: torch.Tensor) -> None:
        """The mean over one rank."""
        if whole.data_ptr() != part.data_ptr():
            part.copy_(whole)
