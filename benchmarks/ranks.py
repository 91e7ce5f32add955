"""What it costs to run a function on ranks from a notebook: ours, and every other launcher's. Chapter: ranks.

    python -m benchmarks.ranks [--nranks 4] [--rounds 3] [--with-peers]

Everybody in real Jupyter kernels, on this machine, now, in turns, round by round; medians, and in brackets how many times ours
(the median of the rounds' ratios). --with-peers installs the others into a temporary virtual environment; else those that
happen to be installed are timed. Every start and relaunch ends with a 4-element all_reduce on every rank.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from statistics import median

import torch

from helpers.units import seconds_text

from . import peers
from .launchers import OURS, Launcher
from .samples import at_least
from .sessions import ROWS, Session, Times, WholeSession, empty_cell


def measure(python: str, launchers: list[Launcher], nranks: int, rounds: int) -> dict[str, list[Times]]:
    """Every launcher's times, round by round, in turns."""
    found: dict[str, list[Times]] = {launcher.name: [] for launcher in launchers}
    for number in range(1, rounds + 1):
        for launcher in launchers:
            print(f"round {number} of {rounds}: {launcher.name} ...", flush=True)
            known = {row: why for times in found[launcher.name] for row, why in times.items() if isinstance(why, str)}
            session = WholeSession if launcher.whole else Session
            found[launcher.name].append(session(python, launcher, nranks, known).times())
    return found


def ratio(times_ours: float) -> str:
    """ "1,891x"; below ten with a digit after the point."""
    return f"{times_ours:,.0f}x" if times_ours >= 10 else f"{times_ours:.1f}x"


def cell(row: str, theirs: list[Times], ours: list[Times]) -> str:
    """ "4.1 s (2.7x)"; "-" where there is a round without a time."""
    times = [one[row] for one in theirs]
    if any(isinstance(t, str) for t in times):
        return "-"
    text = seconds_text(median(times))
    if theirs is ours or any(isinstance(one[row], str) for one in ours):
        return text
    return f"{text} ({ratio(median(t / one[row] for t, one in zip(times, ours, strict=True)))})"


def table(found: dict[str, list[Times]]) -> str:
    """A line for everybody, a column for everything that is timed; below it, why there is no time."""
    lines = [["", *ROWS]]
    lines += [[name, *(cell(row, theirs, found[OURS.name]) for row in ROWS)] for name, theirs in found.items()]
    widths = [max(map(len, column)) + 3 for column in zip(*lines, strict=True)]
    texts = ["".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*texts, *reasons(found)])


def reasons(found: dict[str, list[Times]]) -> list[str]:
    """Why a launcher has no time in a row, each reason once."""
    whys: dict[tuple[str, str], list[str]] = {}
    for name, rounds in found.items():
        for row in ROWS:
            why = next((times[row] for times in rounds if isinstance(times[row], str)), None)
            if why is not None:
                whys.setdefault((name, why), []).append(row)
    return [f"{name}, {', '.join(rows)}: {why}" for (name, why), rows in whys.items()]


def there(with_peers: bool) -> AbstractContextManager:
    """(python, who is there, why the others are not)."""
    return peers.environment() if with_peers else nullcontext((sys.executable, *peers.importable()))


def main(nranks: int = 4, rounds: int = 3, with_peers: bool = False) -> None:
    """Measure and print. Raises ValueError on bad input, before anything starts."""
    at_least("nranks", nranks, 2)
    at_least("rounds", rounds, 1)
    with there(with_peers) as (python, others, missing):
        print(
            f"{nranks} ranks, gloo, CPU; {os.cpu_count()} cores; torch {torch.__version__}; medians of {rounds} rounds"
        )
        for row, what in ROWS.items():
            print(f"  {row:<12}{what}")
        found = measure(python, [OURS, *others], nranks, rounds)
        empty = seconds_text(empty_cell(python))
    print(table(found))
    for name, why in missing.items():
        print(f"{name}: {why}")
    for launcher in (OURS, *others):
        print(f"{launcher.name} {launcher.remark.format(n=nranks, empty=empty)}")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description=__doc__.partition("\n")[0])
    parser.add_argument("--nranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--with-peers", action="store_true", help="install the others, for as long as this runs")
    return parser.parse_args(given)


if __name__ == "__main__":
    main(**vars(arguments()))
