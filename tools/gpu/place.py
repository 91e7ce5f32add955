"""Where the checks run: the backend, the number of ranks, and what a check may ask of both."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pynvml

from helpers.ranks import RankError, Ranks

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 5.0  # seconds that a rank may be inside one collective, in the checks that hang on purpose


@dataclass(frozen=True)
class Place:
    """backend: nccl or gloo. nranks: of every check. gpus: how many there are; with fewer than ranks, the ranks share them."""

    backend: str
    nranks: int
    gpus: int

    def ranks(self, n: int | None = None, timeout: float = TIMEOUT, env: dict[str, str] | None = None) -> Ranks:
        """Ranks of this place; the caller closes them."""
        return Ranks(n or self.nranks, backend=self.backend, timeout=timeout, env=env)

    def fails(self, ranks: Ranks, fn: Callable, *args: object) -> tuple[RankError, float]:
        """The RankError that fn must end with, and the seconds until it came."""
        began = time.monotonic()
        try:
            ranks.run(fn, *args)
        except RankError as error:
            return error, time.monotonic() - began
        raise AssertionError(f"{fn.__name__} ended well, and must not")

    def python(self, what: str) -> subprocess.Popen:
        """A process of its own with ranks in it (tools.gpu.parents); speaks in lines."""
        command = [sys.executable, "-m", "tools.gpu.parents", what, self.backend, str(self.nranks)]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def healthy_again(ranks: Ranks, fn: Callable[[], object]) -> float:
    """Seconds that the next call takes after a failure, all of a new start included."""
    began = time.monotonic()
    ranks.run(fn)
    return time.monotonic() - began


def gone(pids: list[int], limit: float = 10.0) -> float:
    """Seconds until none of these processes is left. Raises AssertionError naming those that stay longer than `limit`."""
    began = time.monotonic()
    while left := [pid for pid in pids if _runs(pid)]:
        assert time.monotonic() - began < limit, f"still there after {limit:g} s: {left}"
        time.sleep(0.01)
    return time.monotonic() - began


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def on_gpus() -> dict[int, int]:
    """Processes that hold GPU memory now: pid -> bytes (0 where the driver does not tell). {} without a driver."""
    held: dict[int, int] = {}
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return held
    try:
        for index in range(pynvml.nvmlDeviceGetCount()):
            for process in pynvml.nvmlDeviceGetComputeRunningProcesses(pynvml.nvmlDeviceGetHandleByIndex(index)):
                held[process.pid] = held.get(process.pid, 0) + (process.usedGpuMemory or 0)
    except pynvml.NVMLError:  # WSL does not tell
        pass
    finally:
        pynvml.nvmlShutdown()
    return held


def frees_gpus(pids: list[int], limit: float = 10.0) -> None:
    """Raises AssertionError when one of these processes still holds GPU memory after `limit` seconds.

    In a container the driver names processes by the host's numbers: then nothing is found, and nothing is claimed.
    """
    began = time.monotonic()
    while left := set(pids) & set(on_gpus()):
        assert time.monotonic() - began < limit, f"these processes still hold GPU memory: {sorted(left)}"
        time.sleep(0.05)


def nccl_files() -> set[str]:
    """NCCL's files in shared memory."""
    folder = Path("/dev/shm")
    return {path.name for path in folder.glob("nccl-*")}
