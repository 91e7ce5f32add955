"""The ladder's rungs on a CUDA GPU: L2 and device memory, between which no eviction can be asked for. Chapter: memory-hierarchy.

c.add_(a), the same pass as on the CPU, captured many times over in a CUDA graph. Even so a kernel needs a microsecond or two before
its first byte, so small working sets show that and not the L2: sizes whose pass takes less than three empty kernels are left out.
Registers and shared memory cannot be reached from here; their rates are counted from the data sheet, not measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from helpers.units import MIB, seconds_text

from .stopwatch import best, wake

ITEM = 4  # float32
LAUNCHES = 3  # empty kernels that a pass must outlast to count


def gpu_levels(device: torch.device) -> tuple[tuple[str, int], ...]:
    """The L2 cache as CUDA reports it (60 MB for an H200, whose data sheet says 50); () where torch does not hand it on."""
    size = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)
    return (("L2", int(size)),) if size else ()


def gpu_sizes(levels: Sequence[tuple[str, int]], memory: int = 1 << 40) -> list[int]:
    """Half octaves from 1 MiB to 1 GiB, or to eight times the L2 if that is more; never above an eighth of the GPU's `memory`."""
    largest = min(max([1024 * MIB, *(8 * size for _, size in levels)]), memory // 8)
    return [n for k in range(20, largest.bit_length()) for n in (2**k, 3 * 2 ** (k - 1)) if n <= largest]


def climb_gpu(sizes: Sequence[int], device: torch.device, seconds: float) -> tuple[list[float], str]:
    """Seconds of one pass at each working set, infinite where a bare kernel takes a good part of them, and a sentence on that.

    The bare kernel is timed before and after: the clock may have risen meanwhile, and the less is its time.
    """
    wake(device, min(0.5, seconds / 6))
    whole = torch.ones(sizes[-1] // ITEM, device=device)
    tiny = whole[:1]
    bare = best(lambda: tiny.add_(1), device, 0.02)
    least = [best(_pass(whole, nbytes), device, seconds / len(sizes)) for nbytes in sizes]
    bare = min(bare, best(lambda: tiny.add_(1), device, 0.02))
    found = trusted(least, bare)
    share = f", {bare / min(found):.0%} of the shortest pass" if min(found) < float("inf") else ""
    return found, f"CUDA graph; a bare kernel takes {seconds_text(bare)}{share}"


def trusted(seconds: Sequence[float], bare: float) -> list[float]:
    """The times that outlast LAUNCHES bare kernels; infinite instead of the others, which say nothing about memory."""
    return [least if least >= LAUNCHES * bare else float("inf") for least in seconds]


def _pass(whole: torch.Tensor, nbytes: int):
    """c.add_(a) on the two halves of the first nbytes."""
    a, c = whole[: nbytes // ITEM].chunk(2)
    return lambda: c.add_(a)
