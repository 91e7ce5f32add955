"""A buffer on every rank that the others may write into: put, signal, wait. CPU ranks of one machine. Chapter: who-moves.

The names are NCCL's host calls since 2.29, ncclPutSignal and ncclWaitSignal: a put copies into the peer's memory, a signal counts
up beside it, and the peer takes no part until it waits. Memory is a file that all ranks map and that has no name any more.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist

from helpers.ranks.machine import scratch

LINE = 64  # bytes: no two ranks' signals share a line of a cache
_LOCK = threading.Lock()


class NotSignalled(RuntimeError):
    """A rank reads what another puts, without having waited for its signal."""


class Window:
    """Collective: every rank of the default group makes it, with the same arguments; RuntimeError where they are on several machines.

    numel, dtype: of one rank's part. mine: that part, a tensor, without any check. copied: bytes that this rank's puts wrote.
    signals: how many it sent. Writers agree on places themselves: two puts to one place overwrite each other.
    """

    def __init__(self, numel: int, dtype: torch.dtype = torch.float32) -> None:
        if isinstance(numel, bool) or not isinstance(numel, int) or numel < 1:
            raise ValueError(f"a window has 1 element or more on each rank, got {numel!r}")
        self._rank, self._nranks = dist.get_rank(), dist.get_world_size()
        part = _lines(numel * dtype.itemsize)
        size = (part + LINE * self._nranks) * self._nranks
        memory = _mapped(size, self._rank)
        self._parts = [torch.frombuffer(memory, dtype=dtype, count=numel, offset=part * r) for r in range(self._nranks)]
        self._flags = memoryview(memory)[part * self._nranks :].cast("q")  # native, so each is written at once
        self._waited, self._open = [0] * self._nranks, [False] * self._nranks
        self.copied = self.signals = 0

    @property
    def mine(self) -> torch.Tensor:
        return self._parts[self._rank]

    def put(self, data: torch.Tensor, dst: int, offset: int = 0) -> None:
        """Copies data (1 dimension, the window's dtype, on the CPU) into the part of rank dst, from element `offset` on."""
        there = self._parts[self._peer(dst)]
        if data.dtype != there.dtype or data.dim() != 1 or data.is_cuda:
            raise ValueError(f"expected one dimension of {there.dtype} on the CPU, got {data.dim()} of {data.dtype}")
        if not 0 <= offset <= offset + len(data) <= len(there):
            raise ValueError(f"elements {offset} to {offset + len(data)} are not inside a window of {len(there)}")
        there[offset : offset + len(data)] = data
        self.copied += data.numel() * data.element_size()

    def signal(self, dst: int) -> None:
        """One more for rank dst. Whoever has seen it sees all puts that came before it."""
        _fence()
        self._flags[self._flag(self._peer(dst), self._rank)] += 1  # nobody else writes this one
        self.signals += 1

    def wait(self, src: int, limit: float = 10.0) -> None:
        """Until rank src has signalled once more than this rank has waited for. TimeoutError after `limit` seconds."""
        want, flag = self._waited[self._peer(src)] + 1, self._flag(self._rank, src)
        end = time.monotonic() + limit
        while self._flags[flag] < want:
            if time.monotonic() > end:
                raise TimeoutError(
                    f"rank {self._rank} waited {limit:g} s for signal {want} of rank {src}: {self._flags[flag]} came"
                )
            time.sleep(0.0001)
        _fence()
        self._waited[src], self._open[src] = want, True

    def read(self, src: int, offset: int = 0, numel: int | None = None) -> torch.Tensor:
        """A copy of what rank src put here. NotSignalled unless this rank has waited for src since its last read."""
        if not self._open[self._peer(src)]:
            came = self._flags[self._flag(self._rank, src)]
            raise NotSignalled(
                f"rank {self._rank} reads what rank {src} puts, but has not waited for it:"
                f" {came} of its signals came, {self._waited[src]} waited for. Call wait({src}) first."
            )
        self._open[src] = False
        return self.mine[offset : None if numel is None else offset + numel].clone()

    def _peer(self, rank: int) -> int:
        if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < self._nranks:
            raise ValueError(f"expected one of ranks 0 to {self._nranks - 1}, got {rank!r}")
        return rank

    def _flag(self, dst: int, src: int) -> int:
        return (dst * self._nranks + src) * (LINE // 8)


def _lines(nbytes: int) -> int:
    return -(-nbytes // LINE) * LINE


def _mapped(size: int, rank: int) -> mmap.mmap:
    """`size` bytes, zero, that all ranks share. Rank 0 makes the file, and takes its name away when everybody has it open."""
    made = tempfile.mkstemp(prefix="bim-window-", dir=_folder()) if rank == 0 else (-1, "")
    name = [made[1]]
    try:
        if rank == 0:
            scratch.reserve(made[0], size)
        dist.broadcast_object_list(name, src=0)
        fd = made[0] if rank == 0 else _opened(name[0], size)
        everywhere = torch.tensor([fd >= 0], dtype=torch.int32)
        dist.all_reduce(everywhere, op=dist.ReduceOp.MIN)
    finally:
        if rank == 0:
            Path(made[1]).unlink()
    if not everywhere.item():
        raise RuntimeError(
            "a window is memory that all ranks share: they must be on one machine, with one numel and dtype"
        )
    with contextlib.closing(os.fdopen(fd, "r+b")) as file:
        return mmap.mmap(file.fileno(), size)


def _folder() -> str | None:
    """Where the ranks meet, if that is a folder of their own: what is killed meanwhile leaves its file there, and it goes with the team."""
    store = dist.distributed_c10d._get_default_store()
    store = getattr(store, "underlying_store", store)
    return str(Path(store.path).parent) if isinstance(store, dist.FileStore) else None


def _opened(name: str, size: int) -> int:
    """The file's descriptor, or -1: another machine has no such file, and a file of another size is another window."""
    try:
        fd = os.open(name, os.O_RDWR)
    except OSError:
        return -1
    return fd if os.fstat(fd).st_size == size else -1


def _fence() -> None:
    """Stores before it are seen before stores after it. Python has no fence; a lock that is given back and taken again is one.

    x86 keeps the order of stores anyway. Arm keeps it over an atomic release and the acquire that reads it.
    """
    for _ in range(2):
        _LOCK.acquire()
        _LOCK.release()
