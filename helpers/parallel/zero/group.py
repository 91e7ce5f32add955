"""The three collectives that ZeRO needs: between real ranks, in teams, for a rank alone, and on paper. Chapters: too-big, sharded."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist

from helpers.parallel.checks import near_divisors, whole


class Group:
    """The ranks of one process group, by default all. Ask for it inside a rank."""

    def __init__(self, members: dist.ProcessGroup | None = None) -> None:
        self.members = members
        self.rank, self.nranks = dist.get_rank(members), dist.get_world_size(members)

    def all_gather(self, whole: torch.Tensor, part: torch.Tensor) -> dist.Work:
        """Every rank's `part`, in rank order, into `whole`; `part` may be this rank's slice of it. Wait on what this returns."""
        return dist.all_gather_into_tensor(whole, part, group=self.members, async_op=True)

    def reduce_scatter(self, part: torch.Tensor, whole: torch.Tensor) -> None:
        """The mean over ranks of this rank's slice of `whole` into `part`, which may be that slice."""
        dist.reduce_scatter_tensor(part, whole, op=dist.ReduceOp.AVG, group=self.members)

    def broadcast(self, whole: torch.Tensor) -> None:
        """The first rank's values for everybody."""
        dist.broadcast(whole, group=self.members, group_src=0)


class Hybrid(Group):
    """States are shared out among `nshards` neighbouring ranks, and every such team holds a replica of the whole: HSDP.

    Gathers stay inside a team, on its fast link. Only shares of gradients cross: each rank's, with the ranks that hold the same share.
    All ranks have to make it together. ValueError where nshards does not divide the ranks.
    """

    def __init__(self, nshards: int) -> None:
        from torch.distributed.device_mesh import init_device_mesh  # a second to import, and only this one wants it

        nranks = dist.get_world_size()
        whole("ranks of a team", nshards)
        if nranks % nshards:
            raise ValueError(
                f"teams of {nshards} ranks do not fill {nranks} ranks: take teams of {near_divisors(nshards, nranks)} ranks, "
                f"or {nranks // nshards * nshards or nshards} or {(nranks // nshards + 1) * nshards} ranks"
            )
        device = torch.get_default_device().type
        mesh = init_device_mesh(device, (nranks // nshards, nshards), mesh_dim_names=("replica", "shard"))
        self.replicas = mesh.get_group("replica")
        super().__init__(mesh.get_group("shard"))

    def reduce_scatter(self, part: torch.Tensor, whole: torch.Tensor) -> None:
        """The team's mean of a share, then the mean of that over the teams."""
        super().reduce_scatter(part, whole)
        dist.all_reduce(part, op=dist.ReduceOp.AVG, group=self.replicas)

    def broadcast(self, whole: torch.Tensor) -> None:
        """Rank 0's values for everybody, in every team."""
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
