"""Ranks on two or three axes: replicas, shards and tensor slices at once, each axis with its own collectives. Chapter: meshes.

The same rank is in one group of every axis. What an axis divides, the others see smaller: tensor ranks cut the parameters, so data ranks
exchange the gradients of slices, N/T; data ranks cut the batch, so tensor ranks exchange the activations of a part of it. The
tensor axis is the last, so that its groups are neighbouring ranks on the fastest link: it talks inside every layer, shards once or twice a
layer, replicas once a step.

    axis      what is divided                  collectives, with the parameters N, the ranks of the axes R, S, T
    tensor    matrices                         as helpers.parallel.tensor, of batch / (R S)
    shard     states (ZeRO-3), and the batch   2 all_gathers and a reduce_scatter of N/T
    replica   the batch                        an all_reduce of N/(T S)

With checkpointing every block's forward is computed twice, and so are the collectives inside it: those of the tensor axis. The shards'
are not, because Zero gathers a layer once for its backward and the second forward finds it there.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import nn

from helpers.parallel.model import Params
from helpers.parallel.module import Module
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, watched
from helpers.parallel.tensor import cuts
from helpers.parallel.tensor.divided import Divided
from helpers.parallel.tensor.ours import SHARE, sent_bytes, states, step_moves
from helpers.parallel.zero import Group, Zero

from .axes import Axes, mean_over_ranks, part_of

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


class Shards(Group):
    """ZeRO's collectives on a mesh: inside the shard axis; what is reduced is then averaged over replicas, if there are several."""

    def __init__(self, mesh: DeviceMesh) -> None:
        self.members, self.replicas = mesh.get_group("shard"), mesh.get_group("replica")
        self.rank, self.nranks = self.members.rank(), self.members.size()

    def all_gather(self, whole: torch.Tensor, part: torch.Tensor) -> dist.Work:
        """Every shard's part into `whole`. Wait on what this returns."""
        return dist.all_gather_into_tensor(whole, part, group=self.members, async_op=True)

    def reduce_scatter(self, part: torch.Tensor, whole: torch.Tensor) -> None:
        """The mean over all data ranks of this rank's slice of `whole`."""
        dist.reduce_scatter_tensor(part, whole, op=dist.ReduceOp.AVG, group=self.members)
        if self.replicas.size() > 1:
            dist.all_reduce(part, op=dist.ReduceOp.AVG, group=self.replicas)

    def broadcast(self, whole: torch.Tensor) -> None:
        """The first shard's values for everybody on this axis: tensor ranks hold other slices."""
        dist.broadcast(whole, group=self.members, group_src=0)


def meshed(training: Training, axes: Axes, way: str = "pairs", checkpoint: bool = False) -> Trained:
    """Inside a rank: replicas x shards x tensor slices. One shard: gradients pass one flat all_reduce; several: ZeRO-3.

    checkpoint: keep only the inputs of blocks, as helpers.parallel.tensor.Divided.
    """
    axes.check(training, dist.get_world_size(), way)
    mesh = axes.mesh()
    model = Divided(training.model, mesh.get_group("tensor"), way, checkpoint)
    params = model.slices(training.params())
    train = _replicated if axes.shard == 1 else _sharded
    return train(training, axes, mesh, model, params)


def _replicated(training: Training, axes: Axes, mesh: DeviceMesh, model: Divided, params: Params) -> Trained:
    """Every slice whole on each of the replicas."""
    optimizer, losses = training.make_optimizer(params.values()), []
    with watched(model, params, optimizer) as watch:
        for step in range(training.steps):
            x, y = part_of(training, step, axes)
            loss = model.loss(model.forward(params, x), y)
            loss.backward()
            _average(list(params.values()), mesh.get_group("replica"))
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach().double())
    return watch.trained(mean_over_ranks(losses), model.whole(params))


def _sharded(training: Training, axes: Axes, mesh: DeviceMesh, model: Divided, params: Params) -> Trained:
    """Every slice cut once more, among the shards: Zero does not know that its module's matrices are slices."""
    module, losses = Module(model, params), []
    zero = Zero(module, 3, group=Shards(mesh), optimizer=training.make_optimizer)
    with watched(model, module, zero.optimizer) as watch:
        zero.tell(watch.see)
        for step in range(training.steps):
            x, y = part_of(training, step, axes)
            loss = model.loss(module(x), y)
            loss.backward()
            watch.after_backward()
            zero.step()
            zero.zero_grad()
            losses.append(loss.detach().double())
    for unit in zero.units:
        unit.gather()
    return watch.trained(mean_over_ranks(losses), model.whole(module.by_name()))


def _average(params: list[nn.Parameter], group: dist.ProcessGroup) -> None:
    flat = torch.cat([p.grad.flatten() for p in params])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG, group=group)
    for p, piece in zip(params, flat.split([p.numel() for p in params]), strict=True):
        p.grad.copy_(piece.view_as(p))


def predicted(
    training: Training, nranks: int, rank: int = 0, *, axes: Axes, way: str = "pairs", checkpoint: bool = False
) -> Predicted:
    """Axis by axis, as in the table above. ValueError as `Axes.check`."""
    found = by_axis(training, nranks, rank, axes=axes, way=way, checkpoint=checkpoint)
    ops = dict.fromkeys(op for moved in found.values() for op in moved)
    calls = {op: sum(moved[op][0] for moved in found.values() if op in moved) for op in ops}
    sent = {op: sum((moved[op][1] for moved in found.values() if op in moved), Fraction(0)) for op in ops}
    numel, tensors = held(training, axes, way)
    return Predicted(calls, sent, states(training, numel, tensors))


def by_axis(
    training: Training, nranks: int, rank: int = 0, *, axes: Axes, way: str = "pairs", checkpoint: bool = False
) -> dict[str, dict[str, tuple[int, Fraction]]]:
    """Of every axis and operation (calls, bytes sent) by one rank in all steps. ValueError as `Axes.check`."""
    axes.check(training, nranks, way)
    steps, moves = training.steps, step_moves(training.model, way, training.batch // axes.data, checkpoint)
    tensor = {
        op: (sum(one == op for one, _ in moves), sent_bytes(moves, op, axes.tensor, training.itemsize)) for op in SHARE
    }
    numel, depth = held(training, axes, way)[0] * training.itemsize, training.model.depth
    once = Fraction((axes.shard - 1) * numel)
    shard = {"all_gather": (2 * depth, 2 * once), "reduce_scatter": (depth, once)} if axes.shard > 1 else {}
    reductions = depth if axes.shard > 1 else 1
    replica = {"all_reduce": (reductions, Fraction(2 * (axes.replica - 1), axes.replica) * numel)}
    if axes.shard > 1 and axes.replica == 1:
        replica = {}
    found = {"replica": replica, "shard": shard, "tensor": tensor}
    return {
        axis: {op: (calls * steps, sent * steps) for op, (calls, sent) in moved.items()}
        for axis, moved in found.items()
    }


def held(training: Training, axes: Axes, way: str) -> tuple[int, int]:
    """(elements, tensors) that a rank holds of slices; of a share of each, with a layer filled up until the shards divide it."""
    slices, depth = cuts.shapes(training.model, way, axes.tensor), training.model.depth
    if axes.shard == 1:
        return sum(map(prod, slices.values())), len(slices)
    layers = [sum(prod(slices[name]) for name in training.model.names(i)) for i in range(depth)]
    return sum(-(-n // axes.shard) for n in layers), depth
