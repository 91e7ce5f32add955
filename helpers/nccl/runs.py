"""Published runs of nccl-tests on six kinds of GPU, and how well a model or a line describes them. Chapter: inside-nccl."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from helpers.facts import public
from helpers.facts.fit import minimax, worst
from helpers.nccl.launch import Launch, launch_of
from helpers.nccl.platforms import Platform

TABLE = "nccl-tests-six-gpus"
COLUMNS = ("gpu", "folder", "version", "collective", "nranks")
PCIE = ("L40S",)
JUMP, AFTER = 1.75, 1.6  # a time that grows so much when the size doubles, and less than so much at the next doubling


class Cell(NamedTuple):
    """One time: the median where it was taken more than once. version: the row's own, or its folder's where it states none."""

    gpu: str
    folder: str
    version: str
    collective: str
    nranks: int
    nbytes: int
    seconds: float


class Figures(NamedTuple):
    """Of |model / measured - 1|: half of the cells are below `median`, nine tenths below `p90`."""

    median: float
    p90: float
    worst: float

    def __str__(self) -> str:
        return f"{self.median:.1%} median, {self.p90:.1%} p90, {self.worst:.1%} worst"


@dataclass(frozen=True)
class Run:
    """The times of one collective on one machine with one version, by folder and size. stated: whether the rows state their version."""

    gpu: str
    version: str
    collective: str
    nranks: int
    stated: bool
    cells: tuple[Cell, ...]

    def by_size(self) -> list[tuple[int, float]]:
        """(nbytes, seconds), ascending; the median where several folders have the size."""
        sizes = sorted({cell.nbytes for cell in self.cells})
        return [(size, median(cell.seconds for cell in self.cells if cell.nbytes == size)) for size in sizes]


@lru_cache(maxsize=1)
def runs() -> tuple[Run, ...]:
    """Every run of the public table, PCIe's too."""
    found: dict[tuple[str, str, str, int, bool], list[Cell]] = {}
    rows: Sequence[Mapping[str, Any]] = public(TABLE).rows
    for row in rows:
        gpu, folder, stated, collective, nranks = (row[part] for part in COLUMNS)
        key = (gpu, stated or folder, collective, nranks, stated is not None)
        for place, microseconds in enumerate(row["microseconds"]):
            cell = Cell(gpu, folder, key[1], collective, nranks, row["nbytes"] << place, microseconds * 1e-6)
            found.setdefault(key, []).append(cell)
    return tuple(Run(*key, tuple(cells)) for key, cells in found.items())


def nvlink_runs() -> list[Run]:
    """The 72 on GPUs behind an NVSwitch."""
    return [run for run in runs() if run.gpu not in PCIE]


def measured_launch(gpu: str) -> Launch:
    """A machine's launch and hop, from its own rows up to 4 KiB."""
    rows = [(c.collective, c.nranks, c.nbytes, c.seconds) for run in runs() if run.gpu == gpu for c in run.cells]
    return launch_of(rows, f"{gpu}, nccl-tests")


def measured_platform(gpu: str) -> Platform:
    """The node that the runs of a GPU were made on."""
    return Platform(gpu, 4 if gpu == "GB200" else 8, launch=measured_launch(gpu))


def figures(ratios: Iterable[float]) -> Figures:
    """Of model / measured."""
    errors = sorted(abs(ratio - 1) for ratio in ratios)
    return Figures(median(errors), errors[min(len(errors) - 1, int(0.9 * len(errors)))], errors[-1])


def ends(run: Run) -> Callable[[int], float]:
    """The line through the first and the last time of a run: seconds of nbytes."""
    (first, low), *_, (last, high) = run.by_size()
    slope = (high - low) / (last - first)
    return lambda nbytes: low + (nbytes - first) * slope


def line_and_spread(run: Run) -> tuple[float, float, float]:
    """(alpha, beta, spread): the line with the least largest error, and that error: what can be said of a PCIe machine."""
    sizes, seconds = zip(*run.by_size(), strict=True)
    alpha, beta = minimax(sizes, seconds)
    return alpha, beta, worst(sizes, seconds, alpha, beta)


def jumps(run: Run) -> list[int]:
    """The sizes at which the time jumps: something changed there."""
    times = run.by_size()
    grown = [(size, after / before) for (_, before), (size, after) in pairwise(times)]
    return [size for (size, ratio), (_, after) in pairwise(grown) if ratio >= JUMP and after < AFTER]
