"""The promises in figures: what a fault costs the reader, in a real notebook with four ranks. Chapters: ranks, hangs.

    python -m benchmarks.faults [--rounds 3] [--only deaths,deadlines,interrupts,kills,relaunches,leaks]

The cells are those of tests/faults. Times are the client's: what passes until the cell, or the last process, has ended. Nothing
is asserted here; a figure that misses its promise says so.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch

from helpers.units import seconds_text

from .matrix import (
    BUSY,
    FIFTY,
    FOUR,
    HEALTHY,
    LAUNCHES,
    MATRIX,
    STUCK_OR_DIFFERENT,
    SUMS,
    Cell,
    Kernel,
    Scenario,
    alive,
    ready,
    same,
)
from .samples import at_least

DEADLINE = 2.0  # seconds that a rank of the notebook's may be inside a collective
LATE = ("a skipped collective", "another operation", "another order", "a barrier against an all_reduce")
STOPPED = ("in Python", "in C++", "holding the GIL", "in collectives")
SHOT = ("idle", "in C++", "holding the GIL", "in collectives")
LAUNCHES_IN_ALL = 100
GIVE_UP = 30.0  # seconds after which a process that should be gone counts as left behind
BY_DEFAULT = """
def f():
    if dist.get_rank() != 1: dist.all_reduce(torch.ones(4))
    time.sleep(600)
with Ranks(4, backend='gloo') as q:
    q.run(healthy); start = time.monotonic()
    try: q.run(f)
    except RankError as error: print(time.monotonic() - start, len(error.states))
"""


class Row(NamedTuple):
    """A promise, what was found, whether the outcome is as promised, and the longest time beside its limit, in seconds."""

    what: str
    promised: str
    found: str
    right: bool
    took: float = 0.0
    limit: float = 0.0

    @property
    def kept(self) -> bool:
        return self.right and self.took <= self.limit

    def __str__(self) -> str:
        return f"{self.what:<50}{self.promised:<24}{self.found}{'' if self.kept else '   MISSED'}"


def spread(times: list[float]) -> str:
    """ "12 ms (10 to 15 ms)": the median, the least and the most."""
    least, middle, most = map(seconds_text, (min(times), median(times), max(times)))
    return f"{middle} ({least} to {most})"


def seconds(fn: Callable[[], object]) -> tuple[float, object]:
    """Wall time of a call, and its result."""
    start = time.monotonic()
    result = fn()
    return time.monotonic() - start, result


def told(cell: Cell, scenario: Scenario) -> bool:
    """Does the error say word for word what it should, and the cell print what it should?"""
    try:
        same(cell.error, scenario.says)
    except AssertionError:
        return False
    return cell.text.endswith(scenario.prints)


def until_gone(pids: list[int], since: float) -> tuple[float, int]:
    """Seconds since then until none of the processes was alive, or GIVE_UP; and how many still were."""
    while (left := sum(map(alive, pids))) and time.monotonic() - since < GIVE_UP:
        time.sleep(0.001)
    return time.monotonic() - since, left


def deaths(kernel: Kernel, rounds: int) -> Iterator[Row]:
    """Fifty ranks die in five ways."""
    lines = (line.split() for line in kernel.run(FIFTY).text.splitlines())
    rows = [(words[0] == "True", float(words[1])) for words in lines if words and words[0] in ("True", "False")]
    for what, promised, some in (
        ("death of a rank to the cell's error", "<= 1 s, 50 of 50 named", rows),
        ("of these, exit code 0 before the work is done", "a failure, named", rows[4::5]),
    ):
        right, times = sum(right for right, _ in some), [took for _, took in some]
        wanted = 50 if some is rows else 10
        yield Row(what, promised, f"{right} of {wanted} named; {spread(times)}", right == wanted, max(times), 1)


def deadlines(kernel: Kernel, rounds: int) -> Iterator[Row]:
    """What nobody would ever notice without a deadline: from the cell's start to its error; the deadline is 2 s unless it says 10."""
    for scenario in (s for s in STUCK_OR_DIFFERENT if s.name in LATE):
        cells = [seconds(lambda code=scenario.cell: kernel.run(code)) for _ in range(rounds)]
        times, right = [took for took, _ in cells], sum(told(cell, scenario) for _, cell in cells)
        found = f"{right} of {rounds} word for word; {spread(times)}"
        limit = DEADLINE + 1
        yield Row(scenario.name, f"<= {limit:.0f} s, all named", found, right == rounds, max(times), limit)
    took, states = map(float, kernel.run(BY_DEFAULT).text.split())
    found = f"{states:.0f} ranks named; {took:.2f} s"
    yield Row("a skipped collective, the default of 10 s", "<= 11 s, all named", found, states == 4, took, 11)


def interrupts(kernel: Kernel, rounds: int) -> Iterator[Row]:
    """The stop button."""
    for state in STOPPED:
        cells = [_interrupted(kernel, state) for _ in range(rounds)]
        times, left = [took for took, _ in cells], sum(left for _, left in cells)
        what, found = f"interrupt to idle cell, ranks {state}", f"{left} alive then; {spread(times)}"
        yield Row(what, "<= 2 s, 0 workers", found, not left, max(times), 2)


