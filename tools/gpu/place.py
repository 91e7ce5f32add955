"""Where the checks run: the backend, the number of ranks, and what a check may ask of both."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil
import pynvml

from helpers.ranks import RankError, Ranks
from helpers.ranks.pool.launch import Team

from . import kept

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 5.0  # seconds that a rank may be inside one collective, in the checks that hang on purpose


@dataclass(frozen=True)
class Place:
    """backend: nccl or gloo. nranks: of every check. gpus: how many there are; with fewer than ranks, the ranks share them."""

    backend: str
    nranks: int
    gpus: int
    # NCCL's files in shared memory that were there before us: others' leftovers, or their ranks'
    before: tuple[str, ...] = ()

    def new(self, n: int | None = None, timeout: float = TIMEOUT) -> Ranks:
        """Ranks that nobody has used; the caller closes them."""
        return Ranks(n or self.nranks, backend=self.backend, timeout=timeout)

    def ranks(self, timeout: float = 60.0) -> AbstractContextManager[Ranks]:
        """One rank for each GPU, kept for the next check."""
        return kept.ranks(self.nranks, self.backend, timeout)

    def pair(self) -> AbstractContextManager[Ranks]:
        """Two ranks, kept, for checks that come to harm and whose answer is no other with eight."""
        return kept.ranks(2, self.backend, TIMEOUT)

    def words(self) -> list[str]:
        """For a command line; `of` reads them again."""
        return [self.backend, str(self.nranks), str(self.gpus), *self.before]

    @classmethod
    def of(cls, backend: str, nranks: str, gpus: str, *before: str) -> Place:
        return cls(backend, int(nranks), int(gpus), before)

    @property
    def shared(self) -> bool:
        """Ranks share a GPU here."""
        return self.backend == "nccl" and self.gpus < self.nranks

    def fails(self, ranks: Ranks, fn: Callable, *args: object) -> Failed:
        """How fn ends, which must not end well."""
        with _kills() as kills:
            began = time.monotonic()
            try:
                ranks.run(fn, *args)
            except RankError as error:
                return Failed(error, time.monotonic() - began - sum(kills), sum(kills))
        raise AssertionError(f"{fn.__name__} ended well, and must not")

    def python(self, what: str) -> subprocess.Popen:
        """A process of its own with two ranks in it (tools.gpu.parents); speaks in lines."""
        command = [sys.executable, "-m", "tools.gpu.parents", what, self.backend, "2"]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


class Failed(NamedTuple):
    """error; seconds until it was known who did what; seconds that ending the ranks took then, spinning kernels and all."""

    error: RankError
    seconds: float
    kill: float


@contextlib.contextmanager
def _kills() -> Iterator[list[float]]:
    """Seconds that every team takes to end meanwhile."""
    found, real = [], Team.kill

    def kill(team: Team) -> None:
        began = time.monotonic()
        real(team)
        found.append(time.monotonic() - began)

    Team.kill = kill
    try:
        yield found
    finally:
        Team.kill = real


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
