"""Where a sweep runs: a GPU a rank, or several ranks on the first GPU; without a GPU, nowhere. Chapter: benchmarking."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace

from helpers.ranks.machine.devices import World, plan
from helpers.ranks.machine.gpus import find_gpus
from helpers.ranks.machine.nranks import check_nranks
from helpers.ranks.sweeping.found import ONE_GPU

VISIBLE = "CUDA_VISIBLE_DEVICES"


def place(nranks: int | None, one_gpu: bool, what: str = "a sweep") -> World:
    """The world of the ranks of `what`. Raises TypeError or ValueError naming what is here and what was expected."""
    if nranks is not None:
        check_nranks(nranks)
        if nranks < 2:
            raise ValueError(f"a collective takes at least 2 ranks, got {nranks}")
    gpus = find_gpus()
    count = len(gpus.usable)
    if not count:
        raise ValueError(
            f"{what} needs NVIDIA GPUs: what it sets is NCCL's, and none is usable here. {gpus.trouble}".rstrip()
        )
    if one_gpu:
        world = plan(nranks or 2, "nccl")
        return replace(world, label=f"{world.nranks} ranks on one GPU ({gpus.names[0]}): {ONE_GPU}")
    if count < (nranks or 2):
        raise ValueError(
            f"{nranks or 2} ranks want {nranks or 2} GPUs, {count} can be used here: with one_gpu=True (--one-gpu) they share the first,"
            f" {ONE_GPU}"
        )
    return plan(nranks or count, "nccl")


@contextlib.contextmanager
def one_gpu_visible(one_gpu: bool) -> Iterator[None]:
    """While it lasts, ranks see the first of the GPUs that this process may see, and no other. False: all of them."""
    before = os.environ.get(VISIBLE)
    if not one_gpu:
        yield
        return
    os.environ[VISIBLE] = (before if before is not None else "0").split(",")[0]
    try:
        yield
    finally:
        os.environ.pop(VISIBLE)
        if before is not None:
            os.environ[VISIBLE] = before