def _interrupted(kernel: Kernel, state: str) -> tuple[float, int]:
    pids = kernel.pids()
    cell = kernel.start(BUSY[state], ready)
    start = kernel.interrupt()
    cell.end()
    return time.monotonic() - start, sum(map(alive, pids))


def kills(kernel: Kernel, rounds: int) -> Iterator[Row]:
    """The notebook's own process is shot."""
    for state in SHOT:
        shots = [_shot(kernel, state) for _ in range(rounds)]
        times, left = [took for took, _ in shots], sum(left for _, left in shots)
        what, found = f"kernel kill -9, ranks {state}", f"{left} left; {spread(times)}"
        yield Row(what, "0 workers after 1 s", found, not left, max(times), 1)


def _shot(kernel: Kernel, state: str) -> tuple[float, int]:
    if state != "idle":
        kernel.start(BUSY[state], ready)
    below = [process.pid for process in kernel.below()]
    found = until_gone(below, kernel.shoot())
    kernel.restart()
    kernel.set_up()
    return found


def relaunches(kernel: Kernel, rounds: int) -> Iterator[Row]:
    """Every scenario of the matrix, then the same sums again, against launches after nothing has happened."""
    fresh = f"r.close(); {FOUR.format(timeout=DEADLINE)}; {HEALTHY}"
    normal = [seconds(lambda: kernel.run(fresh))[0] for _ in range(3 * rounds)]
    yield Row("a normal launch to its first sums", "", spread(normal), True)
    wrong, healthy, extra = [], 0, []
    for scenario in MATRIX:
        if not told(kernel.run(scenario.cell), scenario):
            wrong.append(scenario.name)
        took, cell = seconds(lambda: kernel.run(HEALTHY))
        healthy += cell.text == SUMS
        if not scenario.warm:
            extra.append((took - median(normal), scenario.name))
    n, names = len(MATRIX), "".join(f"; not: {name}" for name in wrong)
    yield Row("the error of a scenario, word for word", "all", f"{n - len(wrong)} of {n}{names}", not wrong)
    yield Row("the sums after it, in the same kernel", "100 %", f"{healthy} of {n}", healthy == n)
    most, worst = max(extra)
    found = f"median {median(more for more, _ in extra):+.3f} s, most {most:+.3f} s of {len(extra)} ({worst})"
    yield Row("  where the ranks are new, on top of a launch", "<= 0.5 s", found, True, most, 0.5)


def leaks(kernel: Kernel, rounds: int) -> Iterator[Row]:
    """A hundred launches, half of them failing: what the kernel holds afterwards and did not hold before."""
    kernel.settle()
    kernel.run(LAUNCHES)
    kernel.run("[launch(number) for number in range(12)]")
    before, rss = kernel.holds(), kernel.rss()
    n = LAUNCHES_IN_ALL
    ended = kernel.run(f"print(sum([launch(number) for number in range({n})]))").text.split()[-1]
    yield Row(f"{n} launches, every other one failing: as wanted", str(n), ended, ended == str(n))
    after = kernel.holds()
    for kind in before:
        yield Row(f"  more {kind}", "0", str(after[kind] - before[kind]), after[kind] <= before[kind])
    grown = kernel.rss() - rss
    yield Row("  more memory resident", "< 20 MB", f"{grown / 1e6:.1f} MB", grown < 20e6)


PARTS = {part.__name__: part for part in (deaths, deadlines, interrupts, kills, relaunches, leaks)}


@contextmanager
def notebook() -> Iterator[Kernel]:
    """A kernel with four ranks, and a folder of its own for what they leave behind."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder, "scratch")
        scratch.mkdir()
        kernel = Kernel(scratch, timeout=DEADLINE)
        try:
            yield kernel
        finally:
            kernel.close()


def chosen(only: str) -> list[str]:
    """The parts that were asked for; ValueError names one that does not exist."""
    names = only.split(",") if only else list(PARTS)
    for name in names:
        if name not in PARTS:
            raise ValueError(f"--only takes {', '.join(PARTS)}, got {name!r}")
    return names


def measured(names: list[str], rounds: int) -> Iterator[Row]:
    """The rows of these parts, each part in a kernel of its own."""
    for name in names:
        with notebook() as kernel:
            yield from PARTS[name](kernel, rounds)


def main(rounds: int = 3, only: str = "") -> None:
    """Measure and print, row by row. Raises ValueError on bad input, before anything starts."""
    at_least("rounds", rounds, 1)
    names = chosen(only)
    print(
        f"4 ranks, gloo, CPU, in a Jupyter kernel; {os.cpu_count()} cores; torch {torch.__version__}; median (least to most)"
    )
    for row in measured(names, rounds):
        print(row, flush=True)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="repetitions where one is cheap")
    parser.add_argument("--only", default="", help=f"of {', '.join(PARTS)}")
    return parser.parse_args(given)


if __name__ == "__main__":
    main(**vars(arguments()))
