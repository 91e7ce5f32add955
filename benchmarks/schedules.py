"""How long it takes to build, prove and price every entry of the catalogue at a large number of ranks. Chapter: latency-bandwidth.

    python -m benchmarks.schedules [ranks]

One process, no ranks: paper only. By default 512 ranks; each entry with its usual number of chunks. The goal is 5 s an entry.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from helpers.collectives import CATALOGUE, check, price
from helpers.facts import LINKS
from helpers.units import MIB

COLUMNS = ("build", "check", "price", "all")


def timed(call: Callable, *args: object) -> tuple[float, object]:
    """(seconds, what it returned)."""
    start = time.perf_counter()
    value = call(*args)
    return time.perf_counter() - start, value


def measure(key: tuple[str, str], nranks: int) -> tuple[list[float], int]:
    """Seconds of each column, and how many transfers the schedule has."""
    built, s = timed(CATALOGUE[key], nranks)
    checked, _ = timed(check, s)
    priced, _ = timed(price, s, 64 * MIB, LINKS["nvlink-4"])
    return [built, checked, priced, built + checked + priced], sum(map(len, s.steps))


def main(nranks: int = 512) -> None:
    """Measure and print."""
    print(f"{nranks} ranks; seconds".ljust(34), *(name.rjust(7) for name in COLUMNS), "transfers".rjust(11))
    slowest = 0.0
    for key in CATALOGUE:
        seconds, transfers = measure(key, nranks)
        slowest = max(slowest, seconds[-1])
        print(" ".join(key).ljust(34), *(f"{t:7.2f}" for t in seconds), f"{transfers:11,}")
    print(f"slowest: {slowest:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedules", description=__doc__.partition("\n")[0])
    parser.add_argument("nranks", nargs="?", type=int, default=512, help="(512)")
    main(**vars(parser.parse_args()))
