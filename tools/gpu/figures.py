"""Figures, for which every rank needs a GPU of its own: what notes cost, and what the links carry."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist

from helpers.ranks.timing import columns
from helpers.units import GIB, KIB

from . import scale
from .place import Place

NBYTES = 64 * KIB
LARGEST = GIB  # of a GPU with room; a sixteenth of its memory where that is less
FACTOR = 4  # from one size to the next: 1 GiB is KIB * 4**10
SPARSE = 16  # where there is little room


def notes_cost(place: Place) -> dict:
    """A 64 KB all_reduce with its note and without, in turns; medians, and by how much the first is longer."""
    with place.ranks() as ranks:
        rounds = 30 if min(ranks.run(scale.mine)) >= scale.ROOM else 10
        noted, plain = map(max, zip(*ranks.run(noted_and_plain, rounds), strict=True))
    return {"noted": noted, "plain": plain, "share": noted / plain - 1}


def noted_and_plain(rounds: int, calls: int = 20) -> tuple[float, float]:
    """Inside ranks: median seconds of one all_reduce of NBYTES, both ways."""
    x = torch.zeros(NBYTES // 4)
    ways = dist.all_reduce, dist.all_reduce.__wrapped__
    seconds: list[list[float]] = [[], []]
    for _ in range(rounds):
        for way, found in zip(ways, seconds, strict=True):
            _settle()
            began = time.perf_counter()
            for _ in range(calls):
                way(x)
            _settle()
            found.append((time.perf_counter() - began) / calls)
    noted, plain = (sorted(found)[rounds // 2] for found in seconds)
    return noted, plain


def _settle() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    dist.barrier()


def bandwidth(place: Place) -> dict:
    """all_reduce, all_gather and reduce_scatter as nccl-tests tables: nbytes, seconds (minimum and median), algbw, busbw, wrong."""
    found: dict = {}
    with place.ranks() as ranks:
        sizes = sizes_up_to(min(ranks.run(scale.mine)), place.nranks)
        for collective in ("all_reduce", "all_gather", "reduce_scatter"):
            lines = [ranks.run(columns.measure, collective, nbytes)[0] for nbytes in sizes]
            wrong = sum(line.wrong for line in lines)
            assert not wrong, f"{collective}: {wrong} elements are wrong"
            found[collective] = [_plain(line) for line in lines]
            print(columns.header(ranks.label, collective), *map(columns.row, lines), sep="\n", flush=True)
    return found


def sizes_up_to(memory: int, nranks: int) -> list[int]:
    """From 1 KiB to 1 GiB, whole elements for every rank, where a rank's device has so many bytes of memory."""
    return columns.sizes(KIB, min(LARGEST, memory // 16), FACTOR if memory >= scale.ROOM else SPARSE, nranks)


def _plain(line: columns.Line) -> dict:
    timing = (line.out_of_place or line.in_place).timing  # an all_reduce has only the second
    algbw, busbw = line.bandwidths(timing.min)
    return {"nbytes": line.nbytes, "min": timing.min, "median": timing.median, "algbw": algbw, "busbw": busbw}
