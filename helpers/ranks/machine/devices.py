"""What is here to run on: GPUs with NCCL, else the CPU with Gloo, and a label that says which. Chapters: setup, ranks."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from helpers import meanwhile

from . import gpus as gpu_facts
from . import nranks, server, sharing
from .gpus import Gpu, Gpus, find_gpus

if sys.platform == "win32":
    raise ImportError("ranks need Linux or macOS; on Windows, open the course in WSL")

NBYTES_PER_RANK = 250_000_000  # free memory that one more rank wants: its own pages and its first tensors

SHARED = "shares a GPU: not timed"


@dataclass(frozen=True)
class World:
    """How many ranks a launch here would have, and on what. Printing it shows the label.

    shared: ranks share GPUs, so that results are right and times mean nothing.
    """

    nranks: int
    backend: str
    devices: tuple[str, ...]
    label: str
    note: str = ""  # why GPUs that are here are not used
    shared: bool = False
    visible: str = ""  # CUDA_VISIBLE_DEVICES of the ranks, where CUDA by itself might number the GPUs differently

    def __str__(self) -> str:
        return f"{self.label}\n{self.note}" if self.note else self.label

    __repr__ = __str__

    def env(self, rank: int) -> dict[str, str]:
        """What this rank's environment needs so that it finds its GPU and may share it."""
        visible = {"CUDA_VISIBLE_DEVICES": self.visible} if self.visible else {}
        return visible | (sharing.settings(rank, sharing.nccl_version()) if self.shared else {})


def world(
    n: int | None = None, *, backend: str | None = None, timed: bool = False, any_of: Iterable[int] | None = None
) -> World:
    """What `Ranks` would start here with the same arguments. Starts no ranks.

    n: so many, else what NRANKS in the environment says, else all GPUs up to 8, else 4: they share one GPU, or are on the CPU.
    backend: "nccl" or "gloo", else by what is here. timed: ranks never share a GPU; where they would, they are on the CPU.
    any_of: the numbers that the caller can do with, where it does not say n: the largest that does not exceed what is here, else
    the smallest.
    Raises ValueError when a number is no whole number from 1 to 64, or more than the memory can hold.
    """
    found = plan(n, backend, timed=timed, any_of=any_of)
    server.warm_up()
    meanwhile.attend()
    return found


def plan(
    n: int | None = None, backend: str | None = None, *, timed: bool = False, any_of: Iterable[int] | None = None
) -> World:
    """`world` without the side of starting the server."""
    if backend not in (None, "nccl", "gloo"):
        raise ValueError(f'backend must be "nccl", "gloo" or None (choose by what is here), got {backend!r}')
    allowed = nranks.checked(n, any_of)
    gpus = Gpus() if backend == "gloo" else find_gpus()
    if gpus.trouble:
        warnings.warn(gpus.trouble, RuntimeWarning, stacklevel=3)
    count = len(gpus.usable)
    if backend == "nccl" and not count:
        raise ValueError(f"NCCL needs a GPU, and none is usable here. {gpus.trouble}".rstrip())
    number, why = (n, "") if n else nranks.chosen(count, allowed)
    if backend != "nccl" and number > count:
        return _noted(_off_gpus(number, gpus, timed), why)
    return _noted(_on_gpus(number, gpus), why)


def _noted(found: World, why: str) -> World:
    return replace(found, note=f"{why}. {found.note}".rstrip()) if why else found


def _off_gpus(n: int, gpus: Gpus, timed: bool) -> World:
    """More ranks than GPUs: they share them, unless their times shall mean something, or the GPUs cannot serve so many."""
    if not gpus.usable:
        return _on_cpu(n, gpus.trouble)
    here = f"{len(gpus.usable)} x {gpus.usable[0].name} here, fewer than ranks"
    if timed:
        why = f"{here}: these are timed, and NCCL takes one GPU per rank, so they run on the CPU"
    else:
        try:
            return _on_gpus(n, gpus)
        except ValueError as error:
            why = f"{here}, and they cannot share: {error}; so these run on the CPU"
    return _on_cpu(n, f"{why}. {gpus.trouble}".rstrip())


def _on_gpus(n: int, gpus: Gpus) -> World:
    """One GPU per rank; with more ranks than GPUs they go round."""
    used = gpus.usable[:n]
    if shared := n > len(used):
        check_sharing(n, used)
    names = ", ".join(f"{count} x {name}" for name, count in sorted(Counter(gpu.name for gpu in used).items()))
    return World(
        n,
        "nccl",
        tuple(f"cuda:{rank % len(used)}" for rank in range(n)),
        f"{_ranks(n)}, nccl, {names}" + (f", {SHARED}" if shared else ""),
        gpus.trouble,
        shared,
        ",".join(gpu.uuid for gpu in used) if gpus.renumbered else "",
    )


def _on_cpu(n: int, note: str) -> World:
    check_memory(n)
    return World(n, "gloo", ("cpu",) * n, f"{_ranks(n)}, gloo, CPU", note)


def _ranks(n: int) -> str:
    return f"{n} rank{'s' if n > 1 else ''}"


def check_sharing(n: int, gpus: tuple[Gpu, ...]) -> None:
    """Raises ValueError when n ranks cannot share these GPUs: a GPU for one process at a time, or too little of its memory free."""
    for i, gpu in enumerate(gpus):
        sharers = len(range(i, n, len(gpus)))
        if gpu.exclusive and sharers > 1:
            raise ValueError(
                f"{n} ranks on {len(gpus)} GPUs share them, and {gpu.name} serves one process at a time"
                f" (an administrator can change that: nvidia-smi -i {i} -c 0)"
            )
        if gpu.free is not None and sharers * gpu_facts.NBYTES_PER_RANK > gpu.free:
            raise ValueError(
                f"{sharers} ranks on one {gpu.name} want {sharers * gpu_facts.NBYTES_PER_RANK / 1e9:.1f} GB of its memory"
                f" ({gpu_facts.NBYTES_PER_RANK / 1e9:.1f} GB each), {gpu.free / 1e9:.1f} GB are free"
            )


def check_memory(n: int) -> None:
    """Raises ValueError when n more processes would not fit into the free memory."""
    free = free_nbytes()
    if n * NBYTES_PER_RANK > free:
        raise ValueError(
            f"{n} ranks want {n * NBYTES_PER_RANK / 1e6:.0f} MB of free memory (250 MB each), {free / 1e6:.0f} MB are free:"
            f" at most {int(free // NBYTES_PER_RANK)} fit"
        )


def free_nbytes() -> int:
    """Bytes this process may still use: the machine's free memory, or what its container allows if that is less."""
    free = psutil.virtual_memory().available
    try:
        limit, used = (int(Path("/sys/fs/cgroup", name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # no cgroup v2, or "max": no limit
        return free
    return min(free, max(0, limit - used))
