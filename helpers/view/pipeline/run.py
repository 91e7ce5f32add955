"""One schedule under times, and what follows: when, how idle, what is held, what is under way. `timeline.mjs` computes the same.

All times are counted in 48ths of a unit: they hold every quarter of a unit cut into 1 to 4 stages, so that both sides are exact.
Chapter: pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

from helpers.pipeline import SCHEDULES, PipelineSchedule, Times, idle, most_waiting, timeline, waiting
from helpers.pipeline.action import KINDS, Action

GRAINS = 48


def grains(time: Fraction | float, parts: int = GRAINS) -> int:
    """A time in 48ths, or in as many parts of a unit. ValueError for one between two of them."""
    found = time * parts
    if found != int(found):
        raise ValueError(f"{time} is no multiple of 1/{parts}")
    return int(found)


class Block(NamedTuple):
    """A computation on a rank, from start to end in 48ths."""

    rank: int
    action: Action
    start: int
    end: int


@lru_cache(maxsize=64)
def _placed(schedule: PipelineSchedule, times: Times) -> list[Block]:
    """In whole 48ths floats are exact, and quicker than fractions."""
    line = timeline(schedule, Times(*(float(grains(time)) for time in times)))
    return [Block(t.rank, t.action, grains(t.start, 1), grains(t.end, 1)) for t in line.timed]


@dataclass(frozen=True)
class Run:
    """A schedule under times, and what follows, in 48ths. own: a reader's schedule, which has no closed form."""

    schedule: PipelineSchedule
    times: Times
    own: bool = False

    @property
    def blocks(self) -> list[Block]:
        """Every computation."""
        return _placed(self.schedule, self.times)

    @cached_property
    def makespan(self) -> int:
        return max(t.end for t in self.blocks)

    @property
    def title(self) -> str:
        if self.own:
            return self.schedule.name
        title = SCHEDULES[self.schedule.name].title
        return title[0].upper() + title[1:]

    @property
    def all_time(self) -> int:
        """Of all ranks together."""
        return self.schedule.nranks * self.makespan

    @property
    def useful(self) -> int:
        """Of one rank: what it computes."""
        return self.schedule.nmicrobatches * grains(self.times.work)

    def idle_until(self, at: int) -> int:
        """How long the ranks had computed nothing, all together, by a time."""
        busy = sum(max(0, min(at, t.end) - t.start) for t in self.blocks)
        return self.schedule.nranks * at - busy

    @property
    def wait(self) -> int | None:
        """A rank's idle time by the closed form; None where there is none."""
        try:
            return None if self.own else grains(idle(self.schedule, self.times))
        except ValueError:
            return None

    @cached_property
    def held(self) -> list[list[tuple[int, int, int]]]:
        """Per rank, after each computation: when it ended, and how many stages' activations wait for I or B, and how many for W."""
        ends = [[t.end for t in self.blocks if t.rank == rank] for rank in range(self.schedule.nranks)]
        rows = zip(ends, waiting(self.schedule), strict=True)
        return [[(end, h.whole, h.weights) for end, h in zip(*row, strict=True)] for row in rows]

    @property
    def peaks(self) -> list[Fraction]:
        """Per rank: the most microbatches' activations, in those of its whole share."""
        return [
            Fraction(max(whole + weights for _, whole, weights in rank), self.schedule.nvirtual) for rank in self.held
        ]

    @property
    def most(self) -> Fraction | None:
        """The largest of the peaks by the closed form; None where there is none."""
        return None if self.own else max(most_waiting(self.schedule, r) for r in range(self.schedule.nranks))

    def holds(self, rank: int, at: int) -> Fraction:
        """What a rank holds at a time."""
        now = [whole + weights for end, whole, weights in self.held[rank] if end <= at]
        return Fraction(now[-1] if now else 0, self.schedule.nvirtual)

    def messages(self) -> Iterator[tuple[int, int, str]]:
        """When each is sent and there, and what is inside: "F" or "B"."""
        s, hop = self.schedule, grains(self.times.hop)
        for t in self.blocks:
            if KINDS[t.action.kind].to and s.travels(t.action.stage, t.action.neighbour):
                yield t.end, t.end + hop, "F" if t.action.kind == "F" else "B"
