"""What is here to run on: GPUs with NCCL, else the CPU with Gloo, and a label that says which. Chapters: setup, ranks.

GPUs are counted through NVML, the driver's own library, which does not start CUDA in the notebook.
"""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import psutil
import pynvml
import torch

if sys.platform == "win32":
    raise ImportError("ranks need Linux or macOS; on Windows, open the course in WSL")

MAX_RANKS = 64
NBYTES_PER_RANK = 250_000_000  # free memory that one more rank wants: its own pages and its first tensors
DEFAULT_CPU_RANKS = 4


@dataclass(frozen=True)
class World:
    """How many ranks a launch here would have, and on what. Printing it shows the label."""

    nranks: int
    backend: str
    devices: tuple[str, ...]
    label: str
    note: str = ""  # why GPUs that are here are not used

    def __str__(self) -> str:
        return f"{self.label}\n{self.note}" if self.note else self.label

    __repr__ = __str__


@dataclass(frozen=True)
class Gpus:
    """The GPUs that ranks could use, by name; and, when some cannot be used, why and what helps."""

    names: tuple[str, ...] = ()
    trouble: str = ""


def world(n: int | None = None) -> World:
    """What `Ranks(n)` would start here: all GPUs when there are two or more, else 4 ranks on the CPU. Starts no ranks.

    Raises ValueError when n is not a whole number from 1 to 64, or more than the memory can hold.
    """
    from .launch import warm_up

    found = plan(n)
    warm_up()
    return found


def plan(n: int | None = None, backend: str | None = None) -> World:
    """`world` without the side of starting the server, and with a choice of backend ("nccl" or "gloo")."""
    if n is not None:
        check_nranks(n)
    if backend not in (None, "nccl", "gloo"):
        raise ValueError(f'backend must be "nccl", "gloo" or None (choose by what is here), got {backend!r}')
    gpus = Gpus() if backend == "gloo" else find_gpus()
    if gpus.trouble:
        warnings.warn(gpus.trouble, RuntimeWarning, stacklevel=3)
    count = len(gpus.names)
    if backend == "nccl" and count < (n or 1):
        raise ValueError(
            f"NCCL takes one GPU per rank: {n or 1} asked for, {count} usable here."
            + (gpus.trouble and f" {gpus.trouble}")
        )
    if count >= (n or (1 if backend == "nccl" else 2)):
        return _on_gpus(n or count, gpus)
    return _on_cpu(n or DEFAULT_CPU_RANKS, gpus)


def _on_gpus(n: int, gpus: Gpus) -> World:
    kinds = sorted(set(gpus.names[:n]))
    names = ", ".join(f"{gpus.names[:n].count(kind)} x {kind}" for kind in kinds)
    return World(n, "nccl", tuple(f"cuda:{i}" for i in range(n)), f"{_ranks(n)}, nccl, {names}")


def _on_cpu(n: int, gpus: Gpus) -> World:
    check_memory(n)
    note = gpus.trouble
    if gpus.names:
        note = f"{len(gpus.names)} x {gpus.names[0]} here, fewer than ranks: NCCL takes one GPU per rank, so these run on the CPU."
    return World(n, "gloo", ("cpu",) * n, f"{_ranks(n)}, gloo, CPU", note)


def _ranks(n: int) -> str:
    return f"{n} rank{'s' if n > 1 else ''}"


def check_nranks(n: object) -> None:
    """Raises TypeError or ValueError naming the value and what was expected."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"the number of ranks is a whole number, got {n!r}")
    if not 1 <= n <= MAX_RANKS:
        raise ValueError(f"the number of ranks lies in 1..{MAX_RANKS}, got {n}")


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


def find_gpus() -> Gpus:
    """Ask the driver. Never initialises CUDA."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Gpus(trouble=_no_driver(error))
    try:
        names = _visible([_name(i) for i in range(pynvml.nvmlDeviceGetCount())])
        return Gpus(trouble=t) if names and (t := _no_cuda(pynvml.nvmlSystemGetCudaDriverVersion_v2())) else Gpus(names)
    finally:
        pynvml.nvmlShutdown()


def _name(index: int) -> tuple[str, str]:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    return pynvml.nvmlDeviceGetName(handle), pynvml.nvmlDeviceGetUUID(handle)


def _visible(devices: list[tuple[str, str]]) -> tuple[str, ...]:
    """CUDA_VISIBLE_DEVICES: indices or UUID prefixes; the first that is neither hides itself and all after it."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is None:
        return tuple(name for name, _ in devices)
    names = []
    for item in filter(None, (part.strip() for part in asked.split(","))):
        matches = [name for i, (name, uuid) in enumerate(devices) if item == str(i) or uuid.startswith(item)]
        if not matches:
            break
        names.append(matches[0])
    return tuple(names)


def _no_driver(error: Exception) -> str:
    vendors = Path("/sys/bus/pci/devices").glob("*/vendor")
    if not any(_reads(vendor, "0x10de") and _reads(vendor.with_name("class"), "0x03") for vendor in vendors):
        return ""
    return (
        f"There is an NVIDIA GPU here, but its driver does not answer ({error}), so ranks run on the CPU."
        " Install the NVIDIA driver, or start the container with its GPUs (docker run --gpus all)."
    )


def _reads(path: Path, start: str) -> bool:
    try:
        return path.read_text().startswith(start)
    except OSError:
        return False


def _no_cuda(driver: int) -> str:
    """driver: the newest CUDA it can run, as 1000 * major + 10 * minor. "" when torch can use it."""
    if torch.version.cuda is None:
        return (
            "There are NVIDIA GPUs here, but this torch is a CPU build, so ranks run on the CPU."
            " Install a CUDA build of torch (`make lab` picks one) to use them."
        )
    if int(torch.version.cuda.split(".")[0]) > driver // 1000:
        return (
            f"The NVIDIA driver here runs CUDA up to {driver // 1000}.{driver % 1000 // 10}, this torch wants CUDA"
            f" {torch.version.cuda}, so ranks run on the CPU. Update the driver, or install torch for CUDA {driver // 1000}."
        )
    return ""
