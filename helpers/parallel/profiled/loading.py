"""Batches that take their time to be made, and how long a loop waits for them. Chapter: reading-a-trace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

BATCH = 4


class Slow(Dataset):
    """count samples of `width` numbers, each made in so many seconds, as one that is decoded or read from far away."""

    def __init__(self, count: int, width: int, seconds: float):
        self.count, self.width, self.seconds = count, width, seconds

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        if self.seconds:
            time.sleep(self.seconds)
        return torch.full((self.width,), float(index % 7))


class Waited(NamedTuple):
    """Of one step: seconds in all, and seconds until its batch came."""

    step: float
    waited: float


def waits(workers: int, load: float, computes: float, nsteps: int = 12) -> list[Waited]:
    """A loop whose step sleeps `computes` seconds and whose batches take `load` seconds, made by so many other processes (0: by itself).

    The first batches are left out: workers begin with all of them at once.
    """
    ahead = 2 * max(1, workers)
    data = Slow((nsteps + 2 * ahead) * BATCH, 1, load / BATCH)
    loader = DataLoader(data, batch_size=BATCH, num_workers=workers)
    return list(_clocked(iter(loader), computes, nsteps + ahead))[ahead:]


def _clocked(batches: Iterator[Tensor], computes: float, nsteps: int) -> Iterator[Waited]:
    for _ in range(nsteps):
        start = time.perf_counter()
        next(batches)
        came = time.perf_counter()
        time.sleep(computes)
        yield Waited(time.perf_counter() - start, came - start)
