"""A pipeline's step as a timeline: stages that only take their time, real messages. Chapters: overlap, pipeline."""

from __future__ import annotations

import torch.distributed as dist
from torch import Tensor

from helpers.parallel.pipeline.emulated import Emulated
from helpers.parallel.pipeline.runner import Runner
from helpers.pipeline import PipelineSchedule, Times

from .lanes import Lanes, Step


class Noted(Emulated):
    """A stage whose computing is noted, as the schedule writes it: "1F0"."""

    lanes: Lanes
    stage = 0
    what = ""

    def forward(self, microbatch: int, x: Tensor | None) -> Tensor | None:
        self.what = f"{self.stage}F{microbatch}"
        return super().forward(microbatch, x)

    def backward(self, microbatch: int, dy: Tensor | None) -> Tensor | None:
        self.what = f"{self.stage}B{microbatch}"
        return super().backward(microbatch, dy)

    def _take(self, seconds: float) -> None:
        with self.lanes.span("compute", self.what):
            super()._take(seconds)


def piped(schedule: PipelineSchedule, times: Times, reps: int = 1) -> list[list[Step]]:
    """Inside ranks: `reps` steps, of each what every rank did. Messages carry one number, and only computing is noted.

    For schedules whose backward is whole.
    """
    mine = [_step(schedule, times) for _ in range(reps + 1)][1:]  # the first messages connect the ranks
    every: list[list[Step]] = [mine] * dist.get_world_size()
    dist.all_gather_object(every, mine)
    return [list(step) for step in zip(*every, strict=True)]


def _step(schedule: PipelineSchedule, times: Times) -> Step:
    lanes, stages = Lanes(), {}
    for number in schedule.stages(dist.get_rank()):
        stage = Noted(times, schedule.nvirtual, number == schedule.nstages - 1, number == 0)
        stage.lanes, stage.stage = lanes, number
        stages[number] = stage
    runner = Runner(schedule, stages)
    lanes.begin()
    runner.step()
    return lanes.finish()
