"""The same by torch: `parallelize_module` on the tensor axis, then `fully_shard` on the others. Chapter: meshes."""

from __future__ import annotations

from math import prod

import torch.distributed as dist

from helpers.parallel.checks import divides
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, watched
from helpers.parallel.tensor import cuts, dtensor
from helpers.parallel.tensor.ours import states

from .axes import Axes, mean_over_ranks, part_of
from .ours import predicted


def by_torch(training: Training, axes: Axes, way: str = "pairs") -> Trained:
    """Inside a rank: `parallelize_module` on the tensor axis, then `fully_shard` on the others."""
    from torch.distributed.fsdp import fully_shard

    axes.check(training, dist.get_world_size(), way)
    mesh, losses = axes.mesh(), []
    module = dtensor.parallelized(training, way, mesh["tensor"], batch=training.batch // axes.data)
    data = mesh["replica", "shard"] if axes.replica > 1 else mesh["shard"]
    for layer in module.layers:
        fully_shard(layer, mesh=data)
    fully_shard(module, mesh=data)
    optimizer = training.make_optimizer(module.parameters())
    with watched(training.model, module, optimizer) as watch:
        for step in range(training.steps):
            x, y = part_of(training, step, axes)
            loss = training.model.loss(module(x), y)
            loss.backward()
            watch.see([p.grad for p in module.parameters()], "gradient")
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach().double())
    return watch.trained(mean_over_ranks(losses), dtensor.whole(module))


def predicted_by_torch(training: Training, nranks: int, rank: int = 0, *, axes: Axes, way: str = "pairs") -> Predicted:
    """The same traffic where the shards divide every slice's rows; its optimizer counts steps for each parameter, not each layer."""
    ours, model = predicted(training, nranks, rank, axes=axes, way=way), training.model
    slices = cuts.shapes(model, way, axes.tensor)
    for name, shape in slices.items():
        divides(axes.shard, "shards", shape[0], f"rows of {name} on a rank")
    return Predicted(
        ours.calls, ours.sent, states(training, sum(map(prod, slices.values())) // axes.shard, len(slices))
    )
