"""Exposed time of overlapped data parallel over emulated links, measured over the model's. Chapter: overlap.

    python -m benchmarks.overlap [milliseconds of a layer's backward] [alpha in ms] [bandwidth in MB/s]

4 ranks, 8 layers of 96 KiB that sleep; by default 40 ms, 10 ms and 10 MB/s. The median over ranks of 5 steps, and the least and most.
"""

from __future__ import annotations

import argparse
import os
import statistics

import torch

from helpers.facts import Link
from helpers.parallel.overlapping import Layer, measured, predicted
from helpers.ranks import Ranks
from helpers.units import KIB, Bandwidth, nbytes_text

NRANKS, REPS, LIMIT = 4, 5, 300.0
LAYER = 96 * KIB
SIZES = tuple(n * LAYER for n in (1, 2, 3, 4, 8))


def linked(alpha: float, bandwidth: float) -> Link:
    """alpha in ms, bandwidth in MB/s, one way."""
    return Link(alpha / 1e3, Bandwidth(bandwidth * 1e6, "one way", "GPU", "fitted"))


def main(backward: float = 40.0, alpha: float = 10.0, bandwidth: float = 10.0, reps: int = REPS) -> None:
    """Measure and print. ValueError for a number that is not positive."""
    for name, value in (("backward", backward), ("alpha", alpha), ("bandwidth", bandwidth), ("reps", reps)):
        if value <= 0:
            raise ValueError(f"{name} must be more than 0, got {value!r}")
    layers = [Layer(backward / 5e3, backward / 1e3, LAYER)] * 8
    link = linked(alpha, bandwidth)
    with Ranks(NRANKS, backend="gloo", link=link, timeout=60) as ranks:
        print(f"{ranks.label}; {os.cpu_count()} cores; torch {torch.__version__}; backward of a layer {backward:g} ms")
        print(f"{'bucket':<10}{'model':>10}{'measured':>12}{'off':>9}   exposed, ms")
        for nbytes in SIZES:
            steps = ranks.run(measured, "overlapped", layers, nbytes, reps, limit=LIMIT)[0]
            found = [1e3 * one.exposed for step in steps for one in step]
            want, median = 1e3 * predicted("overlapped", layers, link, NRANKS, nbytes).exposed, statistics.median(found)
            spread = f"({min(found):.0f} to {max(found):.0f})"
            print(f"{nbytes_text(nbytes):<10}{want:>10.1f}{median:>12.1f}{median / want - 1:>9.1%}   {spread}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overlap", description=__doc__.partition("\n")[0])
    parser.add_argument("backward", nargs="?", type=float, default=40.0, help="of a layer, in ms (40)")
    parser.add_argument("alpha", nargs="?", type=float, default=10.0, help="in ms (10)")
    parser.add_argument("bandwidth", nargs="?", type=float, default=10.0, help="in MB a second (10)")
    main(**vars(parser.parse_args()))
