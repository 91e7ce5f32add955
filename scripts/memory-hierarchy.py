"""The rungs of this machine's memory, seen in bandwidth: python scripts/memory-hierarchy.py [--largest 256] [--seconds 3]

On a GPU if there is one, else on one CPU core. c += a, again and again over one working set: it reads a, reads c and writes c, so 12 bytes
cross for every float. While a and c fit into a cache, that cache delivers them; the bandwidth steps down where they no longer do.
"""

import argparse
import time

import numpy as np
import torch


def on_cpu(nbytes, seconds):
    """Bytes per second, reads and writes together; many passes inside one call, since a call costs more than a pass over 8 KiB."""
    a, c = (np.ones(nbytes // 8, np.float32) for _ in range(2))
    passes = max(2, (24 << 20) // (3 * a.nbytes))
    rows = np.lib.stride_tricks.as_strided(a, (passes, a.size), (0, 4), writeable=False)  # the same a, `passes` times
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or least == float("inf"):
        start = time.perf_counter()
        np.add.reduce(rows, axis=0, out=c, initial=0.0)  # fills c, then adds row after row onto it
        least = min(least, time.perf_counter() - start)
    return a.nbytes * (3 * passes + 1) / least


def on_gpu(nbytes, seconds):
    """The same with kernels captured in a CUDA graph; below a few MiB they show what a launch takes, not the L2 cache."""
    a, c = (torch.ones(nbytes // 8, device="cuda") for _ in range(2))
    c.add_(a)
    torch.cuda.synchronize()
    graph, passes = torch.cuda.CUDAGraph(), 20
    with torch.cuda.graph(graph):
        for _ in range(passes):
            c.add_(a)
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or least == float("inf"):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        least = min(least, start.elapsed_time(stop) / 1e3)
    return 3 * a.nbytes * passes / least


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--largest", type=int, default=256, help="the largest working set, in MiB")
    parser.add_argument("--seconds", type=float, default=3.0, help="to spend in all")
    args = parser.parse_args()
    measure, smallest = (on_gpu, 1 << 20) if torch.cuda.is_available() else (on_cpu, 4096)
    sizes = [n for n in (smallest << k for k in range(40)) if n <= args.largest << 20]
    if not sizes or args.seconds <= 0:
        parser.error(
            f"needs a working set of {smallest >> 20} MiB or more and some time, got {args.largest} and {args.seconds}"
        )
    for n in sizes:
        print(f"{n >> 10:>8} KiB {measure(n, args.seconds / len(sizes)) / 1e9:9.1f} GB/s, reads and writes together")


if __name__ == "__main__":
    main()
