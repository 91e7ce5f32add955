"""FSDP2 in a pipeline: what torch.distributed.pipelining asks of the parts of the model that a rank has, and when. Chapter: too-big.

Written from torch 2.13 (pipelining/stage.py, schedules.py). No backward reduces: gradients are added up whole, in the type of the
reduction, and what a backward has gathered stays. Once the last gradient of a part has been sent on, all of it is reduced and freed
(REDUCE_GRAD). A rank with several parts gathers them ahead of their use, three at most at a time (UNSHARD, RESHARD).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helpers.pipeline.action import Action

from .model import FullyShard

AHEAD = 3  # parts that are whole at once: torch's max_active_stages
Moves = dict[int, tuple[list[int], list[int]]]


class Stages:
    """parts: by their stage. program: what this rank does in a step; a single rank's backwards are each reduced."""

    def __init__(self, parts: Mapping[int, FullyShard], program: Sequence[Action], alone: bool):
        self.parts, self.alone = parts, alone
        self.moves = moves(program) if len(parts) > 1 else {}
        self.ends = {max(i for i, one in enumerate(program) if of(one, stage)): stage for stage in parts}
        self.asked: set[int] = set()
        for part in parts.values():
            part.hold(not alone)

    def before(self, at: int, action: Action) -> None:
        """The at-th action is next."""
        gone, wanted = self.moves.get(at, ((), ()))
        for stage in gone:
            self.parts[stage].free()
        for stage in wanted:
            self.parts[stage].ask()
            self.asked.add(stage)
        if action.computes and action.stage in self.asked:
            self.asked.remove(action.stage)
            self.parts[action.stage].wait()

    def backward_over(self, stage: int) -> None:
        """Of one micro-batch."""
        if stage in self.parts:
            self.parts[stage].finish(last=self.alone)

    def after(self, at: int) -> None:
        """The at-th action is over."""
        if at in self.ends and not self.alone:
            self.parts[self.ends[at]].reduce()


def of(action: Action, stage: int) -> bool:
    """Is it a backward of the stage, or does it send on what one gave?"""
    return action.stage == stage and action.kind in ("B", "SEND_B")


def moves(program: Sequence[Action], most: int = AHEAD) -> Moves:
    """Before which of a rank's actions which stages are dropped and which are asked for: the next ones that compute are here."""
    computes = [(at, one.stage) for at, one in enumerate(program) if one.computes]
    here: list[int] = []
    found: Moves = {}
    for i, (at, _) in enumerate(computes):
        wanted = list(dict.fromkeys(stage for _, stage in computes[i:]))[:most]
        gone, new = [s for s in here if s not in wanted], [s for s in wanted if s not in here]
        here = [s for s in here if s in wanted] + new
        found[at if i else 0] = gone, new
    return {at: both for at, both in found.items() if any(both)}
