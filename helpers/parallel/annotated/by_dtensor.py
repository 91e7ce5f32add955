"""The layouts as DTensor placements: the model's own code, and collectives where an operator cannot do without. Chapter: annotations.

DTensor works operator by operator, as Python comes by: `F.linear` of two DTensors looks how both lie, and moves one of them if it has to.
It knows nothing of the operators that come later. What is left open stays open, a sum over ranks as a `Partial`, until somebody reads it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from helpers.parallel.counting import Moved, counted
from helpers.parallel.reference import Trained, Training, kept

from .layouts import Layout, Spec


def placements(layout: Layout, spec: Spec) -> list[Any]:
    """For each axis of the mesh the dimension that it cuts, or that it cuts none."""
    from torch.distributed.tensor import Replicate, Shard  # seconds to import, and only this wants it

    return [Shard(spec.index(axis)) if axis in spec else Replicate() for axis in layout.axes]


def train(training: Training, layout: Layout) -> Trained:
    """Inside a rank: `moved` are the calls of all steps, forward, backward, optimizer, and the loss that everybody reads."""
    mesh, params = set_up(training, layout)
    optimizer, losses, moved = training.make_optimizer(params.values()), [], Moved()
    for step in range(training.steps):
        x, y = (lies(one, mesh, layout, layout.batch) for one in training.data(step))
        with counted() as these, quiet():
            loss = forward(training, layout, params, x, y)
            loss.backward()
            optimizer.step()
            losses.append(loss.full_tensor().item())
        optimizer.zero_grad()
        moved.calls += these.calls
    return Trained(losses, kept({name: p.full_tensor() for name, p in params.items()}), moved)


def set_up(training: Training, layout: Layout) -> tuple[Any, dict[str, Any]]:
    """Inside a rank: the mesh, and every parameter as a DTensor that lies as the layout says."""
    from torch.distributed.device_mesh import init_device_mesh

    nranks, device = dist.get_world_size(), torch.get_default_device().type
    layout.check(training, nranks)
    mesh = init_device_mesh(device, layout.sizes(nranks), mesh_dim_names=layout.axes)
    params = {}
    for i, (name, p) in enumerate(training.params().items()):
        params[name] = torch.nn.Parameter(lies(p.detach(), mesh, layout, layout.weight(i)))
    return mesh, params


@contextmanager
def quiet() -> Iterator[None]:
    """Gloo has no all_to_all for a part that changes its dimension; torch gathers and cuts instead, and says so once on every rank."""
    speaker = logging.getLogger("torch.distributed.tensor._collective_utils")
    before = speaker.level
    speaker.setLevel(logging.ERROR)
    try:
        yield
    finally:
        speaker.setLevel(before)


def lies(whole: Tensor, mesh: Any, layout: Layout, spec: Spec) -> Any:
    """A tensor that every rank has whole, as one that each keeps its part of. Nothing is sent."""
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(whole, mesh, placements(layout, spec), src_data_rank=None)


def forward(training: Training, layout: Layout, params: dict[str, Any], x: Any, y: Any) -> Any:
    """The loss: the MLP's own lines, with what the layout says of outputs and of matrices in front of products."""
    model = training.model

    def layer(i: int, x: Any) -> Any:
        weight, said = params[f"{i}.weight"], layout.output(i)
        x = F.linear(x, whole(weight) if layout.gathered else weight)
        if said:
            x = x.redistribute(placements=placements(layout, said))
        return F.gelu(x) if i < model.depth - 1 else x

    for i in range(model.depth):
        x = checkpoint(layer, i, x, use_reentrant=False) if layout.remat else layer(i, x)
    return model.loss(x, y)


def whole(p: Any) -> Any:
    """The annotation in front of a product. In backward it cuts the gradient again."""
    from torch.distributed.tensor import Replicate

    return p.redistribute(placements=[Replicate()] * p.device_mesh.ndim)
