"""What the ranks of every launcher do, in a module: processes that are spawned cannot take a notebook's functions."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist


def sums(product: bool = False) -> float:
    """A 4-element all_reduce of ones: the number of ranks. product: the ones come from a product of matrices."""
    x = (torch.ones(1000, 1000) @ torch.ones(1000, 1000))[0, :4] / 1000 if product else torch.ones(4)
    dist.all_reduce(x)
    return x[0].item()


def nothing(*_: object) -> None:
    """The smallest call."""


def joined(rank: int, nranks: int, store: str, product: bool = False) -> None:
    """A process from its first line to its last: meet the others, sum, part."""
    dist.init_process_group("gloo", store=dist.FileStore(store, nranks), rank=rank, world_size=nranks)
    if sums(product) != nranks:
        raise AssertionError("all_reduce gave a wrong sum")
    dist.destroy_process_group()  # without it, Gloo's threads now and then abort the process on its way out


def launched(nranks: int, store: str, product: bool = False) -> None:
    """`joined` where the launcher sets RANK."""
    joined(int(os.environ["RANK"]), nranks, store, product)
