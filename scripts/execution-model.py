"""Two habits of a memory: it hands over whole lines, and it likes to be asked once. python scripts/execution-model.py [--mib 128]

A copy that reads every s-th number, and a matrix product made of panels. On a GPU if there is one, else on one CPU core.
"""

import argparse

import torch
from torch.utils.benchmark import Timer

LINE = {"cpu": 64, "cuda": 32}  # bytes that come together: a cache line, a sector


def seconds(fn):
    """The best of runs for a tenth of a second, on one core; the timer waits for a GPU."""
    return min(Timer("fn()", globals={"fn": fn}, num_threads=1).blocked_autorange(min_run_time=0.1).times)


def strided(mib, device):
    """(stride, seconds for each number copied): always through the same stretch of memory."""
    x = torch.ones(mib * 2**18, device=device)
    y = torch.ones_like(x)
    for stride in (1, 2, 4, 8, 16, 32, 64):
        pair = y[: len(y) // stride], x[::stride]
        yield stride, seconds(lambda pair=pair: pair[0].copy_(pair[1])) / len(pair[1])


def panels(n, width, a, b, c):
    """c = a @ b as a sum of products of panels: n / width passes over c."""
    c.zero_()
    for k in range(0, n, width):
        torch.addmm(c, a[:, k : k + width], b[k : k + width], out=c)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mib", type=int, default=128, help="memory to walk through; more than the caches hold")
    parser.add_argument("--size", type=int, default=1024, help="side of the matrices")
    args = parser.parse_args()
    if args.mib < 1 or args.size < 1:
        parser.error(f"--mib and --size are 1 or more, got {args.mib} and {args.size}")
    device, n = ("cuda" if torch.cuda.is_available() else "cpu"), args.size
    times = dict(strided(args.mib, device))
    for stride, t in times.items():
        model = (min(4 * stride, LINE[device]) + 4) / 8  # bytes for a float: its share of the lines read, 4 written
        print(
            f"{device} stride {stride:>2}: {t * 1e9:7.3f} ns a number, x{t / times[1]:.1f}; by whole lines x{model:.1f}"
        )
    a, b, c = (torch.randn(n, n, device=device) for _ in range(3))
    for width in [width for width in (1, 4, 16, 64, 256, 1024) if width <= n]:
        t = seconds(lambda width=width: panels(n, width, a, b, c))
        print(
            f"{device} panels {width:>4} wide: {width / 4:6.2f} FLOP/B of the result, {2 * n**3 / t / 1e9:8.1f} GFLOP/s"
        )


if __name__ == "__main__":
    main()
