"""How many ranks lie on each axis, what that has to divide, and which samples a rank sees. Chapter: meshes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from helpers.parallel.checks import divides, whole
from helpers.parallel.model import MLP, Batch, share
from helpers.parallel.pipeline.ours import Pipeline, samples_each
from helpers.parallel.reference import Training
from helpers.parallel.tensor import cuts
from helpers.pipeline import PipelineSchedule, split

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
        fills(asdict(self), nranks)
        each = divides(self.data, "parts (replicas x shards)", training.batch, "batch")
        cuts.check(training.model, way, self.tensor, each)

    def mesh(self) -> DeviceMesh:
        """Inside a rank: torch's mesh of all three axes. All ranks have to ask."""
        return made(asdict(self))


@dataclass(frozen=True)
class PipelineAxes:
    """Ranks on each axis of a mesh with pipelines, the outermost first. ValueError for counts below 1."""

    data: int = 1
    pipeline: int = 1
    tensor: int = 1

    def __post_init__(self) -> None:
        for name in ("data", "pipeline", "tensor"):
            whole(name, getattr(self, name))

    def stage(self, rank: int) -> int:
        """A rank's place in its pipeline."""
        return rank // self.tensor % self.pipeline

    def check(self, training: Training, nranks: int, way: str, how: Pipeline) -> PipelineSchedule:
        """The schedule. ValueError, before anything is launched, for what does not fill the ranks, divide, or leave pairs together."""
        fills(asdict(self), nranks)
        schedule = how.made(training, self.pipeline, self.data)
        samples = samples_each(training.batch // self.data, schedule.nmicrobatches)
        cuts.check(training.model, way, self.tensor, samples)
        starts = [layers.start for layers in split(training.model.depth, schedule.nstages)]
        if isinstance(training.model, MLP) and way != "gathered" and (odd := [n for n in starts if n % 2]):
            fits = [n for n in range(1, training.model.depth // 2 + 1) if training.model.depth // 2 % n == 0]
            raise ValueError(
                f"{way} keeps layers together two by two, and {schedule.nstages} stages of {training.model.depth} layers "
                f"begin one at layer {odd[0]}: take {', '.join(map(str, fits))} stages, or way 'gathered'"
            )
        return schedule

    def mesh(self) -> DeviceMesh:
        """Inside a rank: torch's mesh of all three axes. All ranks have to ask."""
        return made(asdict(self))


def fills(axes: Mapping[str, int], nranks: int) -> None:
    """ValueError where the product of all axes is not nranks, naming the number of ranks and the single changes that make it fit."""
    product = prod(axes.values())
    if product == nranks:
        return
    fits = [f"{name} {nranks * n // product}" for name, n in axes.items() if nranks * n % product == 0]
    divisors = ", ".join(str(n) for n in range(1, nranks + 1) if nranks % n == 0)
    raise ValueError(
        f"{' x '.join(f'{name} {n}' for name, n in axes.items())} are {product} ranks, and there are {nranks}: take {product} ranks, "
        f"or {' or '.join(fits) if fits else f'axes out of {divisors} with the product {nranks}'}"
    )


def made(axes: Mapping[str, int]) -> DeviceMesh:
    """Inside a rank: torch's mesh of named axes, the outermost first."""
    from torch.distributed.device_mesh import init_device_mesh  # a second to import, and only this wants it

    device = torch.get_default_device().type
    return init_device_mesh(device, tuple(axes.values()), mesh_dim_names=tuple(axes))


def groups(mesh: DeviceMesh) -> dict[str, tuple[int, ...]]:
    """Inside a rank: the ranks of its own group on every axis, by the axis' name; `Moved.sent(group=...)` wants these."""
    return {name: tuple(dist.get_process_group_ranks(mesh.get_group(name))) for name in mesh.mesh_dim_names or ()}


def part_of(training: Training, step: int, axes: Axes) -> Batch:
    """This rank's samples: the tensor ranks of one part see the same."""
    return share(training.data(step), dist.get_rank() // axes.tensor, axes.data)


def mean_over_ranks(losses: list[torch.Tensor]) -> list[float]:
    """Over all ranks: those of one tensor group say the same."""
    total = torch.stack(losses)
    dist.all_reduce(total)
    return (total / dist.get_world_size()).tolist()
