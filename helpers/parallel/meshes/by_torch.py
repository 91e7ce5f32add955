"""The same by torch: `parallelize_module` on the tensor axis, then `fully_shard` on the others. Chapter: meshes.

With checkpointing it moves less than ours: `torch.utils.checkpoint` without reentrance stops the second forward as soon as all that the
backward wants is there (torch/utils/checkpoint.py of torch 2.13, `set_checkpoint_early_stop`), and the sum that ends a
block is wanted by nobody in it.
"""

from __future__ import annotations

from functools import partial
from math import prod

import torch.distributed as dist
from torch.utils.checkpoint import checkpoint as again

from helpers.parallel.checks import divides
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, watched
from helpers.parallel.tensor import cuts, dtensor
from helpers.parallel.tensor.ours import sent_bytes, states

from .axes import Axes, mean_over_ranks, part_of
from .ours import predicted


def by_torch(training: Training, axes: Axes, way: str = "pairs", checkpoint: bool = False) -> Trained:
    """Inside a rank: slices, then checkpointing of blocks, then shards; torchtitan applies them in this order, too."""
    from torch.distributed.fsdp import fully_shard

    axes.check(training, dist.get_world_size(), way)
    mesh, losses = axes.mesh(), []
    module = dtensor.parallelized(training, way, mesh["tensor"], batch=training.batch // axes.data)
    for block in module.layers[1:-1] if checkpoint else ():
        block.forward = partial(again, block.forward, use_reentrant=False)
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


def predicted_by_torch(
    training: Training, nranks: int, rank: int = 0, *, axes: Axes, way: str = "pairs", checkpoint: bool = False
) -> Predicted:
    """The same traffic where the shards divide every slice's rows; its optimizer counts steps for each parameter, not each layer."""
    ours, model = predicted(training, nranks, rank, axes=axes, way=way, checkpoint=checkpoint), training.model
    slices = cuts.shapes(model, way, axes.tensor)
    for name, shape in slices.items():
        divides(axes.shard, "shards", shape[0], f"rows of {name} on a rank")
    calls, sent = dict(ours.calls), dict(ours.sent)
    for op, n in _not_again(model, way, training.batch // axes.data) if checkpoint else ():
        calls[op] -= training.steps
        sent[op] -= training.steps * sent_bytes([(op, n)], op, axes.tensor, training.itemsize)
    return Predicted(calls, sent, states(training, sum(map(prod, slices.values())) // axes.shard, len(slices)))


def _not_again(model: cuts.Model, way: str, batch: int) -> cuts.Moves:
    """The last collective of each block's forward."""
    return [block.forward[-1] for block in cuts.traffic(model, way, batch)[1:-1]]
