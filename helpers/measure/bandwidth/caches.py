"""The caches that a CPU says it has, from Linux's /sys. What /sys does not say stays unknown. Chapter: memory-hierarchy.

`getconf` is not asked: inside a virtual machine it may report the host's caches, which the guest does not have to itself. /sys repeats
what the (virtual) processor announces, which may be wrong too; the ladder's steps are measured, and only named after it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

SYS = Path("/sys/devices/system/cpu")
_SIZES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


class Cache(NamedTuple):
    """A cache for data. level: 1, 2, 3; nbytes: as announced; cpus: which logical CPUs share it, as Linux writes it ("0-7")."""

    level: int
    nbytes: int
    cpus: str = ""

    @property
    def name(self) -> str:
        return f"L{self.level}"


def cpus() -> tuple[int, ...]:
    """The logical CPUs that this process may run on, in order; (0,) where the system does not say."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else (0,)


def caches(cpu: int | None = None, folder: Path = SYS) -> tuple[Cache, ...]:
    """The data and unified caches of one logical CPU, nearest first; () where the system hides them."""
    cpu = cpus()[-1] if cpu is None else cpu
    found = (_cache(index) for index in sorted((folder / f"cpu{cpu}" / "cache").glob("index[0-9]*")))
    return tuple(sorted(cache for cache in found if cache))


def _cache(index: Path) -> Cache | None:
    """What one index directory tells; None for instructions, and for anything that is missing or unreadable."""
    told = {name: _text(index / name) for name in ("type", "level", "size", "shared_cpu_list")}
    size = re.fullmatch(r"(\d+)([KMG]?)", told["size"])
    if told["type"] not in ("Data", "Unified") or not told["level"].isdigit() or not size or not int(size[1]):
        return None
    return Cache(int(told["level"]), int(size[1]) * _SIZES[size[2]], told["shared_cpu_list"])


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
