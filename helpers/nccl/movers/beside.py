"""What a matrix product takes when a collective holds some of the SMs. A model, not a measurement. Chapter: who-moves.

A tile of the product keeps one SM busy for the same time, and a free SM takes the next tile. A block of the collective has an SM to
itself until it ends (NVIDIA/nccl issue 689, a maintainer's answer). Memory, caches and power are left out.
"""

from __future__ import annotations

import heapq
from collections import Counter
from typing import NamedTuple


class Held(NamedTuple):
    """So many SMs are busy from start to end with `rounds` tiles one after the other; rounds is 0 for the collective."""

    sms: int
    start: float
    end: float
    rounds: int


def beside(tiles: int, tile: float, sms: int, taken: int = 0, until: float = 0.0) -> float:
    """Seconds until `tiles` blocks of `tile` seconds each are done on `sms` SMs, of which `taken` come free only at `until`.

    ValueError for counts below 1, seconds below 0, or more SMs taken than there are.
    """
    return max(one.end for one in held(tiles, tile, sms, taken, until) if one.rounds)


def held(tiles: int, tile: float, sms: int, taken: int = 0, until: float = 0.0) -> list[Held]:
    """Who keeps the SMs when: first the collective, if there is one, then the product's, those that do the same together."""
    if tiles < 1 or sms < 1 or not 0 <= taken <= sms:
        raise ValueError(f"expected tiles and SMs, and no more taken than there are, got {tiles}, {sms} and {taken}")
    if not (tile >= 0 and until >= 0):
        raise ValueError(f"seconds are 0 or more, got {tile!r} and {until!r}")
    free = [(0.0 if sm < sms - taken else until, sm) for sm in range(sms)]  # already a heap
    rounds: Counter[int] = Counter()
    for _ in range(tiles):
        at, sm = free[0]
        heapq.heapreplace(free, (at + tile, sm))
        rounds[sm] += 1
    starts = {sm: 0.0 if sm < sms - taken else until for sm in rounds}
    ends = {sm: at for at, sm in free}
    alike = Counter((starts[sm], ends[sm], many) for sm, many in rounds.items())
    own = [Held(count, start, end, many) for (start, end, many), count in sorted(alike.items())]
    return ([Held(taken, 0.0, until, 0)] if taken else []) + own


def even(work: float, sms: int, taken: int, until: float) -> float:
    """The limit of many small tiles: `work` seconds on the whole GPU, spread over whatever is free at each moment."""
    lost = until * taken / sms
    return work + lost if work + lost >= until else work * sms / (sms - taken)


def persistent(work: float, sms: int, launched: int, taken: int, until: float) -> float:
    """A kernel that starts `launched` blocks once, each with an equal share of what takes the whole GPU `work` seconds."""
    return beside(launched, work * sms / launched, sms, taken, until)
