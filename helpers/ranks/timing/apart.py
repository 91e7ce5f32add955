"""What a program's own way of calling adds to a collective: calls in a row against calls one by one. Chapter: benchmarking.

A call is given away (Python, torch, the library's own code on the host), then it is worked on. In a row the host gives away the next
call while the last is worked on, so a call takes whichever is longer; one by one it takes both. nccl-tests times a row, most scripts
one by one.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.ranks import recorded
from helpers.ranks.network.nic import aside
from helpers.ranks.timing.timing import Timing, summed_up
from helpers.ranks.worker import inside

ITEM = 4  # bytes of a float32


class Apart(NamedTuple):
    """Seconds of one all_reduce of nbytes, the slowest rank's.

    given: until the call is given away, in a row. row: of calls given away one behind the other, the last one's end included.
    alone: of a call that is waited for before the next is made, from a barrier on. Each repetition is the mean of some calls.
    """

    nbytes: int
    given: Timing
    row: Timing
    alone: Timing


def apart(nbytes: int, calls: int = 20, rows: int = 5) -> Apart:
    """Inside ranks: one size, in a row and one by one, in turns. The same value on every rank.

    Where pages show recorded runs: four calls, once. ValueError for a size that is no multiple of 4 bytes, and for less than one call
    or row; RuntimeError where ranks share a GPU.
    """
    if nbytes < ITEM or nbytes % ITEM:
        raise ValueError(f"a size is a multiple of {ITEM} bytes (float32), got {nbytes!r}")
    if calls < 1 or rows < 1:
        raise ValueError(f"apart wants calls >= 1 and rows >= 1, got calls={calls}, rows={rows}")
    if inside.shares_a_gpu():
        raise RuntimeError("these ranks share a GPU: their times mean nothing")
    if recorded.shown():
        calls, rows = 4, 1
    buffers = [torch.zeros(nbytes // ITEM) for _ in range(2)]  # two calls may be under way at once, each on its own
    _row(buffers, calls)  # the first calls connect, and do not count
    found = torch.tensor(
        [(*_row(buffers, calls), _alone(buffers, calls)) for _ in inside.parts(range(rows))], dtype=torch.float64
    )
    with aside():
        dist.all_reduce(found, dist.ReduceOp.MAX)
    return Apart(nbytes, *(summed_up(column) for column in found.T.tolist()))


def _row(buffers: list[torch.Tensor], calls: int) -> tuple[float, float]:
    """(given, row) of one call, seconds."""
    _together()
    start = time.perf_counter()
    works = [dist.all_reduce(buffers[k % 2], async_op=True) for k in range(calls)]
    given = time.perf_counter()
    for work in works:
        work.wait()
    _done()
    return (given - start) / calls, (time.perf_counter() - start) / calls


def _alone(buffers: list[torch.Tensor], calls: int) -> float:
    """Seconds of one call, each waited for; the ranks' barriers between them do not count."""
    seconds = 0.0
    for k in range(calls):
        _together()
        start = time.perf_counter()
        dist.all_reduce(buffers[k % 2])
        _done()
        seconds += time.perf_counter() - start
    return seconds / calls


def _together() -> None:
    dist.barrier()
    _done()


def _done() -> None:
    """NCCL's calls return once enqueued, its barrier too."""
    if dist.get_backend() == "nccl":
        torch.cuda.synchronize()
