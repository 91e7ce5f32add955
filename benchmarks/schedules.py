"""How long it takes to build, prove and price every entry of the catalogue at a large number of ranks. Chapter: latency-bandwidth.

    python -m benchmarks.schedules [ranks] [--against COMMIT] [--rounds 1]

Paper only, by default 512 ranks; seconds of CPU, the least of the rounds. With a commit every entry also runs as it was there, each side in
a process of its own, the two in turns; the ratio is the time of this tree over that of the commit.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from helpers.collectives import CATALOGUE

from .samples import at_least

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("build", "check", "price", "all")
SIDE = """
import gc, json, sys, time
sys.path.insert(0, sys.argv[1])
from helpers.collectives import CATALOGUE, check, price
from helpers.facts import LINKS

def timed(call, *args):
    start = time.process_time()
    value = call(*args)
    return time.process_time() - start, value

for line in sys.stdin:
    kind, name, nranks = json.loads(line)
    built, s = timed(CATALOGUE[kind, name], nranks)
    seconds = [built, timed(check, s)[0], timed(price, s, 64 * 2**20, LINKS["nvlink-4"])[0]]
    print(json.dumps([[*seconds, sum(seconds)], sum(map(len, s.steps))]), flush=True)
    del s
    gc.collect()
"""


class Side:
    """The library in `root`, in a process of its own."""

    def __init__(self, root: Path) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, "-c", SIDE, str(root)], cwd=root, **pipes)

    def measure(self, key: tuple[str, str], nranks: int) -> tuple[list[float], int]:
        """Seconds of each column, and how many transfers the schedule has."""
        self.process.stdin.write(json.dumps([*key, nranks]) + "\n")
        self.process.stdin.flush()
        seconds, transfers = json.loads(self.process.stdout.readline())
        return seconds, transfers

    def close(self) -> None:
        self.process.communicate()


def export(commit: str, folder: Path) -> Path:
    """The library as it was at a commit. CalledProcessError for one that git does not know."""
    command = ["git", "archive", commit, "helpers", "recorded/public"]
    packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(folder, filter="data")
    return folder


def best(sides: Sequence[Side], key: tuple[str, str], nranks: int, rounds: int) -> list[tuple[list[float], int]]:
    """Of each side the least seconds of each column; the sides take turns, round by round the other first."""
    found: list[list[tuple[list[float], int]]] = [[] for _ in sides]
    for number in range(rounds):
        order = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        for side in order:
            found[side].append(sides[side].measure(key, nranks))
    return [([min(column) for column in zip(*(t for t, _ in one), strict=True)], one[0][1]) for one in found]


def main(nranks: int = 512, against: str | None = None, rounds: int = 1) -> None:
    """Measure and print. ValueError for no rounds."""
    at_least("rounds", rounds, 1)
    with tempfile.TemporaryDirectory() as folder:
        roots = [ROOT, *([export(against, Path(folder))] if against else [])]
        sides = [Side(root) for root in roots]
        try:
            report(sides, nranks, rounds, against)
        finally:
            for side in sides:
                side.close()


def report(sides: Sequence[Side], nranks: int, rounds: int, against: str | None) -> None:
    """A row an entry, as it is measured, and at the end the slowest, the sums and how many entries were slower."""
    more = ("there", "ratio") if against else ()
    print(f"{nranks} ranks; seconds".ljust(34), *(name.rjust(7) for name in (*COLUMNS, *more)), "transfers".rjust(11))
    sums, ratios, slowest = [0.0] * len(sides), {}, 0.0
    for key in CATALOGUE:
        (here, transfers), *there = best(sides, key, nranks, rounds)
        whole = [here[-1], *(seconds[-1] for seconds, _ in there)]
        sums, slowest = [a + b for a, b in zip(sums, whole, strict=True)], max(slowest, whole[0])
        ratios[" ".join(key)] = whole[0] / whole[-1]
        shown = [*here, *([whole[1], whole[0] / whole[1]] if against else [])]
        print(" ".join(key).ljust(34), *(f"{t:7.2f}" for t in shown), f"{transfers:11,}")
    print(f"slowest: {slowest:.2f} s")
    if against:
        slower = [f"{name} ({ratio:.2f})" for name, ratio in ratios.items() if ratio > 1]
        print(
            f"all: {sums[0]:.1f} s, at {against} {sums[1]:.1f} s: {sums[0] / sums[1]:.2f} of it; slower: {slower or 'none'}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedules", description=__doc__.partition("\n")[0])
    parser.add_argument("nranks", nargs="?", type=int, default=512, help="(512)")
    parser.add_argument("--against", metavar="COMMIT", help="a commit to be compared with")
    parser.add_argument("--rounds", type=int, default=1, help="(1)")
    main(**vars(parser.parse_args()))
