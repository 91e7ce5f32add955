"""This machine's memory, rung by rung, its roof, and what real operations make of it. Chapters: memory-hierarchy, roofline.

    python -m benchmarks.ladder [--device cpu|cuda] [--threads 1] [--each 0.15] [--n 4096]

Every working set, not only the steps; then the GEMM rate by size and type, the roof, and all operations of `place`. With a GPU also
host and GPU, and with two or more the matrix of pairs. About a quarter of a minute on a CPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch

from helpers.measure import Ladder, gemm_rate, ladder, machine_roof, pairs, place, transfers
from helpers.units import nbytes_text

BAR = 40  # characters of the fastest rung


def bars(found: Ladder) -> str:
    """One line a working set, as long as its bandwidth."""
    whole = found.fastest.bandwidth
    lines = []
    for rung in found.rungs:
        bar = "#" * round(BAR * rung.bandwidth / whole)
        lines.append(f"{nbytes_text(rung.nbytes):>9} {rung.bandwidth / 1e9:8.1f} GB/s  {bar}")
    return "\n".join(lines)


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line, or `argv`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="of the CPU, for everything but the ladder")
    parser.add_argument("--each", type=float, default=0.15, help="seconds to spend on each operation")
    parser.add_argument("--n", type=int, default=None, help="side of the large matrices")
    return parser.parse_args(argv)


def main(device: str = "cpu", threads: int = 1, each: float = 0.15, n: int | None = None) -> None:
    """Measure and print. Errors are those of ladder, machine_roof and place."""
    found, dtype = ladder(device, seconds=20 * each), torch.float32 if device == "cpu" else torch.bfloat16
    print(bars(found), found, sep="\n\n", end="\n\n")
    for of in (torch.float32, torch.bfloat16):
        for side in (256, 1024) if device == "cpu" else (1024, 4096, 8192):
            print(gemm_rate(side, of, device, each, threads))
    roof = machine_roof(device, dtype, 13 * each, threads)
    print(roof, place(device=device, roof=roof, n=n, seconds=each, nthreads=threads), sep="\n\n")
    if device != "cpu":
        print(*transfers(device), sep="\n")
        if torch.cuda.device_count() > 1:
            print(pairs())


if __name__ == "__main__":
    main(**vars(arguments()))
