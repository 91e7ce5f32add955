"""How many ranks lie on each axis, what that has to divide, and which samples a rank sees. Chapter: meshes."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from math import prod
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from helpers.parallel.checks import divides, whole
from helpers.parallel.model import Batch, share
from helpers.parallel.reference import Training
from helpers.parallel.tensor import cuts

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


@dataclass(frozen=True)
class Axes:
    """Ranks on each axis, the outermost first. ValueError for counts below 1."""

    replica: int = 1
    shard: int = 1
    tensor: int = 1

    def __post_init__(self) -> None:
        for name in ("replica", "shard", "tensor"):
            whole(name, getattr(self, name))

    @property
    def data(self) -> int:
        """Parts of the batch."""
        return self.replica * self.shard

    def check(self, training: Training, nranks: int, way: str) -> None:
        """ValueError, before anything is launched, for axes that do not fill the ranks and for what they do not divide."""
        if prod(astuple(self)) != nranks:
            found = [n for n in range(1, nranks + 1) if nranks % n == 0]
            raise ValueError(
                f"replica {self.replica} x shard {self.shard} x tensor {self.tensor} are {prod(astuple(self))} ranks, "
                f"and there are {nranks}: each axis is one of {', '.join(map(str, found))}, and their product {nranks}"
            )
        each = divides(self.data, "parts (replicas x shards)", training.batch, "batch")
        cuts.check(training.model, way, self.tensor, each)

    def mesh(self) -> DeviceMesh:
        """Inside a rank: torch's mesh of all three axes. All ranks have to ask."""
        from torch.distributed.device_mesh import init_device_mesh  # a second to import, and only this wants it

        names = ("replica", "shard", "tensor")
        return init_device_mesh(torch.get_default_device().type, astuple(self), mesh_dim_names=names)


def part_of(training: Training, step: int, axes: Axes) -> Batch:
    """This rank's samples: the tensor ranks of one part see the same."""
    return share(training.data(step), dist.get_rank() // axes.tensor, axes.data)


def mean_over_ranks(losses: list[torch.Tensor]) -> list[float]:
    """Over all ranks: those of one tensor group say the same."""
    total = torch.stack(losses)
    dist.all_reduce(total)
    return (total / dist.get_world_size()).tolist()
