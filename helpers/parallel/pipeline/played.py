"""Anybody's schedule on real ranks: one step against one process, or its messages alone with sends that wait. Chapter: pipeline."""

from __future__ import annotations

import torch
import torch.distributed as dist

from helpers.parallel.reference import Training
from helpers.pipeline import PipelineSchedule

from .ours import microbatches_of, stages_of
from .runner import Runner


def gradients_off(schedule: PipelineSchedule, training: Training) -> float:
    """Inside a rank: one forward and backward of a step's batch, and the largest difference of a gradient here from one process's."""
    stages = stages_of(training, schedule, dist.get_rank())
    batches, terms = microbatches_of(training, 0, schedule.nmicrobatches)
    for stage in stages.values():
        stage.load(batches, terms)
    Runner(schedule, stages).step()
    model, want = training.model, training.params()
    x, y = training.data(0)
    model.loss(model.forward(want, x), y).backward()
    mine = {name: p for stage in stages.values() for name, p in stage.params.items()}
    return max((p.grad - want[name].grad).abs().max().item() for name, p in mine.items())


def messages_alone(schedule: PipelineSchedule) -> int:
    """Inside a rank: its messages in the program's order, each waited for. How many there were; where order is wrong, none comes back.

    dist.send of Gloo returns when the receiver has asked for the message, so it is as strict as `dry_run`.
    """
    x, count = torch.zeros(1), 0
    for action in schedule.programs[dist.get_rank()]:
        if not action.computes:
            call = dist.send if action.kind.startswith("SEND") else dist.recv
            call(x, schedule.owner(action.neighbour))
            count += 1
    return count
