"""The bubble, measured: stages that only take their time, between real ranks with real messages. Chapter: pipeline.

A stage sleeps where another computes, so any machine with any number of cores shows the waits of a machine per rank. On a GPU it keeps
the GPU's stream busy instead: there a message is waited for by the next kernel, and no host sees it.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.pipeline import PipelineSchedule, Times
from helpers.ranks.timing.timing import cycles_a_second
from helpers.ranks.worker.inside import shares_a_gpu

from .runner import Runner


class Slept(NamedTuple):
    """A rank's step: seconds in computations, and from the barrier before it to the barrier after it."""

    busy: float
    elapsed: float


class Emulated:
    """Stands in for a stage: takes `times` (seconds of a rank's whole share, of which it is a v-th) and passes one number on."""

    rate = 0.0  # cycles a second of this rank's GPU; none on a CPU

    def __init__(self, times: Times, nvirtual: int, last: bool, first: bool):
        self.times, self.nvirtual, self.first, self.last = times, nvirtual, first, last
        self.busy = 0.0

    def forward(self, microbatch: int, x: Tensor | None) -> Tensor | None:
        self._take(self.times.forward)
        return None if self.last else self.empty()

    def backward(self, microbatch: int, dy: Tensor | None) -> Tensor | None:
        self._take(self.times.backward)
        return None if self.first else self.empty()

    def input_gradient(self, microbatch: int, dy: Tensor | None) -> Tensor | None:
        self._take(self.times.input)
        return None if self.first else self.empty()

    def weight_gradient(self, microbatch: int) -> None:
        self._take(self.times.weight)

    def empty(self) -> Tensor:
        return torch.zeros(1)

    def _take(self, seconds: float) -> None:
        each, start = float(seconds) / self.nvirtual, time.perf_counter()
        if self.rate:
            torch.cuda._sleep(int(each * self.rate))
        else:
            time.sleep(each)
            each = time.perf_counter() - start
        self.busy += each


def slept(schedule: PipelineSchedule, times: Times, reps: int = 1) -> list[list[Slept]]:
    """Inside a rank: `reps` steps, of each what every rank found. times: in seconds; times.hop is not emulated, messages are real.

    RuntimeError where ranks share a GPU.
    """
    if shares_a_gpu():
        raise RuntimeError("these ranks share a GPU: their times mean nothing")
    Emulated.rate = cycles_a_second() if torch.get_default_device().type == "cuda" else 0.0
    _step(schedule, Times(0, 0, 0))  # the first messages connect the ranks
    mine = [_step(schedule, times) for _ in range(reps)]
    every: list[list[Slept]] = [mine] * dist.get_world_size()
    dist.all_gather_object(every, mine)
    return [list(step) for step in zip(*every, strict=True)]


def _step(schedule: PipelineSchedule, times: Times) -> Slept:
    stages = {
        s: Emulated(times, schedule.nvirtual, s == schedule.nstages - 1, s == 0)
        for s in schedule.stages(dist.get_rank())
    }
    runner = Runner(schedule, stages)
    began = _met()
    runner.step()
    return Slept(sum(stage.busy for stage in stages.values()), _met() - began)


def _met() -> float:
    """When all ranks have come, and their GPUs are through. Seconds of this rank's clock."""
    if torch.get_default_device().type == "cuda":
        torch.cuda.synchronize()
    dist.barrier()
    return time.perf_counter()


def idle_share(step: list[Slept]) -> float:
    """The share of all ranks' time in a step in which they compute nothing: what `helpers.pipeline.bubble_share` is the formula of."""
    return 1 - sum(one.busy for one in step) / sum(one.elapsed for one in step)
