"""The idle share of pipeline schedules, measured with stages that sleep, beside the closed form. Chapter: pipeline.

    python -m benchmarks.pipelines [milliseconds of a forward] [microbatches]

4 ranks, by default 40 ms and 4 microbatches; a backward takes two forwards, its two parts one each. The least of 3 steps and, in
brackets, the median. Messages between ranks are real and take time that the closed form does not have.
"""

from __future__ import annotations

import argparse
import os
import statistics

import torch

from helpers.parallel.pipeline.emulated import idle_share, slept
from helpers.pipeline import SCHEDULES, Times, bubble_overhead, bubble_share
from helpers.ranks import Ranks

NRANKS, REPS = 4, 3


def main(milliseconds: float = 40.0, nmicrobatches: int = 4) -> None:
    """Measure and print."""
    times = Times(*[milliseconds / 1e3] * 3)
    with Ranks(NRANKS, backend="gloo") as ranks:
        print(f"{ranks.label}; {os.cpu_count()} cores; torch {torch.__version__}; forward {milliseconds:g} ms")
        print(f"{'':<14}{'closed form':>12}{'measured':>22}{'of computing':>14}")
        for name, build in SCHEDULES.items():
            s = build(NRANKS, nmicrobatches)
            shares = [idle_share(step) for step in ranks.run(slept, s, times, REPS)[0]]
            measured = f"{min(shares):.3f} ({statistics.median(shares):.3f})"
            print(f"{name:<14}{float(bubble_share(s)):>12.3f}{measured:>22}{float(bubble_overhead(s)):>14.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipelines", description=__doc__.partition("\n")[0])
    parser.add_argument("milliseconds", nargs="?", type=float, default=40.0, help="of a forward (40)")
    parser.add_argument("nmicrobatches", nargs="?", type=int, default=4, help="(4)")
    main(**vars(parser.parse_args()))
