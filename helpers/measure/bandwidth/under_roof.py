"""Where real operations lie under the roof: each counted, timed, and set against what the machine could do. Chapters: roofline,
memory-hierarchy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from helpers.meanwhile import aloud
from helpers.memory.roofline import Roof
from helpers.tracker.device import at

from .operations import GROUPS, Case, On
from .rates import floating, machine_roof, room
from .stopwatch import best, threads

SIDES = {"cpu": (4096,), "cuda": (16384, 8192, 4096, 2048, 1024)}
DTYPE = {"cpu": torch.float32, "cuda": torch.bfloat16}


class Placed(NamedTuple):
    """One operation, measured. flops, read, written: as counted; intensity: FLOP per byte; attained: FLOP/s; seconds: the least.

    share: of what the roof allows at that intensity; above 1 where the caches gave what the count charges to memory.
    """

    op: str
    group: str
    flops: float
    read: float
    written: float
    intensity: float
    seconds: float
    attained: float
    share: float

    def __str__(self) -> str:
        return f"{self.op:>28}  {self.intensity:8.3g} FLOP/B  {self.attained / 1e9:8.3g} GFLOP/s  {self.share:5.0%} of the roof"

    __repr__ = __str__


class Places(tuple):
    """Rows of Placed that print as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__


def place(
    *groups: str,
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
    roof: Roof | None = None,
    n: int | None = None,
    seconds: float = 0.15,
    nthreads: int = 1,
) -> Places:
    """Measure the operations of these groups (all unless told: gemm, decode, rows, attention, fusion, tiling) and place them.

    dtype: float32 on the CPU and bfloat16 on a GPU unless told; roof: this machine's, measured now, unless told; n: side of the
    matrices, a multiple of 64 (4096 on the CPU, 16384 on a GPU with room); seconds: to spend on the repeats of each.
    ValueError for an unknown group, dtype or n; RuntimeError where there is no such GPU.
    """
    device = at(device)
    on = On(device, dtype or DTYPE[device.type], _side(device) if n is None else n)
    _refuse(groups, on)
    roof = roof or machine_roof(device, on.dtype, nthreads=nthreads)
    found, names = [], groups or tuple(GROUPS)
    with threads(nthreads), torch.no_grad(), aloud("") as now:
        for number, group in enumerate(names, 1):
            now.head = f"measuring {group}, {number} of {len(names)}"
            found += [placed(case, best(case.call, device, seconds), roof) for case in GROUPS[group](on)]
    return Places(found)


def _side(device: torch.device) -> int:
    """The largest of SIDES whose matrix of four bytes an element a measurement may take."""
    return next((n for n in SIDES[device.type] if 4 * n * n <= room(device)), SIDES[device.type][-1])


def placed(case: Case, seconds: float, roof: Roof) -> Placed:
    """A case that took so many seconds, under that roof."""
    work, attained = case.work, case.work.flops / seconds
    share = attained / roof.attainable(work.intensity)
    counted = (float(work.flops), float(work.read), float(work.written), float(work.intensity))
    return Placed(case.op, case.group, *counted, seconds, attained, share)


def _refuse(groups: Sequence[str], on: On) -> None:
    unknown = [group for group in groups if group not in GROUPS]
    if unknown:
        raise ValueError(f"groups are {', '.join(GROUPS)}, got {unknown[0]!r}")
    if isinstance(on.n, bool) or not isinstance(on.n, int) or on.n < 64 or on.n % 64:
        raise ValueError(f"n is the side of the matrices, a multiple of 64, got {on.n!r}")
    floating(on.dtype)
