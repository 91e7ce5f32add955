"""The rungs below a GPU's own memory: to the host and back, and to another GPU. Chapters: memory-hierarchy, too-big.

Pinned host memory is what the GPU's copy engine reads by itself. From pageable memory the driver first copies into a pinned buffer of
its own, so that the CPU takes part in every byte. All bandwidths here count one way, except where both directions run at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from helpers.ranks.timing.timing import AHEAD
from helpers.tracker.device import at, needs_gpus
from helpers.units import KIB, MIB, nbytes_text

from .stopwatch import REPEATS

SIZES = (64 * KIB, MIB, 16 * MIB, 256 * MIB)
WAYS = ("to the GPU", "to the host", "both at once")


def counted(way: str) -> str:
    """Which bytes its bandwidth counts."""
    return "both ways" if way == WAYS[2] else "one way"


class HostCopy(NamedTuple):
    """Copies of one size. way: of WAYS; host: "pinned" or "pageable"; bandwidth: bytes per second, one way, or of both summed."""

    way: str
    host: str
    nbytes: int
    seconds: float
    bandwidth: float

    def __str__(self) -> str:
        where = f"{self.way:>12}  {self.host:>8}  {nbytes_text(self.nbytes):>8}"
        return f"{where}  {self.bandwidth / 1e9:7.3g} GB/s {counted(self.way)}"

    __repr__ = __str__


class Pairs(NamedTuple):
    """GPU to GPU. bandwidth[src][dst]: bytes per second, one way, None from a GPU to itself; peer[src][dst]: past the host or not."""

    names: tuple[str, ...]
    nbytes: int
    bandwidth: tuple[tuple[float | None, ...], ...]
    peer: tuple[tuple[bool, ...], ...]

    def __str__(self) -> str:
        lines = [f"GB/s one way, {nbytes_text(self.nbytes)}; * through the host"]
        lines += [" " * 7 + "".join(f"{f'to {dst}':>8}" for dst in range(len(self.names)))]
        for src, (rates, direct) in enumerate(zip(self.bandwidth, self.peer, strict=True)):
            cells = ("-" if r is None else f"{r / 1e9:.3g}" + "*" * (not d) for r, d in zip(rates, direct, strict=True))
            lines.append(f"from {src:<2}" + "".join(f"{cell:>8}" for cell in cells))
        return "\n".join(lines)

    __repr__ = __str__


def transfers(
    device: str | torch.device = "cuda", sizes: Sequence[int] = SIZES, repeats: int = 10
) -> tuple[HostCopy, ...]:
    """Copies between host and GPU: each way from pinned and from pageable memory, and both ways at once from pinned memory.

    ValueError for a CPU (a copy in memory is the ladder's), for sizes below 1 or repeats below 3; RuntimeError where there is no GPU.
    """
    if str(device).partition(":")[0] == "cpu":
        raise ValueError('transfers go between host and GPU, so device is "cuda" or "cuda:1" and the like, got cpu')
    if not sizes or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in sizes):
        raise ValueError(f"sizes are whole numbers of bytes, 1 or more, got {sizes!r}")
    _repeats(repeats)
    device = at(device)
    return tuple(row for nbytes in sizes for row in _both(device, nbytes, repeats))


def _both(device: torch.device, nbytes: int, repeats: int) -> list[HostCopy]:
    there, back = (torch.zeros(nbytes, dtype=torch.uint8, device=device) for _ in range(2))
    rows = []
    for host in ("pinned", "pageable"):
        a, b = (torch.zeros(nbytes, dtype=torch.uint8, pin_memory=host == "pinned") for _ in range(2))
        calls = {WAYS[0]: [lambda a=a: there.copy_(a, non_blocking=True)]}
        calls[WAYS[1]] = [lambda b=b: b.copy_(back, non_blocking=True)]
        if host == "pinned":  # from pageable memory a copy keeps the CPU, and the other way would have to wait
            calls[WAYS[2]] = calls[WAYS[0]] + calls[WAYS[1]]
        for way, copies in calls.items():
            seconds = _timed(copies, device, repeats, AHEAD if host == "pinned" else 0)
            rows.append(HostCopy(way, host, nbytes, seconds, len(copies) * nbytes / seconds))
    return rows


def _timed(copies: Sequence[Callable[[], object]], device: torch.device, repeats: int, ahead: int = AHEAD) -> float:
    """Seconds of the copies, each on a stream of its own, started together: the least of `repeats`, after one that warms up.

    ahead: cycles that the GPU sleeps first, so that Python's microseconds do not count: with them a copy of 64 KiB took 37 us on an
    H200. None from pageable memory, where the CPU's part would be done meanwhile.
    """
    with torch.cuda.device(device):
        main, streams = torch.cuda.current_stream(), [torch.cuda.Stream() for _ in copies]
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        found = []
        for _ in range(repeats + 1):
            torch.cuda.synchronize()
            if ahead:
                torch.cuda._sleep(ahead)
            start.record()
            for stream, copy in zip(streams, copies, strict=True):
                stream.wait_stream(main)
                with torch.cuda.stream(stream):
                    copy()
            for stream in streams:
                main.wait_stream(stream)
            stop.record()
            stop.synchronize()
            found.append(start.elapsed_time(stop) / 1e3)
    return min(found[1:])


def pairs(nbytes: int = 256 * MIB, repeats: int = 10) -> Pairs:
    """Copies from every GPU to every other, alone and one after the other, and whether the two reach each other past the host.

    ValueError for nbytes below 1 or repeats below 3, RuntimeError unless there are two GPUs.
    """
    if isinstance(nbytes, bool) or not isinstance(nbytes, int) or nbytes < 1:
        raise ValueError(f"nbytes is a whole number of bytes, 1 or more, got {nbytes!r}")
    _repeats(repeats)
    needs_gpus(2, "a pair")
    gpus = range(torch.cuda.device_count())
    bandwidth = tuple(tuple(_rate(src, dst, nbytes, repeats) for dst in gpus) for src in gpus)
    peer = tuple(tuple(src == dst or torch.cuda.can_device_access_peer(src, dst) for dst in gpus) for src in gpus)
    return Pairs(tuple(torch.cuda.get_device_name(gpu) for gpu in gpus), nbytes, bandwidth, peer)


def _rate(src: int, dst: int, nbytes: int, repeats: int) -> float | None:
    if src == dst:
        return None
    a, b = (torch.zeros(nbytes, dtype=torch.uint8, device=f"cuda:{gpu}") for gpu in (src, dst))
    return nbytes / _timed([lambda: b.copy_(a, non_blocking=True)], torch.device("cuda", src), repeats)


def _repeats(repeats: int) -> None:
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < REPEATS:
        raise ValueError(f"repeats is a whole number, {REPEATS} or more, got {repeats!r}")
