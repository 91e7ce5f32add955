"""Bandwidth against working set: which rung of the memory a loop stands on. Chapters: memory-hierarchy, roofline.

One loop on both kinds of device, c += a: it reads a, reads c and writes c, so 12 bytes cross per float, and no cache line is fetched
only to be overwritten. The working set is a and c together.

On the CPU numpy adds R stride-0 rows, all of them the same a, onto c: R passes over one working set inside one call of C. A call per
pass would measure Python below 64 KiB. One thread, on one CPU of those it may use; the least time of several rounds over all sizes.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import psutil
import torch
from numpy.lib.stride_tricks import as_strided

from helpers.meanwhile import aloud
from helpers.tracker.device import at
from helpers.units import KIB, MIB, nbytes_text

from .caches import Cache, caches, cpus
from .ladder_gpu import climb_gpu, gpu_levels, gpu_sizes
from .steps import Plateau, find_steps, named

ITEM = 4  # float32
PER_ITEM = 3 * ITEM  # read a, read c, write c
SMALLEST = 4 * KIB
LARGEST = 256 * MIB
ROUNDS = 3
# Bytes moved in one call of a small working set: long against the call, short against an interruption
PER_CALL = 24 * MIB


class Rung(NamedTuple):
    """One working set. nbytes: of both buffers; seconds: of one pass; bandwidth: bytes per second, reads and writes together."""

    nbytes: int
    seconds: float
    bandwidth: float


class Ladder(NamedTuple):
    """What was measured. rungs: by working set; steps: where the curve is flat; levels: (name, bytes) as the machine says, or ()."""

    device: str
    rungs: tuple[Rung, ...]
    steps: tuple[Plateau, ...]
    levels: tuple[tuple[str, int], ...]
    note: str = ""

    def data(self) -> dict:
        """Plain data for JSON."""
        told = {"device": self.device, "note": self.note, "levels": [list(level) for level in self.levels]}
        lists = {"rungs": self.rungs, "steps": self.steps}
        return told | {name: [row._asdict() for row in rows] for name, rows in lists.items()}

    @classmethod
    def of(cls, data: dict) -> Ladder:
        """A ladder from its data, e.g. of a recorded run."""
        rungs, steps = (
            tuple(kind(**row) for row in data[name]) for name, kind in (("rungs", Rung), ("steps", Plateau))
        )
        levels = tuple((name, size) for name, size in data["levels"])
        return cls(data["device"], rungs, steps, levels, data["note"])

    @property
    def fastest(self) -> Rung:
        return max(self.rungs, key=lambda rung: rung.bandwidth)

    @property
    def memory(self) -> float:
        """Bytes per second beyond all caches, both ways together: the median of the largest working sets, at most three."""
        beyond = 4 * max((size for _, size in self.levels), default=0)
        far = [rung.bandwidth for rung in self.rungs if rung.nbytes >= beyond] or [self.rungs[-1].bandwidth]
        return float(np.median(far[-3:]))

    def __str__(self) -> str:
        lines = [f"{self.device}; c += a, reads and writes together. {self.note}".strip()]
        lines += [f"{'working set':>24}  {'GB/s':>6}  {'announced':>10}"]
        for step in self.steps:
            span = f"{nbytes_text(step.first)} to {nbytes_text(step.last)}"
            size = nbytes_text(step.capacity) if step.capacity else ""
            lines.append(f"{span:>24}  {step.bandwidth / 1e9:6.0f}  {size:>10}  {step.level}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__


@aloud("measuring this machine's ladder")
def ladder(device: str | torch.device = "cpu", sizes: Sequence[int] | None = None, seconds: float = 3.0) -> Ladder:
    """Bandwidth at each working set, and the steps among them.

    sizes: working sets in bytes, rising (unless told: half octaves from 4 KiB past the last cache on the CPU, from 1 MiB on a GPU);
    seconds: to spend in all. ValueError for sizes that do not rise or are below 1 KiB, RuntimeError where there is no such GPU.
    """
    device = at(device)
    levels = gpu_levels(device) if device.type == "cuda" else _levels(caches())
    sizes = _checked(sizes, device, levels)
    if not seconds > 0:
        raise ValueError(f"seconds is the time to spend and positive, got {seconds!r}")
    if device.type == "cuda":
        found, note = climb_gpu(sizes, device, seconds)
    else:
        found, note = _climb(sizes, seconds), _note(levels)
    rungs = tuple(Rung(n, least, moved(n) / least) for n, least in zip(sizes, found, strict=True) if least < math.inf)
    if not rungs:
        raise ValueError(
            f"a pass over {nbytes_text(sizes[-1])} is over before a launch is: ask for larger working sets"
        )
    flat = find_steps([r.nbytes for r in rungs], [r.bandwidth for r in rungs]) if len(rungs) >= 3 else ()
    return Ladder(str(device), rungs, named(flat, levels), levels, note)


def moved(nbytes: int) -> int:
    """Bytes that one pass over a working set of `nbytes` moves: half of it is read, the other half read and written."""
    return nbytes // (2 * ITEM) * PER_ITEM


def _levels(found: Sequence[Cache]) -> tuple[tuple[str, int], ...]:
    return tuple((cache.name, cache.nbytes) for cache in found)


def _note(levels: Sequence[tuple[str, int]]) -> str:
    told = ", ".join(f"{name} {nbytes_text(size)}" for name, size in levels)
    return (
        f"one thread; caches as announced: {told}" if told else "one thread; this machine does not announce its caches"
    )


def _checked(sizes: Sequence[int] | None, device: torch.device, levels: Sequence[tuple[str, int]]) -> list[int]:
    if sizes is None:
        return (
            gpu_sizes(levels, torch.cuda.get_device_properties(device).total_memory)
            if device.type == "cuda"
            else default_sizes(levels)
        )
    sizes = list(sizes)
    wrong = [n for n in sizes if isinstance(n, bool) or not isinstance(n, int) or n < KIB]
    if wrong or not sizes or sizes != sorted(set(sizes)):
        raise ValueError(
            f"sizes are working sets in bytes, whole numbers of at least 1024, rising, got {wrong or sizes}"
        )
    free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else psutil.virtual_memory().available
    if sizes[-1] > free // 2:
        raise ValueError(
            f"a working set of {nbytes_text(sizes[-1])} wants twice that free, and there are {nbytes_text(free)}"
        )
    return [n // (2 * ITEM) * 2 * ITEM for n in sizes]


def default_sizes(levels: Sequence[tuple[str, int]]) -> list[int]:
    """Half octaves from 4 KiB to 256 MiB, or to eight times the last cache if that is more; never above a quarter of free memory."""
    largest = max([LARGEST, *(8 * size for _, size in levels)])
    largest = min(largest, psutil.virtual_memory().available // 4)
    octaves = range(SMALLEST.bit_length() - 1, largest.bit_length())
    return [n for k in octaves for n in (2**k, 3 * 2 ** (k - 1)) if n <= largest]


# the CPU -----------------------------------------------------------------------------------------------------------------
def _climb(sizes: Sequence[int], seconds: float) -> list[float]:
    """Seconds of one pass at each working set: the least over rounds, each of which visits all sizes that have time left.

    Behind a cache of hundreds of MiB one visit takes longer than a size may: there is one round of these, not three.
    """
    buffer = np.ones(sizes[-1] // ITEM + 4 * KIB, np.float32)
    least, spent, share = [float("inf")] * len(sizes), [0.0] * len(sizes), seconds / len(sizes)
    with _on_one_cpu():
        for _ in range(ROUNDS):
            for i, nbytes in enumerate(sizes):
                if spent[i] < share:
                    start = time.perf_counter()
                    least[i] = min(least[i], _visit(*_pair(buffer, nbytes), share / ROUNDS))
                    spent[i] += time.perf_counter() - start
    return least


def _pair(buffer: np.ndarray, nbytes: int) -> tuple[np.ndarray, np.ndarray]:
    """a and c inside the buffer: a on a page, c half a page off, since a load that looks like a recent store by its last 12 bits waits."""
    count, page, half = nbytes // (2 * ITEM), 4096 // ITEM, 2048 // ITEM
    first = -(buffer.ctypes.data // ITEM) % page
    second = first + -(-count // page) * page + half
    return buffer[first : first + count], buffer[second : second + count]


def _visit(a: np.ndarray, c: np.ndarray, seconds: float) -> float:
    passes = max(2, PER_CALL // (a.nbytes * 3))
    rows = as_strided(a, (passes, a.size), (0, ITEM), writeable=False)
    np.add(a, c, out=c)  # warm: from here on the working set lies where it fits
    least, end, repeats = float("inf"), time.perf_counter() + seconds, 0
    while repeats < 2 or time.perf_counter() < end:
        start = time.perf_counter()
        np.add.reduce(rows, axis=0, out=c, initial=0.0)
        least, repeats = min(least, time.perf_counter() - start), repeats + 1
    return least / (passes + 1 / 3)  # before the passes c is filled once, a third of a pass


@contextmanager
def _on_one_cpu() -> Iterator[None]:
    """This thread on the last CPU that it may use, where the system lets it; where it was before, afterwards."""
    before = set(cpus())
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
