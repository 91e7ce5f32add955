"""Ranks on two or three axes: replicas, shards and tensor slices at once, each axis with its own collectives. Chapter: meshes.

The same rank is in one group of every axis. What an axis divides, the others see smaller: tensor ranks cut the parameters, so data ranks
exchange the gradients of slices, N/T; data ranks cut the batch, so tensor ranks exchange the activations of a part of it. The
tensor axis is the last, so that its groups are neighbouring ranks on the fastest link: it talks inside every layer, shards once or twice a
layer, replicas once a step.

    axis      what is divided                  collectives, with the parameters N, the ranks of the axes R, S, T
    tensor    matrices                         as helpers.parallel.tensor, of batch / (R S)
    shard     states (ZeRO-3), and the batch   2 all_gathers and a reduce_scatter of N/T
    replica   the batch                        an all_reduce of N/(T S)
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from fractions import Fraction
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import nn

from .checks import divides, whole
from .model import Params, share
from .module import Module
from .reference import Trained, Training
from .strategy import Predicted, Strategy, watched
from .tensor import cuts, dtensor
from .tensor.divided import Divided
from .tensor.ours import SHARE, WIDE, sent_bytes, states, step_moves
from .zero import Group, Zero

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


class Shards(Group):
    """ZeRO's collectives on a mesh: inside the shard axis; what is reduced is then averaged over replicas, if there are several."""

    def __init__(self, mesh: DeviceMesh) -> None:
        self.members, self.replicas = mesh.get_group("shard"), mesh.get_group("replica")
        self.rank, self.nranks = self.members.rank(), self.members.size()

    def all_gather(self, whole: torch.Tensor, part: torch.Tensor) -> dist.Work:
        return dist.all_gather_into_tensor(whole, part, group=self.members, async_op=True)

    def reduce_scatter(self, part: torch.Tensor, whole: torch.Tensor) -> None:
        dist.reduce_scatter_tensor(part, whole, op=dist.ReduceOp.AVG, group=self.members)
        if self.replicas.size() > 1:
            dist.all_reduce(part, op=dist.ReduceOp.AVG, group=self.replicas)

    def broadcast(self, whole: torch.Tensor) -> None:
        dist.broadcast(whole, group=self.members, group_src=0)


def part_of(training: Training, step: int, axes: Axes) -> Any:
    """This rank's samples: the tensor ranks of one part see the same."""
    return share(training.data(step), dist.get_rank() // axes.tensor, axes.data)


def meshed(training: Training, axes: Axes, way: str = "pairs") -> Trained:
    """Inside a rank: replicas x shards x tensor slices. One shard: gradients pass one flat all_reduce; several: ZeRO-3."""
    axes.check(training, dist.get_world_size(), way)
    mesh = axes.mesh()
    model = Divided(training.model, mesh.get_group("tensor"), way)
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
    return watch.trained(_mean(losses), model.whole(params))


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
    return watch.trained(_mean(losses), model.whole(module.by_name()))


def _average(params: list[nn.Parameter], group: dist.ProcessGroup) -> None:
    flat = torch.cat([p.grad.flatten() for p in params])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG, group=group)
    for p, piece in zip(params, flat.split([p.numel() for p in params]), strict=True):
        p.grad.copy_(piece.view_as(p))


def _mean(losses: list[torch.Tensor]) -> list[float]:
    """Over all ranks: those of one tensor group say the same."""
    total = torch.stack(losses)
    dist.all_reduce(total)
    return (total / dist.get_world_size()).tolist()


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
    return watch.trained(_mean(losses), dtensor.whole(module))


def predicted(training: Training, nranks: int, rank: int = 0, *, axes: Axes, way: str = "pairs") -> Predicted:
    """Axis by axis, as in the table above. ValueError as `Axes.check`."""
    axes.check(training, nranks, way)
    calls, sent = _tensor_axis(training, axes, way)
    data_calls, data_sent, held = (_one_shard if axes.shard == 1 else _shards)(training, axes, way)
    for op, number in data_calls.items():
        calls[op] += number * training.steps
        sent[op] += data_sent[op] * training.steps
    return Predicted(calls, sent, held)


def _tensor_axis(training: Training, axes: Axes, way: str) -> tuple[dict[str, int], dict[str, Fraction]]:
    moves = step_moves(training.model, way, training.batch // axes.data)
    calls = {op: training.steps * sum(one == op for one, _ in moves) for op in SHARE}
    sent = {op: training.steps * sent_bytes(moves, op, axes.tensor, training.itemsize) for op in SHARE}
    return calls, sent


def _one_shard(training: Training, axes: Axes, way: str) -> tuple[dict, dict, dict]:
    """(calls, bytes, held) a step: one all_reduce of all gradients of slices."""
    mine = [prod(shape) for shape in cuts.shapes(training.model, way, axes.tensor).values()]
    sent = Fraction(2 * (axes.replica - 1), axes.replica) * sum(mine) * training.itemsize
    return {"all_reduce": 1}, {"all_reduce": sent}, states(training, sum(mine), len(mine))


def _shards(training: Training, axes: Axes, way: str) -> tuple[dict, dict, dict]:
    """(calls, bytes, held) a step: ZeRO-3 of slices, each layer filled up until the shards divide it."""
    slices, depth = cuts.shapes(training.model, way, axes.tensor), training.model.depth
    layers = [sum(prod(slices[name]) for name in training.model.names(i)) for i in range(depth)]
    share_of = sum(-(-n // axes.shard) for n in layers)
    once = (axes.shard - 1) * share_of * training.itemsize
    calls, sent = {"all_gather": 2 * depth, "reduce_scatter": depth}, {"all_gather": 2 * once, "reduce_scatter": once}
    if axes.replica > 1:
        calls["all_reduce"] = depth
        sent["all_reduce"] = Fraction(2 * (axes.replica - 1), axes.replica) * share_of * training.itemsize
    return calls, sent, states(training, share_of, depth)


def predicted_by_torch(training: Training, nranks: int, rank: int = 0, *, axes: Axes, way: str = "pairs") -> Predicted:
    """The same traffic where the shards divide every slice's rows; its optimizer counts steps for each parameter, not each layer."""
    ours, model = predicted(training, nranks, rank, axes=axes, way=way), training.model
    slices = cuts.shapes(model, way, axes.tensor)
    for name, shape in slices.items():
        divides(axes.shard, "shards", shape[0], f"rows of {name} on a rank")
    return Predicted(ours.calls, ours.sent, states(training, sum(map(prod, slices.values())) // axes.shard, len(slices)))


def _strategy(name: str, axes: Axes, run: Any = meshed, paper: Any = predicted, by: str = "ours", way: str = "pairs") -> Strategy:
    training = Training(WIDE, optimizer="adamw")
    how = {"axes": axes, "way": way}
    return Strategy(f"mesh, {name}", partial(run, **how), partial(paper, **how), training, prod(astuple(axes)), by)


STRATEGIES = (
    _strategy("DP x TP", Axes(replica=2, tensor=2), way="sequence"),
    _strategy("ZeRO-3 x TP", Axes(shard=2, tensor=2)),
    _strategy("FSDP2 x DTensor", Axes(shard=2, tensor=2), by_torch, predicted_by_torch, "FSDP2 and DTensor"),
)
THREE = (
    _strategy("DP x ZeRO-3 x TP", Axes(2, 2, 2)),
    _strategy("HSDP x DTensor", Axes(2, 2, 2), by_torch, predicted_by_torch, "FSDP2 and DTensor"),
)
