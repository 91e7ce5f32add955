"""Fits the shared numbers of helpers.nccl.corrected to the public tables, whole and without each GPU generation.

    .venv/bin/python -m benchmarks.nccl_fit

prints what fitted.toml should hold, and the errors. No clock is read: the same tables give the same numbers. Half a minute.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import NamedTuple

from helpers.nccl.corrected import SHARED, corrected
from helpers.nccl.fabric import Fabric
from helpers.nccl.launch import Launch
from helpers.nccl.platforms import GENERATION
from helpers.nccl.predict import predict
from helpers.nccl.releases import Release, release_of
from helpers.nccl.runs import Figures, figures, measured_platform, nvlink_runs

WANTED = Figures(0.07, 0.16, 0.35)
STEPS = (0.2, 0.08, 0.03)  # how far a number is moved, relative; less when no move helps


class Known(NamedTuple):
    """A cell with all that does not depend on the fit."""

    gpu: str
    call: tuple[str, str, str, int, Fabric, Release, Launch]
    raw: float
    seconds: float


def known() -> list[Known]:
    """Every cell of the 72 runs, with NCCL's choice for it."""
    found = []
    for run in nvlink_runs():
        machine = measured_platform(run.gpu)
        assert machine.launch is not None
        fabric, release = machine.fabric(run.nranks), release_of(run.version)
        for cell in run.cells:
            choice = predict(run.collective, cell.nbytes, machine, run.nranks, run.version)
            call = (run.collective, choice.algorithm, choice.protocol, cell.nbytes, fabric, release, machine.launch)
            found.append(Known(run.gpu, call, choice.raw, cell.seconds))
    return found


def error(cells: list[Known], shared: Mapping[str, float]) -> Figures:
    """Of the corrected formula with these numbers."""
    return figures((corrected(*cell.call, shared) or 0.0) / cell.seconds for cell in cells)


def loss(cells: list[Known], shared: Mapping[str, float]) -> float:
    """What the fit makes small: the three figures, each as a share of what it may be."""
    return sum(figure / wanted for figure, wanted in zip(error(cells, shared), WANTED, strict=True))


def fitted(cells: list[Known], start: Mapping[str, float]) -> dict[str, float]:
    """One number after the other, up or down while that helps."""
    best, least = dict(start), loss(cells, start)
    for step in STEPS:
        moved = True
        while moved:
            moved = False
            for name in best:
                for factor in (1 + step, 1 / (1 + step)):
                    tried = {**best, name: best[name] * factor}
                    if (found := loss(cells, tried)) < least - 1e-6:
                        best, least, moved = tried, found, True
    return best


def main() -> None:
    """Prints the fit on all, then without each generation, and what that one is then told."""
    cells = known()
    print("committed", error(cells, SHARED))
    whole = fitted(cells, SHARED)
    print("fitted", whole, error(cells, whole))
    for generation in ("Ampere", "Hopper", "Blackwell"):
        others = [cell for cell in cells if GENERATION[cell.gpu] != generation]
        left = [cell for cell in cells if GENERATION[cell.gpu] == generation]
        without = fitted(others, SHARED)
        print(f"without {generation}", {name: float(f"{value:.3g}") for name, value in without.items()})
        print(f"  told of {generation}:", error(left, without))


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m benchmarks.nccl_fit", description=__doc__.partition("\n")[0]).parse_args()
    main()
