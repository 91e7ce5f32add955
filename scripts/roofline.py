"""This machine's roof, and what common operations reach under it: python scripts/roofline.py [--size 1024] [--bf16]

On a GPU if there is one, else on one CPU core. Bytes count reads and writes, as both share the memory's bus.
"""

import argparse

import torch
import torch.nn.functional as F
from torch.utils.benchmark import Timer


def seconds(fn):
    """The median of runs for a tenth of a second, on one core; the timer waits for a GPU."""
    return Timer("fn()", globals={"fn": fn}, num_threads=1).blocked_autorange(min_run_time=0.1).median


def operations(n, dtype, device):
    """(name, what to run, FLOPs, bytes): every tensor is read or written once."""
    a, b, x = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(3))
    wide, other, y = (torch.randn(32 * n * n, device=device, dtype=dtype) for _ in range(3))
    e, numel, heads = a.element_size(), wide.numel(), a.view(1, -1, n, 64)
    yield "copy", lambda: y.copy_(wide), 0, 2 * numel * e
    yield "matmul", lambda: torch.mm(a, b, out=x), 2 * n**3, 3 * n * n * e
    yield "matrix times vector", lambda: wide.view(-1, n) @ b[0], 2 * numel, (numel + 33 * n) * e
    yield "add", lambda: torch.add(wide, other, out=y), numel, 3 * numel * e
    yield "softmax", lambda: torch.softmax(wide.view(-1, n), -1, out=y.view(-1, n)), 5 * numel, 2 * numel * e
    flops = heads.shape[1] * n * n * (4 * 64 + 6)
    yield "attention", lambda: F.scaled_dot_product_attention(heads, heads, heads), flops, 4 * heads.numel() * e


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=1024, help="side of the matrices, a multiple of 64")
    parser.add_argument("--bf16", action="store_true", help="bf16 instead of fp32")
    args = parser.parse_args()
    if args.size < 64 or args.size % 64:
        parser.error(f"--size is a positive multiple of 64, got {args.size}")
    device, dtype = ("cuda" if torch.cuda.is_available() else "cpu"), (torch.bfloat16 if args.bf16 else torch.float32)
    rows = [(name, flops, moved, seconds(fn)) for name, fn, flops, moved in operations(args.size, dtype, device)]
    peak = max(flops / t for _, flops, _, t in rows)
    rate = max(moved / t for name, _, moved, t in rows if name in ("copy", "add"))
    print(
        f"{device} {dtype}: {peak / 1e9:.1f} GFLOP/s, {rate / 1e9:.1f} GB/s both ways, ridge {peak / rate:.2f} FLOP/B"
    )
    for name, flops, moved, t in rows[1:]:
        roof = min(peak, flops / moved * rate)
        print(
            f"{name:>20}: {flops / moved:8.3f} FLOP/B {flops / t / 1e9:10.2f} GFLOP/s, {flops / t / roof:4.0%} of its roof"
        )


if __name__ == "__main__":
    main()
