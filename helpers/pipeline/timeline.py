"""When every computation begins and ends, if messages take `hop` and nobody waits for a send; and what a rank holds meanwhile.

Chapter: pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from helpers.collectives import ScheduleError

from .schedule import KINDS, Action, PipelineSchedule

Time = Fraction | float
EQUAL: Mapping[int, Time] = MappingProxyType({})  # no stage takes longer than another


class Times(NamedTuple):
    """What a rank's whole share of the model takes for one microbatch, in any unit: forward, and the two parts of backward.

    A rank with v stages takes a v-th of each per stage. hop: a message from stage to stage.
    """

    forward: Time = Fraction(1)
    input: Time = Fraction(1)
    weight: Time = Fraction(1)
    hop: Time = Fraction(0)

    @property
    def backward(self) -> Time:
        return self.input + self.weight

    @property
    def work(self) -> Time:
        """All of one microbatch, on one rank."""
        return self.forward + self.backward

    def of(self, kind: str) -> Time:
        """Of a computation."""
        return sum((getattr(self, part) for part in KINDS[kind].takes), Fraction(0))


UNIT = Times()  # a forward 1, a backward 2: its two matmuls per matmul of the forward


class Timed(NamedTuple):
    """A computation on a rank, from start to end."""

    rank: int
    action: Action
    start: Time
    end: Time


@dataclass(frozen=True)
class Timeline:
    """All computations of a step in the order in which they were placed, and what follows from their times."""

    schedule: PipelineSchedule
    timed: tuple[Timed, ...]

    @property
    def makespan(self) -> Time:
        """From the first start to the last end."""
        return max(t.end for t in self.timed)

    @property
    def busy(self) -> list[Time]:
        """Per rank: how long it computes."""
        return [sum((t.end - t.start for t in self.of(rank)), Fraction(0)) for rank in range(self.schedule.nranks)]

    @property
    def idle(self) -> list[Time]:
        """Per rank: how long it does not, until the last rank has finished."""
        return [self.makespan - busy for busy in self.busy]

    @property
    def bubble(self) -> Time:
        """The share of all ranks' time in which they compute nothing."""
        return sum(self.idle, Fraction(0)) / (self.schedule.nranks * self.makespan)

    def of(self, rank: int) -> Iterable[Timed]:
        return (t for t in self.timed if t.rank == rank)


def timeline(s: PipelineSchedule, times: Times = UNIT, longer: Mapping[int, Time] = EQUAL) -> Timeline:
    """Every rank computes its next action as soon as what it needs is there. ScheduleError where all wait for each other.

    Messages take times.hop, none where both stages are on one rank; a sender goes on at once. Exact where times are Fractions.
    longer: for stages that differ, how many times as long they take, {7: 1.1} where the last of eight has the head as well.
    ScheduleError for a stage that is not there.
    """
    if unknown := [stage for stage in longer if stage not in range(s.nstages)]:
        raise ScheduleError(f"stages are 0 to {s.nstages - 1}, got {unknown[0]!r}")
    ended: dict[Action, Time] = {}
    free: list[Time] = [Fraction(0)] * s.nranks
    at, timed = [0] * s.nranks, []
    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(s.computed):
            while at[rank] < len(program):
                action = program[at[rank]]
                start = _ready(s, action, ended, times.hop)
                if start is None:
                    break
                start = max(start, free[rank])
                free[rank] = start + _lasts(s, action, times, longer)
                ended |= dict.fromkeys(done(action), free[rank])
                timed.append(Timed(rank, action, start, free[rank]))
                at[rank] += 1
                moved = True
    _finished(s, at)
    return Timeline(s, tuple(timed))


def _lasts(s: PipelineSchedule, action: Action, times: Times, longer: Mapping[int, Time]) -> Time:
    """A computation, on its stage."""
    return times.of(action.kind) / s.nvirtual * longer.get(action.stage, 1)


def _ready(s: PipelineSchedule, action: Action, ended: dict[Action, Time], hop: Time) -> Time | None:
    """When everything is there that a computation needs; None as long as that is not known."""
    found: Time = Fraction(0)
    for need in needs(s, action):
        if need not in ended:
            return None
        found = max(found, ended[need] + (hop if s.owner(need.stage) != s.owner(action.stage) else 0))
    return found


def needs(s: PipelineSchedule, action: Action) -> list[Action]:
    """The computations whose result this one needs; a whole backward counts as its I, on which others depend."""
    asked = ((kind, action.stage + by) for kind, by in KINDS[action.kind].needs)
    return [Action(kind, stage, action.microbatch) for kind, stage in asked if 0 <= stage < s.nstages]


def done(action: Action) -> list[Action]:
    """What those who wait may take as done with it: itself, and of a whole backward its two parts."""
    return [action._replace(kind=kind) for kind in (action.kind, *KINDS[action.kind].does)]


def _finished(s: PipelineSchedule, at: list[int]) -> None:
    stuck = [f"rank {r} before {program[at[r]]}" for r, program in enumerate(s.computed) if at[r] < len(program)]
    if stuck:
        raise ScheduleError(f"computations wait for each other, or for what nobody computes: {'; '.join(stuck)}")


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
