"""A rank of a pipeline: which micro-batch it computes when, what it receives early, and how many wait for their backward.

Order and messages are those of `helpers.pipeline`: 1F1B, and where a rank has several parts of the model the interleaved one. A real
rank plays the same program (`helpers.parallel.pipeline.runner`). Chapter: too-big.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from helpers.memory.sharding import Sharding
from helpers.pipeline import SCHEDULES, PipelineSchedule, peak
from helpers.pipeline.orders import with_shards
from helpers.pipeline.schedule import Action

from .moves import received
from .part import Part
from .stages import Stages

Targets = tuple[Tensor, Tensor]
Spot = tuple[int, int]  # stage and micro-batch


class Parts(nn.Module):
    """All that an interleaved pipeline's rank has of a model. Called with the number of one of them, and what goes into that."""

    def __init__(self, parts: list[Part], sharding: Sharding):
        super().__init__()
        self.sharding = sharding
        for i, part in enumerate(parts):
            self.add_module(str(i), part)

    def forward(self, i: int, x: Tensor, targets: Tensor | None = None) -> Tensor:
        """Of the i-th part."""
        return self.get_submodule(str(i))(x, targets)


class Waiting(NamedTuple):
    """A micro-batch between its forward and its backward. x: what came in; edge: where backward begins."""

    x: Tensor
    edge: GradientEdge


class Pipeline:
    """A rank's forwards and backwards of one step. batch() gives tokens and targets of the next micro-batch.

    phase("forward") or phase("backward") is entered around each: what a rank receives is made outside of any module.

    An output that has been sent on is freed, as Megatron frees it. sharded: each of the model's parts, where FSDP2 shares
    them out. dtype: of what passes from stage to stage.
    """

    def __init__(
        self,
        model: Part | Parts,
        batch: Callable[[], Targets],
        phase: Callable[[str], AbstractContextManager],
        sharded: Sequence[nn.Module] = (),
        dtype: torch.dtype = torch.bfloat16,
    ):
        plan = model.sharding
        self.model, self.batch, self.phase, self.dtype = model, batch, phase, dtype
        self.parts = {one.stage: (i, one) for i, one in enumerate(plan.parts)}
        made = schedule(plan.pipeline, plan.micro_batches, plan.virtual)
        stages = dict(zip(self.parts, sharded, strict=True)) if sharded and plan.pipeline > 1 else {}
        program = with_shards(made) if stages else made
        self.most, self.todo = peak(made)[plan.stage], deque(program.programs[plan.stage])
        self.sharded = Stages(stages)
        self.waiting: dict[Spot, Waiting] = {}
        self.here: dict[tuple[str, int, int], Tensor] = {}  # received and not yet used, or made and not yet sent
        self.do = {"F": self._forward, "B": self._backward, "RECV_F": self._receive, "RECV_B": self._receive}

    def fill(self) -> None:
        """Compute until as many micro-batches wait for their backward as ever will."""
        while len(self.waiting) < self.most:
            self._next()

    def drain(self) -> None:
        """Compute the rest of the step."""
        while self.todo:
            self._next()

    def _next(self) -> None:
        """A computation or a message, and what is gathered, freed and reduced around it."""
        before, action = self._shards("UNSHARD"), self.todo.popleft()
        with self.phase("forward" if action.kind.endswith("F") else "backward"):
            for one in before:
                self.sharded.do(one)
            if action.computes:
                self.sharded.before(action)
            self.do.get(action.kind, self._send)(action)
            for one in self._shards("RESHARD", "REDUCE_GRAD"):
                self.sharded.do(one)

    def _shards(self, *kinds: str) -> list[Action]:
        """What comes next of these kinds."""
        found = []
        while self.todo and self.todo[0].kind in kinds:
            found.append(self.todo.popleft())
        return found

    def _receive(self, action: Action) -> None:
        self.here[action.kind[-1], *action[1:]] = received(*self._stream(), dtype=self.dtype)

    def _send(self, action: Action) -> None:
        del self.here[action.kind, *action[1:]]

    def _forward(self, action: Action) -> None:
        i, plan = self.parts[action.stage]
        tokens, targets = self.batch()
        x = tokens if plan.first else self.here.pop(("F", *action[1:])).requires_grad_()
        which = (i,) if isinstance(self.model, Parts) else ()
        out = self.model(*which, x, targets if plan.last else None)
        if plan.last and self._part(i).apart:
            out = self._part(i).loss(out, targets)
        self.waiting[action[1:]] = Waiting(x, torch.autograd.graph.get_gradient_edge(out))
        if not plan.last:
            self.here["SEND_F", *action[1:]] = out.detach()

    def _backward(self, action: Action) -> None:
        _, plan = self.parts[action.stage]
        x, edge = self.waiting.pop(action[1:])
        device = next(self.model.parameters()).device
        grad = torch.ones((), device=device) if plan.last else self.here.pop(("B", *action[1:]))
        torch.autograd.backward((edge,), (grad,))
        if not plan.first:
            assert x.grad is not None
            self.here["SEND_B", *action[1:]] = x.grad
        del x, edge, grad
        gc.collect(0)  # checkpointing leaves cycles that hold a stream until Python looks for them

    def _stream(self) -> tuple[int, int, int]:
        """The shape of what passes from stage to stage."""
        plan, (tokens, _) = self.model.sharding, self.batch()
        return tokens.shape[0], tokens.shape[1] // (plan.tensor if plan.sequence else 1), self._part(0).hidden

    def _part(self, i: int) -> Part:
        return self.model if isinstance(self.model, Part) else self.model.get_submodule(str(i))


@cache
def schedule(nranks: int, micro_batches: int, virtual: int) -> PipelineSchedule:
    """1F1B, or with several parts on a rank the interleaved one."""
    return SCHEDULES["interleaved" if virtual > 1 else "1f1b"](nranks, micro_batches, virtual)
