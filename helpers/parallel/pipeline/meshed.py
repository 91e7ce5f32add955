"""Data parallel times pipeline: several pipelines side by side, each with a part of the batch. Chapter: meshes.

Ranks stand in a mesh [data, pipeline]: ranks d * p to d * p + p - 1 are pipeline d, so the messages of every microbatch stay among
neighbours, and the one all_reduce of a step goes between the pipelines. torch's DeviceMesh keeps the groups.
"""

from __future__ import annotations

import torch
import torch.distributed as dist

from helpers.parallel.checks import divides
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted

from . import ours
from .ours import Pipeline


def train(training: Training, how: Pipeline | None = None, ndata: int = 2) -> Trained:
    """Inside a rank: `ndata` pipelines of all ranks. ValueError where ndata does not divide the ranks or the batch."""
    from torch.distributed.device_mesh import init_device_mesh  # seconds to import, and only this wants it

    how = how or Pipeline(nmicrobatches=4)
    each = divides(ndata, "pipelines", dist.get_world_size(), "ranks")
    how.made(training, each, ndata)  # refuses before groups are made
    mesh = init_device_mesh(torch.get_default_device().type, (ndata, each), mesh_dim_names=("data", "pipeline"))
    return ours.train(training, how, mesh.get_group("pipeline"), mesh.get_group("data"))


def predicted(training: Training, nranks: int, rank: int = 0, how: Pipeline | None = None, ndata: int = 2) -> Predicted:
    """Of a rank among all of them."""
    each = divides(ndata, "pipelines", nranks, "ranks")
    return ours.predicted(training, each, rank % each, how or Pipeline(nmicrobatches=4), ndata)
