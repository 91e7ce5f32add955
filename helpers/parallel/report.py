"""One strategy on all ranks, held against single-process training and its formulas. Chapters: data-parallel, sharded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch.distributed as dist

from .reference import Training, difference
from .strategy import Strategy


class Line(NamedTuple):
    """What one rank found. sent, on_gloo: bytes of all steps, as formulas and as Gloo have it; held: bytes of the states."""

    rank: int
    difference: float
    tolerance: float
    calls: dict[str, int]
    calls_predicted: dict[str, int]
    sent: float
    sent_predicted: float
    on_gloo: float
    held: dict[str, int]
    held_predicted: dict[str, int]

    @property
    def wrong(self) -> list[str]:
        """What is not as it should be, in words; none where all is well."""
        pairs = {
            "calls": (self.calls, self.calls_predicted),
            "bytes": (self.sent, self.sent_predicted),
            "memory": (self.held, self.held_predicted),
        }
        found = [f"{name}: {got}, predicted {want}" for name, (got, want) in pairs.items() if got != want]
        if not self.difference <= self.tolerance:
            found.append(f"{self.difference:.1e} from single-process training, at most {self.tolerance:.0e}")
        return [f"rank {self.rank}: {one}" for one in found]


def lines(strategy: Strategy, training: Training | None = None) -> list[Line]:
    """Inside a rank: train, compare, and gather every rank's line, in their order, on every rank."""
    mine = line(strategy, training or strategy.training)
    every: list[Line] = [mine] * dist.get_world_size()
    dist.all_gather_object(every, mine)
    return every


def line(strategy: Strategy, training: Training) -> Line:
    """Inside a rank: its own."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    got, paper = strategy.train(training), strategy.predicted(training, nranks, rank)
    return Line(
        rank,
        difference(got, strategy.reference(training, nranks)),
        training.tolerance,
        got.moved.by_op(),
        {op: number for op, number in paper.calls.items() if number},
        float(got.moved.sent()),
        float(paper.total),
        float(got.moved.on_gloo()),
        dict(got.held),
        dict(paper.held),
    )


HEADER = ("strategy", "difference", "calls", "predicted", "sent", "predicted", "on Gloo", "memory", "predicted")


def row(name: str, found: Sequence[Line]) -> tuple[str, ...]:
    """The table's line, as HEADER: the largest difference; calls and bytes of the rank that sends most; memory of the fullest."""
    busiest, fullest = max(found, key=lambda one: one.sent), max(found, key=lambda one: sum(one.held.values()))
    return (
        name,
        f"{max(one.difference for one in found):.1e}",
        str(sum(busiest.calls.values())),
        str(sum(busiest.calls_predicted.values())),
        f"{busiest.sent:,.0f}",
        f"{busiest.sent_predicted:,.0f}",
        f"{busiest.on_gloo:,.0f}",
        f"{sum(fullest.held.values()):,}",
        f"{sum(fullest.held_predicted.values()):,}",
    )


def laid_out(cells: Sequence[str], width: int) -> str:
    """One line of text: the name to the left, numbers to the right."""
    return f"{cells[0]:<{width}}" + "".join(f"{cell:>12}" for cell in cells[1:])
