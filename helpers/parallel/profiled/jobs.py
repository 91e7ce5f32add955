"""What is trained while the profiler looks: layers that take their time, and what is wrong with the step. Chapter: reading-a-trace."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[3] / "recorded" / "traces"
ITEM = 4  # bytes of a float32


class Late(NamedTuple):
    """A rank whose layers take `times` as long as the others'."""

    rank: int
    times: float


class Job(NamedTuple):
    """A step of data parallel training on nranks.

    layers: of width * width float32 weights each; seconds: of one layer's forward, backward takes twice as long. bucket: layers whose
    gradients travel in one asynchronous all_reduce; 0: each by itself, waited for at once. load: seconds until a batch is made.
    """

    what: str
    nranks: int = 2
    layers: int = 6
    width: int = 384
    seconds: float = 4e-3
    bucket: int = 3
    load: float = 0.0
    late: Late | None = None

    @property
    def computes(self) -> float:
        """Seconds that the layers of a step take, of a rank that is not late."""
        return 3 * self.layers * self.seconds

    def calls(self) -> list[int]:
        """Bytes of each all_reduce of a step, in their order."""
        each = max(1, self.bucket)
        counts = [min(each, self.layers - first) for first in range(0, self.layers, each)]
        return [count * self.width**2 * ITEM for count in counts]


JOBS = {
    "sound": Job("a sound step: gradients travel in two buckets beside backward"),
    "late-rank": Job("rank 2 of four computes three times as long", nranks=4, late=Late(2, 3.0)),
    "data-loading": Job("each batch takes 60 ms to make, in the process that trains", load=60e-3),
    "small-calls": Job(
        "24 small layers, each gradient summed up by itself and waited for",
        layers=24,
        width=32,
        seconds=0.5e-3,
        bucket=0,
    ),
}


def trace_path(name: str, rank: int) -> Path:
    """The recorded trace of one rank. KeyError for a job that is not there, ValueError for a rank that it does not have."""
    if not 0 <= rank < JOBS[name].nranks:
        raise ValueError(f"{name} was recorded on {JOBS[name].nranks} ranks, got rank {rank}")
    return FOLDER / f"{name}-{rank}.json.gz"
