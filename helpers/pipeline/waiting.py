"""What a rank holds while microbatches wait for their backward: counted from the order of its actions. Chapter: pipeline."""

from __future__ import annotations

from typing import NamedTuple

from .action import KINDS, Action
from .schedule import PipelineSchedule


class Held(NamedTuple):
    """After an action: how many (stage, microbatch) hold activations for their backward, and how many only for their weights.

    A stage is a v-th of the rank's layers, so `whole` / v is in microbatches of a rank's whole share. Between I and W what is
    held is less: inputs of matmuls and the gradients of their outputs, no attention scores (arXiv 2401.10241, table 1).
    """

    action: Action
    whole: int
    weights: int

    @property
    def total(self) -> int:
        return self.whole + self.weights


def waiting(s: PipelineSchedule) -> tuple[tuple[Held, ...], ...]:
    """Per rank: what is held after each computation, in order. All begin and end with nothing."""
    return tuple(_held(program) for program in s.computed)


def peak(s: PipelineSchedule) -> list[int]:
    """Per rank: the most (stage, microbatch) that hold anything at once."""
    return [max((held.total for held in rank), default=0) for rank in waiting(s)]


def _held(program: tuple[Action, ...]) -> tuple[Held, ...]:
    whole = weights = 0
    found = []
    for action in program:
        more = KINDS[action.kind].holds
        whole, weights = whole + more[0], weights + more[1]
        found.append(Held(action, whole, weights))
    return tuple(found)
