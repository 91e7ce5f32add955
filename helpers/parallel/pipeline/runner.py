"""A schedule's program on a rank: actions in their order, messages beside the computing. Chapter: pipeline.

Receives are posted where the program has them and waited for where they are needed; a sender goes on at once. The order of
messages between two ranks is the same on both (`helpers.pipeline.dry_run`), so each receive meets its send without a tag. NCCL
has none, and its send keeps the GPU's stream until the receiver is there, as `dry_run` has it:
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/p2p.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import torch.distributed as dist
from torch import Tensor

from helpers.pipeline import PipelineSchedule
from helpers.pipeline.schedule import Action


class Computes(Protocol):
    """What a runner wants of a stage: `Stage`, or one that only takes its time."""

    def forward(self, microbatch: int, x: Tensor | None) -> Tensor | None: ...
    def backward(self, microbatch: int, dy: Tensor | None) -> Tensor | None: ...
    def input_gradient(self, microbatch: int, dy: Tensor | None) -> Tensor | None: ...
    def weight_gradient(self, microbatch: int) -> None: ...
    def empty(self) -> Tensor: ...


class Runner:
    """Plays a rank's program. stages: its own, by number. group: its pipeline, by default all ranks; its rank there counts."""

    def __init__(
        self, schedule: PipelineSchedule, stages: Mapping[int, Computes], group: dist.ProcessGroup | None = None
    ):
        self.schedule, self.stages, self.group = schedule, stages, group
        self.program = schedule.programs[dist.get_rank(group)]
        self.there: dict[tuple[bool, int, int], tuple[Any, Tensor]] = {}  # for a stage: (its receive or None, tensor)
        self.made: dict[tuple[bool, int, int], Tensor] = {}  # by a stage, to be sent
        self.leaving: list[tuple[Any, Tensor]] = []
        compute = {"F": self._forward, "B": self._backward, "I": self._backward, "W": self._weights}
        self.do = (
            compute | dict.fromkeys(("SEND_F", "SEND_B"), self._send) | dict.fromkeys(("RECV_F", "RECV_B"), self._recv)
        )

    def step(self) -> None:
        """All microbatches forward and back. Returns when everything that this rank sent has left it."""
        for action in self.program:
            self.do[action.kind](action)
        for work, _ in self.leaving:
            work.wait()
        self.leaving.clear()

    # computing -------------------------------------------------------------------------------------------------------
    def _forward(self, action: Action) -> None:
        x = self._take(True, action) if action.stage else None
        self._put(True, action, self.stages[action.stage].forward(action.microbatch, x))

    def _backward(self, action: Action) -> None:
        stage = self.stages[action.stage]
        dy = self._take(False, action) if action.stage < self.schedule.nstages - 1 else None
        way = stage.backward if action.kind == "B" else stage.input_gradient
        self._put(False, action._replace(kind="B"), way(action.microbatch, dy))

    def _weights(self, action: Action) -> None:
        self.stages[action.stage].weight_gradient(action.microbatch)

    def _take(self, forward: bool, action: Action) -> Tensor:
        work, tensor = self.there.pop((forward, action.stage, action.microbatch))
        if work is not None:
            work.wait()
        return tensor

    def _put(self, forward: bool, action: Action, tensor: Tensor | None) -> None:
        """For a stage on this rank it is there at once; else it waits for its send."""
        if tensor is None:
            return
        if self.schedule.travels(action.stage, action.neighbour):
            self.made[forward, action.stage, action.microbatch] = tensor
        else:
            self.there[forward, action.neighbour, action.microbatch] = None, tensor

    # messages --------------------------------------------------------------------------------------------------------
    def _send(self, action: Action) -> None:
        self.leaving = [(work, tensor) for work, tensor in self.leaving if not work.is_completed()]
        tensor = self.made.pop((action.kind == "SEND_F", action.stage, action.microbatch))
        peer = self.schedule.owner(action.neighbour)
        self.leaving.append((dist.isend(tensor, group=self.group, group_dst=peer), tensor))

    def _recv(self, action: Action) -> None:
        room = self.stages[action.stage].empty()
        work = dist.irecv(room, group=self.group, group_src=self.schedule.owner(action.neighbour))
        self.there[action.kind == "RECV_F", action.stage, action.microbatch] = work, room
