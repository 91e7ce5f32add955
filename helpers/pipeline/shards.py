"""FSDP in a pipeline: when a rank's stages are gathered, freed, and their gradients reduced. Chapters: pipeline, too-big."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .action import Action
from .schedule import PipelineSchedule, Program

AHEAD = 3  # stages that are gathered at once: one goes forward, one backward, and the next one comes


def with_shards(s: PipelineSchedule, ahead: int | None = None) -> PipelineSchedule:
    """The same program with UNSHARD, RESHARD and REDUCE_GRAD where torch's schedules have them.

    Before a computation the next `ahead` stages that the rank computes are gathered, and the others freed: `_add_unshard_reshard` of
    torch.distributed.pipelining.schedules at 2.13, which its classes for several stages a rank call. Those for one stage leave that to
    FSDP, as `ahead` of 0 does: so it is 3 where a rank has several stages, unless told. A stage's gradients are reduced once what its
    last backward gave has been sent on (`_add_reduce_grad`).
    """
    ahead = (AHEAD if s.nvirtual > 1 else 0) if ahead is None else ahead
    return replace(s, programs=tuple(_with_shards(program, ahead) for program in s.programs))


def _with_shards(program: Program, ahead: int) -> Program:
    last = {one.stage: at for at, one in enumerate(program)}  # its last backward, or the send of what that gave
    found: list[Action] = []
    gathered: list[int] = []
    for at, action in enumerate(program):
        if action.computes and ahead:
            wanted = _next(program[at:], ahead)
            found += [Action("RESHARD", stage) for stage in sorted(set(gathered) - set(wanted))]
            found += [Action("UNSHARD", stage) for stage in wanted if stage not in gathered]
            gathered = wanted
        found.append(action)
        if at == last.get(action.stage):
            found.append(Action("REDUCE_GRAD", action.stage))
    return (*found, *(Action("RESHARD", stage) for stage in sorted(gathered)))


def _next(program: Sequence[Action], count: int) -> list[int]:
    """The stages that are computed next, in the order in which they come."""
    return list(dict.fromkeys(one.stage for one in program if one.computes))[:count]
