"""How fast this machine multiplies and how fast it streams: its own roof. Chapters: roofline, memory-hierarchy."""

from __future__ import annotations

from typing import NamedTuple

import torch

from helpers.meanwhile import aloud
from helpers.memory.roofline import Roof
from helpers.tracker.device import at
from helpers.units import Bandwidth, seconds_text

from .ladder import ladder
from .stopwatch import best, threads, wake

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
SIZES = {"cpu": (128, 256, 512, 1024), "cuda": (1024, 2048, 4096, 8192)}  # sides of GEMMs
FAR = {"cpu": 192 << 20, "cuda": 1 << 30}  # bytes: a buffer that no cache holds
SHARE = 8  # what is asked of a GPU fits into this part of its memory: 8 GiB hold all of it


class Rate(NamedTuple):
    """A square matrix product. n: of n x n by n x n; seconds: the least; flops: FLOP/s, a multiply-add counted as two."""

    n: int
    dtype: str
    device: str
    seconds: float
    flops: float

    def __str__(self) -> str:
        return f"{self.n} x {self.n} in {self.dtype} on {self.device}: {seconds_text(self.seconds)}, {self.flops / 1e9:.4g} GFLOP/s"

    __repr__ = __str__


def gemm_rate(
    n: int,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    seconds: float = 0.1,
    nthreads: int = 1,
) -> Rate:
    """How fast torch multiplies two n x n matrices. nthreads: of the CPU.

    ValueError for a size below 1 or a dtype that is no floating one of 16 to 64 bits, RuntimeError where there is no such GPU.
    """
    device = at(device)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n is a whole number of rows, 1 or more, got {n!r}")
    floating(dtype)
    with threads(nthreads):
        a, b = (torch.randn(n, n, device=device).to(dtype) for _ in range(2))
        out = torch.empty_like(a)
        least = best(lambda: torch.mm(a, b, out=out), device, seconds)
    return Rate(n, str(dtype).removeprefix("torch."), str(device), least, 2 * n**3 / least)


@aloud("measuring this machine's roof")
def machine_roof(
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    seconds: float = 2.0,
    nthreads: int = 1,
) -> Roof:
    """The roof of this machine as measured: the best of some GEMMs, and the best of three ways to stream from memory.

    A roof is what nothing exceeds, so the best counts: a read-only loop often moves more than one that also writes. ValueError and
    RuntimeError as gemm_rate.
    """
    device = at(device)
    floating(dtype)
    sizes, each = _sides(device), seconds / 2
    if device.type == "cuda":
        wake(device, min(0.5, seconds / 4))
    rates = [gemm_rate(n, dtype, device, each / len(sizes), nthreads) for n in sizes]
    fastest = max(rates, key=lambda rate: rate.flops)
    bandwidth = Bandwidth(
        stream(device, each, nthreads), "both ways", "node" if device.type == "cpu" else "GPU", "measured"
    )
    cores = (
        f"{nthreads} thread{'s' if nthreads > 1 else ''}"
        if device.type == "cpu"
        else torch.cuda.get_device_name(device)
    )
    return Roof(f"this {'CPU' if device.type == 'cpu' else 'GPU'}, {cores}, {fastest.dtype}", fastest.flops, bandwidth)


def room(device: torch.device) -> int:
    """Bytes that a measurement may take."""
    return 1 << 40 if device.type == "cpu" else torch.cuda.get_device_properties(device).total_memory // SHARE


def _sides(device: torch.device) -> tuple[int, ...]:
    """Those of SIZES whose three matrices of 8 bytes an element there is room for; on a GPU with none for any, a smaller one."""
    return tuple(n for n in SIZES[device.type] if 24 * n * n <= room(device)) or (256,)


def stream(device: str | torch.device = "cpu", seconds: float = 0.5, nthreads: int = 1) -> float:
    """Bytes per second to and from memory, both ways together: the best of adding in place, reading only, and scaling in place."""
    device = at(device)
    far = min(FAR[device.type], room(device))
    with threads(nthreads):
        a, c = (torch.ones(far // 8, device=device) for _ in range(2))
        total = torch.empty((), device=device)
        loops = {12: lambda: c.add_(a), 4: lambda: torch.sum(c, dim=0, out=total), 8: lambda: c.mul_(0.5)}
        rates = [nbytes * c.numel() / best(loop, device, seconds / len(loops)) for nbytes, loop in loops.items()]
    return max([*rates, ladder(device, [far], seconds / 3).rungs[0].bandwidth])


def floating(dtype: torch.dtype) -> None:
    if dtype not in DTYPES:
        raise ValueError(f"dtype is one of {', '.join(map(str, DTYPES))}, got {dtype!r}")
