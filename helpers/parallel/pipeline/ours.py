"""Training through a pipeline, by any of the four schedules: equal to one process, and what it moves. Chapter: pipeline.

The only messages are activations to the next stage and their gradients back, one of each per microbatch and boundary, so the
bytes of a step do not depend on m: a rank in the middle sends A forward and A back, A being the activations of the whole batch
between two layers. Interleaving with v stages per rank has v times as many boundaries. Nothing is reduced.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

import torch
import torch.distributed as dist

from helpers.parallel.checks import divides, whole
from helpers.parallel.model import Batch, Params, share
from helpers.parallel.reference import Trained, Training, step_counts
from helpers.parallel.strategy import Predicted, watched
from helpers.pipeline import SCHEDULES, PipelineSchedule, split

from .runner import Runner
from .stage import Stage, crossing


@dataclass(frozen=True)
class Pipeline:
    """How a training is cut. schedule: a name of helpers.pipeline.SCHEDULES; nvirtual: stages per rank (None: the schedule's own)."""

    schedule: str = "1f1b"
    nmicrobatches: int = 8
    nvirtual: int | None = None

    def made(self, training: Training, nranks: int, ndata: int = 1) -> PipelineSchedule:
        """The schedule of one of `ndata` pipelines. ValueError, before anything is launched, for what cannot be."""
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule is one of {', '.join(SCHEDULES)}, got {self.schedule!r}")
        samples_each(divides(ndata, "pipelines", training.batch, "batch"), self.nmicrobatches)
        made = SCHEDULES[self.schedule](nranks, self.nmicrobatches, self.nvirtual)
        split(training.model.depth, made.nstages)
        return made


def samples_each(batch: int, nmicrobatches: int) -> int:
    """Samples of a microbatch. ValueError where there are more microbatches than samples, or something is left over."""
    whole("nmicrobatches", nmicrobatches)
    if nmicrobatches > batch:
        raise ValueError(
            f"{nmicrobatches} microbatches are more than the {batch} samples of the batch: take at most {batch} microbatches, "
            f"or a batch of {nmicrobatches}"
        )
    if batch % nmicrobatches:
        fits = [n for n in range(1, batch + 1) if batch % n == 0]
        near = max(n for n in fits if n < nmicrobatches), min(n for n in fits if n > nmicrobatches)
        raise ValueError(
            f"{nmicrobatches} microbatches do not divide a batch of {batch}: take {near[0]} or {near[1]} microbatches, "
            f"or a batch of {batch // nmicrobatches * nmicrobatches} or {(batch // nmicrobatches + 1) * nmicrobatches}"
        )
    return batch // nmicrobatches


def train(
    training: Training,
    how: Pipeline | None = None,
    group: dist.ProcessGroup | None = None,
    replicas: dist.ProcessGroup | None = None,
) -> Trained:
    """Inside a rank: its stages of the model through all steps. Whole parameters and the losses come back on every rank.

    group: the ranks of one pipeline, by default all. replicas: the ranks that have the same stages in other pipelines, each
    with its share of the batch; their gradients are added up once a step, whatever the number of microbatches.
    """
    how = how or Pipeline()
    ndata, mine = (dist.get_world_size(replicas), dist.get_rank(replicas)) if replicas else (1, 0)
    schedule = how.made(training, dist.get_world_size(group), ndata)
    stages, losses = stages_of(training, schedule, dist.get_rank(group)), []
    params = {name: p for stage in stages.values() for name, p in stage.params.items()}
    optimizer, runner = training.make_optimizer(params.values()), Runner(schedule, stages, group)
    with watched(training.model, params, optimizer) as watch:
        for step in range(training.steps):
            microbatches, terms = microbatches_of(training, step, how.nmicrobatches, mine, ndata)
            for stage in stages.values():
                stage.load(microbatches, terms)
            runner.step()
            if replicas:
                add_up(params, replicas)
            watch.see([p.grad for p in params.values()], "gradient")
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(next(reversed(stages.values())).loss)
    losses, params = everywhere(training, schedule, params, losses, group)
    return watch.trained(added(losses, replicas) if replicas else losses, params)


def add_up(params: Params, replicas: dist.ProcessGroup) -> None:
    """The gradients of all pipelines, each already divided by the terms of the whole batch: a sum, no mean."""
    for p in params.values():
        dist.all_reduce(p.grad, group=replicas)


def added(losses: list[float], replicas: dist.ProcessGroup) -> list[float]:
    """The losses of the whole batch: the sum of its shares, each already divided by the terms of all."""
    total = torch.tensor(losses, dtype=torch.float64)
    dist.all_reduce(total, group=replicas)
    return total.tolist()


def stages_of(training: Training, schedule: PipelineSchedule, rank: int) -> dict[int, Stage]:
    """A rank's stages by number, in the order of the model, each with its layers' parameters and no others."""
    layers, whole_params, model = split(training.model.depth, schedule.nstages), training.params(), training.model
    return {
        s: Stage(model, layers[s], {n: whole_params[n] for i in layers[s] for n in model.names(i)}, schedule.splits)
        for s in schedule.stages(rank)
    }


def microbatches_of(
    training: Training, step: int, nmicrobatches: int, replica: int = 0, ndata: int = 1
) -> tuple[list[Batch], int]:
    """One pipeline's share of a step's batch, in equal parts, and how many terms the mean over the whole batch has."""
    batch = training.data(step)
    own = share(batch, replica, ndata)
    return [share(own, k, nmicrobatches) for k in range(nmicrobatches)], training.model.terms(batch.y)


def everywhere(
    training: Training, schedule: PipelineSchedule, params: Params, losses: list, group: dist.ProcessGroup | None
) -> tuple[list[float], Params]:
    """What one rank knows, on all: the last stage's losses, and every parameter from its owner. After all steps."""
    layers, last = split(training.model.depth, schedule.nstages), schedule.owner(schedule.nstages - 1)
    told, all_params = torch.tensor([float(loss) for loss in losses], dtype=torch.float64), training.params()
    dist.broadcast(told, group=group, group_src=last)
    for stage, those in enumerate(layers):
        for name in (n for i in those for n in training.model.names(i)):
            tensor = params.get(name, all_params[name]).detach()
            dist.broadcast(tensor, group=group, group_src=schedule.owner(stage))
            all_params[name] = tensor
    return told.tolist(), all_params


def predicted(training: Training, nranks: int, rank: int = 0, how: Pipeline | None = None, ndata: int = 1) -> Predicted:
    """Calls and bytes by the boundaries that a rank has: m messages each way and step, of a microbatch's activations each.

    A stage sends its output unless it is the last, and the gradient of its input unless it is the first; it receives as often.
    Neighbouring stages on one rank (nranks=1) send nothing. nranks, rank: of one pipeline. With ndata of them side by side each
    has a part of the batch, and every gradient of a rank's own layers passes an all_reduce among ndata ranks.
    """
    how = how or Pipeline()
    s = how.made(training, nranks, ndata)
    boundaries = sum(s.travels(stage, stage + 1) + s.travels(stage, stage - 1) for stage in s.stages(rank))
    calls = boundaries * s.nmicrobatches * training.steps
    each = prod(crossing(training.model, samples_each(training.batch // ndata, s.nmicrobatches))) * training.itemsize
    own, held = owned(training, s, rank), states(training, s, rank)
    reduced = Fraction(2 * (ndata - 1), ndata) * held["gradient"] * training.steps
    reductions = len(own) * training.steps if ndata > 1 else 0
    return Predicted(
        {"send": calls, "recv": calls} | ({"all_reduce": reductions} if reductions else {}),
        {"send": calls * each, "all_reduce": reduced},
        held,
    )


def owned(training: Training, schedule: PipelineSchedule, rank: int) -> list[str]:
    """The parameters of a rank's layers, by name."""
    layers = split(training.model.depth, schedule.nstages)
    return [n for s in schedule.stages(rank) for i in layers[s] for n in training.model.names(i)]


def states(training: Training, schedule: PipelineSchedule, rank: int) -> dict[str, int]:
    """Parameters of the rank's layers, gradients as many, AdamW's two moments and a step count for each tensor."""
    own = owned(training, schedule, rank)
    nbytes = sum(prod(training.model.shapes[n]) for n in own) * training.itemsize
    adamw = 2 * nbytes + step_counts(len(own))
    return {"parameter": nbytes, "gradient": nbytes, "optimizer": adamw if training.optimizer == "adamw" else 0}
