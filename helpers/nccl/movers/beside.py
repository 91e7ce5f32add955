"""What a matrix product takes when a collective holds some of the SMs. A model, not a measurement. Chapter: who-moves.

A tile of the product keeps one SM busy for the same time, and a free SM takes the next tile. A block of the collective has an SM to
itself until it ends (NVIDIA/nccl issue 689, a maintainer's answer). Memory, caches and power are left out.
"""

from __future__ import annotations

import heapq


def beside(tiles: int, tile: float, sms: int, taken: int = 0, until: float = 0.0) -> float:
    """Seconds until `tiles` blocks of `tile` seconds each are done on `sms` SMs, of which `taken` come free only at `until`.

    ValueError for counts below 1, seconds below 0, or more SMs taken than there are.
    """
    if tiles < 1 or sms < 1 or not 0 <= taken <= sms:
        raise ValueError(f"expected tiles and SMs, and no more taken than there are, got {tiles}, {sms} and {taken}")
    if not (tile >= 0 and until >= 0):
        raise ValueError(f"seconds are 0 or more, got {tile!r} and {until!r}")
    free = [0.0] * (sms - taken) + [until] * taken  # already a heap
    for _ in range(tiles):
        end = heapq.heappushpop(free, free[0] + tile) + tile
    return end


def even(work: float, sms: int, taken: int, until: float) -> float:
    """The limit of many small tiles: `work` seconds on the whole GPU, spread over whatever is free at each moment."""
    lost = until * taken / sms
    return work + lost if work + lost >= until else work * sms / (sms - taken)


def persistent(work: float, sms: int, launched: int, taken: int, until: float) -> float:
    """A kernel that starts `launched` blocks once, each with an equal share of `work` seconds of the whole GPU."""
    return beside(launched, work * sms / launched, sms, taken, until)
