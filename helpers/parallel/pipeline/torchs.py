"""torch.distributed.pipelining beside ours: the same stages, cut by hand, under its own four schedules. Chapter: pipeline.

Before its first step torch's stages tell their neighbours what shapes will come (as pickled objects, in messages of their own); the
tensors that follow are ours, call by call and byte by byte. So one step on zeros comes before what is counted here.
ScheduleInterleavedZeroBubble with one stage per rank has ZB-H1's order. torch/distributed/pipelining of torch 2.13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.parallel.model import Model
from helpers.parallel.module import Module
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import watched
from helpers.pipeline import SCHEDULES, PipelineSchedule

from .ours import Pipeline, everywhere, stages_of


@dataclass
class Loss:
    """Of one microbatch, such that all of a step add up to the mean over its batch. terms: of the whole batch."""

    model: Model
    terms: int = 1

    def __call__(self, out: Tensor, y: Tensor) -> Tensor:
        return self.model.loss_sum(out, y)[0] / self.terms


def train(training: Training, how: Pipeline | None = None) -> Trained:
    """Inside a rank, as ours.train: all ranks are one pipeline."""
    how = how or Pipeline()
    schedule = how.made(training, dist.get_world_size())
    stages = stages_of(training, schedule, dist.get_rank())
    params = {name: p for stage in stages.values() for name, p in stage.params.items()}
    modules, loss = {s: Module(training.model, stage.params) for s, stage in stages.items()}, Loss(training.model)
    played, losses = _schedule(modules, loss, schedule), []
    optimizer = training.make_optimizer(params.values())
    _step(played, training, 0, loss)
    optimizer.zero_grad()
    with watched(training.model, params, optimizer) as watch:
        for step in range(training.steps):
            losses.append(sum(_step(played, training, step, loss)))
            watch.see([p.grad for p in params.values()], "gradient")
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
    return watch.trained(*everywhere(training, schedule, params, losses, None))


def _schedule(modules: dict[int, Module], loss: Loss, s: PipelineSchedule) -> Any:
    """torch's schedule over the stages of this rank."""
    from torch.distributed import pipelining  # seconds to import, and only this wants it

    device = torch.get_default_device()
    stages = [pipelining.PipelineStage(module, n, s.nstages, device) for n, module in modules.items()]
    kind = getattr(pipelining, SCHEDULES[s.name].torch)
    one = issubclass(kind, pipelining.schedules.PipelineScheduleSingle)
    return kind(stages[0] if one else stages, s.nmicrobatches, loss_fn=loss, scale_grads=False)


def _step(played: Any, training: Training, step: int, loss: Loss) -> list[float]:
    """One forward and backward of a step's batch. The microbatches' losses, on the last stage's rank; elsewhere none."""
    x, y = training.data(step)
    losses: list[Tensor] = []
    loss.terms = training.model.terms(y)
    first, last = dist.get_rank() == 0, dist.get_rank() == dist.get_world_size() - 1
    played.step(*([x] if first else []), target=y if last else None, losses=losses)
    return [one.item() for one in losses]
