"""Pipelines whose stages are cut among tensor ranks, several of them side by side: data x pipeline x tensor. Chapter: meshes.

Ranks stand in a mesh [data, pipeline, tensor], tensor the innermost, so that the axis that talks inside every layer has neighbours.

    axis      what is divided    collectives of a step, with m microbatches, the ranks of the axes D, P, T
    tensor    matrices           as helpers.parallel.tensor of a microbatch, for the layers of this rank's stages, m times
    pipeline  layers             a message each way for every microbatch and boundary. Under "pairs" every tensor rank has whole
                                 activations and sends them to the tensor rank of its number, so all T send the same; under
                                 "sequence" each has 1/T of the tokens, and sends these
    data      the batch          an all_reduce of every gradient of this rank's slices, once a step
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import torch

from helpers.parallel.model import MLP
from helpers.parallel.pipeline.ours import Pipeline, add_up, added, everywhere, microbatches_of, samples_each
from helpers.parallel.pipeline.runner import Runner
from helpers.parallel.pipeline.stage import Stage, crossing
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, watched
from helpers.parallel.tensor import cuts
from helpers.parallel.tensor.divided import Divided
from helpers.parallel.tensor.ours import SHARE, sent_bytes, states
from helpers.pipeline import PipelineSchedule, split

from .axes import PipelineAxes

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


class SlicedStage(Stage):
    """A stage whose model is `Divided`: what comes from a neighbour has the shape of what a tensor rank has there."""

    model: Divided

    def forward(self, microbatch: int, x: torch.Tensor | None) -> torch.Tensor | None:
        return _sendable(super().forward(microbatch, x))

    def backward(self, microbatch: int, dy: torch.Tensor | None) -> torch.Tensor | None:
        return _sendable(super().backward(microbatch, dy))

    def empty(self) -> torch.Tensor:
        shape = passed(self.model.model, self.model.way, self.model.group.size(), len(self.microbatches[0].x))
        return next(iter(self.params.values())).new_empty(shape)


def _sendable(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """What was gathered along its last dimension lies in strides; a message takes none."""
    return None if tensor is None else tensor.contiguous()


def passed(model: cuts.Model, way: str, ntensor: int, samples: int) -> tuple[int, ...]:
    """The shape of what one tensor rank sends to the next stage for a microbatch: under "sequence" some tokens or rows."""
    shape = list(crossing(model, samples))
    if way == "sequence":
        shape[0 if isinstance(model, MLP) else 1] //= ntensor
    return tuple(shape)


def piped(training: Training, axes: PipelineAxes, how: Pipeline | None = None, way: str = "pairs") -> Trained:
    """Inside a rank: as helpers.parallel.pipeline.ours.train, of slices. ValueError as `PipelineAxes.check`."""
    how = how or Pipeline(nmicrobatches=4)
    schedule = axes.check(training, torch.distributed.get_world_size(), way, how)
    mesh = axes.mesh()
    pipeline, replicas = mesh.get_group("pipeline"), mesh.get_group("data")
    model = Divided(training.model, mesh.get_group("tensor"), way)
    stages, losses = _stages(training, schedule, model, pipeline.rank()), []
    params = {name: p for stage in stages.values() for name, p in stage.params.items()}
    optimizer, runner = training.make_optimizer(params.values()), Runner(schedule, stages, pipeline)
    with watched(model, params, optimizer) as watch:
        for step in range(training.steps):
            parts, terms = microbatches_of(training, step, how.nmicrobatches, replicas.rank(), axes.data)
            for stage in stages.values():
                stage.load(parts, terms)
            runner.step()
            if axes.data > 1:
                add_up(params, replicas)
            watch.see([p.grad for p in params.values()], "gradient")
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(next(reversed(stages.values())).loss)
    return watch.trained(*_whole(training, schedule, model, params, losses, mesh))


def _stages(training: Training, schedule: PipelineSchedule, model: Divided, rank: int) -> dict[int, Stage]:
    """A rank's stages by number, in the order of the model, each with its slices of its layers' parameters."""
    layers, slices = split(training.model.depth, schedule.nstages), model.slices(training.params())
    return {
        s: SlicedStage(model, layers[s], {n: slices[n] for i in layers[s] for n in model.names(i)}, schedule.splits)
        for s in schedule.stages(rank)
    }


def _whole(
    training: Training, schedule: PipelineSchedule, model: Divided, params: dict, losses: list, mesh: DeviceMesh
) -> tuple[list[float], dict]:
    """Losses and whole parameters on every rank: axis by axis, tensor, pipeline, data."""
    own = {name: p.contiguous() for name, p in model.whole(params).items()}  # broadcast takes no other
    told, whole = everywhere(training, schedule, own, losses, mesh.get_group("pipeline"))
    return added(told, mesh.get_group("data")), whole


def predicted(
    training: Training,
    nranks: int,
    rank: int = 0,
    *,
    axes: PipelineAxes,
    how: Pipeline | None = None,
    way: str = "pairs",
) -> Predicted:
    """Axis by axis, as in the table above. ValueError as `PipelineAxes.check`."""
    found = by_axis(training, nranks, rank, axes=axes, how=how, way=way)
    ops = dict.fromkeys(op for moved in found.values() for op in moved)
    calls = {op: sum(moved[op][0] for moved in found.values() if op in moved) for op in ops}
    sent = {op: sum((moved[op][1] for moved in found.values() if op in moved), Fraction(0)) for op in ops}
    mine = _own(training, axes, how or Pipeline(nmicrobatches=4), way, nranks, rank)
    return Predicted(calls, sent, states(training, sum(mine), len(mine)))


def by_axis(
    training: Training,
    nranks: int,
    rank: int = 0,
    *,
    axes: PipelineAxes,
    how: Pipeline | None = None,
    way: str = "pairs",
) -> dict[str, dict[str, tuple[int, Fraction]]]:
    """Of every axis and operation (calls, bytes sent) by this rank in all steps."""
    how = how or Pipeline(nmicrobatches=4)
    s = axes.check(training, nranks, way, how)
    times, samples = s.nmicrobatches * training.steps, samples_each(training.batch // axes.data, s.nmicrobatches)
    stages = s.stages(axes.stage(rank))
    boundaries = sum(s.travels(stage, stage + 1) + s.travels(stage, stage - 1) for stage in stages)
    message = prod(passed(training.model, way, axes.tensor, samples)) * training.itemsize
    traffic, layers = cuts.traffic(training.model, way, samples), split(training.model.depth, s.nstages)
    moves = [one for stage in stages for i in layers[stage] for one in traffic[i].forward + traffic[i].backward]
    mine = _own(training, axes, how, way, nranks, rank)
    reduced = Fraction(2 * (axes.data - 1), axes.data) * sum(mine) * training.itemsize * training.steps
    return {
        "data": {"all_reduce": (len(mine) * training.steps if axes.data > 1 else 0, reduced)},
        "pipeline": {
            "send": (boundaries * times, Fraction(boundaries * times * message)),
            "recv": (boundaries * times, Fraction(0)),
        },
        "tensor": {
            op: (times * sum(one == op for one, _ in moves), times * _sent(moves, op, axes, training)) for op in SHARE
        },
    }


def _sent(moves: cuts.Moves, op: str, axes: PipelineAxes, training: Training) -> Fraction:
    return sent_bytes(moves, op, axes.tensor, training.itemsize)


def _own(training: Training, axes: PipelineAxes, how: Pipeline, way: str, nranks: int, rank: int) -> list[int]:
    """Elements of this rank's slices, tensor by tensor."""
    s, slices = axes.check(training, nranks, way, how), cuts.shapes(training.model, way, axes.tensor)
    layers = split(training.model.depth, s.nstages)
    names = [n for stage in s.stages(axes.stage(rank)) for i in layers[stage] for n in training.model.names(i)]
    return [prod(slices[n]) for n in names]
