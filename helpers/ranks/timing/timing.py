"""Timing collectives on ranks, and fitting alpha and beta of this machine. Chapters: ring, latency-bandwidth, benchmarking.

A collective is over when its last rank is: every repetition starts at a barrier, every rank takes its own time, and the
slowest counts. The minimum says what the machine can do, the median what it usually does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.collectives import Schedule
from helpers.facts import Link
from helpers.facts.fit import fit
from helpers.ranks import recorded
from helpers.ranks.network.nic import aside
from helpers.ranks.network.ports import clock
from helpers.ranks.play.play import execute
from helpers.ranks.pool.ranks import Ranks
from helpers.ranks.worker import inside
from helpers.units import KIB, MIB, Bandwidth, nbytes_text, seconds_text

PING_PONG_SIZES = tuple(KIB * 4**k for k in range(8))  # 1 KiB to 16 MiB
TRIES = 3
EQUAL = 512 * KIB  # bytes that take about as long as the call itself, between ranks of one CPU: to guess the time left
AHEAD = 400_000  # cycles, 200 us at 2 GHz: what the host needs to enqueue a call
WAKE = 50_000_000  # cycles, 25 ms at 2 GHz: what wakes a GPU


class Timing(NamedTuple):
    """Seconds of one call: the least and the median over `reps` repetitions, each the slowest rank's."""

    min: float
    median: float
    reps: int


class Row(NamedTuple):
    """One size: torch's own collective and the schedule, timed in turns."""

    nbytes: int
    torch: Timing
    schedule: Timing


def bench(fn: Callable, *args: object, warmup: int = 2, reps: int = 20) -> Timing:
    """Inside ranks: times fn(*args). The same value on every rank. ValueError when reps < 1 or warmup < 0."""
    return bench_each({"fn": partial(fn, *args)}, warmup, reps)["fn"]


def bench_each(fns: dict[str, Callable[[], object]], warmup: int = 2, reps: int = 20) -> dict[str, Timing]:
    """Inside ranks: times several functions in turns, so that a busy moment of the machine falls on all of them alike."""
    if reps < 1 or warmup < 0:
        raise ValueError(f"bench wants reps >= 1 and warmup >= 0, got reps={reps}, warmup={warmup}")
    if inside.shares_a_gpu():
        raise RuntimeError("these ranks share a GPU: their times mean nothing")
    clock = _stream_seconds if dist.get_backend() == "nccl" else _wall_seconds
    for _ in range(warmup):
        for fn in fns.values():
            fn()
    turns = inside.parts(range(reps), inner=True)
    seconds = _slowest(torch.tensor([[clock(fn) for fn in fns.values()] for _ in turns], dtype=torch.float64))
    columns = zip(fns, seconds.T.tolist(), strict=True)
    return {name: summed_up(column) for name, column in columns}


def summed_up(seconds: Sequence[float]) -> Timing:
    """The least and the median of repetitions."""
    return Timing(min(seconds), median(seconds), len(seconds))


def _slowest(seconds: torch.Tensor) -> torch.Tensor:
    """Element by element the most of all ranks. By a sum, to which each adds a row of its own: NVLS knows no maximum of float64."""
    rows = torch.zeros(dist.get_world_size(), *seconds.shape, dtype=seconds.dtype)
    rows[dist.get_rank()] = seconds
    with aside():
        dist.all_reduce(rows)
    return rows.amax(0)


def _wall_seconds(fn: Callable[[], object]) -> float:
    dist.barrier()
    start = clock.start()
    fn()
    return clock.stop(start)


def _stream_seconds(fn: Callable[[], object]) -> float:
    """NCCL's calls return once enqueued: the GPU's own clock says when they begin and end.

    The GPU sleeps before the first event: else it would pass it at once and wait for Python, whose microseconds would count.
    """
    dist.barrier()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(AHEAD)
    begin.record()
    fn()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1000


def paired(s: Schedule, sizes: Sequence[int], warmup: int = 2, reps: int | None = None) -> list[Row]:
    """Inside ranks: an all_reduce of each size in bytes, by torch and by the schedule, in turns and in place (float32).

    reps: by default 20 up to 1 MiB and 5 beyond. Where pages show recorded runs: one, and no warm-up.
    ValueError for another collective or a size that is not a multiple of 4.
    """
    if s.collective != "all_reduce":
        raise ValueError(f"paired times all_reduce schedules, got {s.collective}")
    for nbytes in sizes:
        if nbytes < 4 or nbytes % 4:
            raise ValueError(f"a size is a multiple of 4 bytes (float32), got {nbytes!r}")
    if recorded.shown():
        warmup, reps = 0, 1
    return [_row(s, n, warmup, reps_of(n, reps)) for n in inside.parts(sizes, weights(sizes, reps))]


def reps_of(nbytes: int, reps: int | None = None) -> int:
    """How often a call of so many bytes is timed, where nobody says: 20 times up to 1 MiB, and 5 beyond."""
    return reps or (20 if nbytes <= MIB else 5)


def weights(sizes: Sequence[int], reps: int | None = None) -> list[float]:
    """What timing each size takes, as parts of the whole: to guess the time that is left."""
    return [reps_of(nbytes, reps) * (nbytes + EQUAL) for nbytes in sizes]


def _row(s: Schedule, nbytes: int, warmup: int, reps: int) -> Row:
    x = torch.zeros(nbytes // 4)  # zeros stay zeros however often they are summed
    fns = {"torch": partial(dist.all_reduce, x), "schedule": partial(execute, s, x, out=x)}
    return Row(nbytes, **bench_each(fns, warmup, reps))


def messages(sizes: Sequence[int], busy: bool = False, reps: int = 10) -> list[float]:
    """Inside ranks: seconds of one message of each size in bytes, one way (the minimum).

    By ping-pong: rank 0 sends to rank 1 and back, half of that time counts, the others are idle. busy: every rank sends to
    the next at once, as in a step of a ring. ValueError with fewer than two ranks.
    """
    if dist.get_world_size() < 2:
        raise ValueError("a message needs two ranks, this world has one")
    play, ways = (shift, 1) if busy else (_ping_pong, 2)
    buffers = [(torch.zeros(nbytes, dtype=torch.uint8), torch.zeros(nbytes, dtype=torch.uint8)) for nbytes in sizes]
    return [bench(play, *pair, reps=reps).min / ways for pair in inside.parts(buffers, weights(sizes, reps))]


def _ping_pong(ball: torch.Tensor, _: torch.Tensor) -> None:
    rank = dist.get_rank()
    if rank < 2:
        first, second = (dist.send, dist.recv) if rank == 0 else (dist.recv, dist.send)
        first(ball, 1 - rank)
        second(ball, 1 - rank)


def shift(mine: torch.Tensor, theirs: torch.Tensor) -> None:
    """Inside ranks: every rank sends to the next, and receives from the one before."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    ops = [dist.P2POp(dist.isend, mine, (rank + 1) % nranks), dist.P2POp(dist.irecv, theirs, (rank - 1) % nranks)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()


def fit_link(ranks: Ranks, busy: bool = False, sizes: Sequence[int] = PING_PONG_SIZES) -> Link:
    """In the notebook: alpha and bandwidth of these ranks, fitted to measured messages: what a lab predicts with.

    busy: measured while every rank sends at once; on a machine with fewer cores than ranks that is another link.
    Times that fall as messages grow are another program's doing: then all are measured again. RuntimeError when that goes on.
    """
    how = "all ranks sending at once" if busy else "ping-pong"
    for _ in range(TRIES):
        seconds = ranks.run(messages, list(sizes), busy)[0]
        alpha, beta = fit(sizes, seconds)
        if beta > 0:
            return Link(max(alpha, 0.0), Bandwidth(1 / beta, "one way", "GPU", "fitted"), f"{ranks.label}, {how}")
    times = ", ".join(f"{nbytes_text(n)} {seconds_text(t)}" for n, t in zip(sizes, seconds, strict=True))
    raise RuntimeError(
        f"no link can be fitted: more bytes took less time, {TRIES} times in a row, at last {times}. Is the machine busy?"
    )


def cycles_a_second() -> float:
    """Of this rank's GPU, measured: CUDA 13 does not tell, and an idle GPU runs at a fifth of its clock."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(WAKE)
    begin.record()
    torch.cuda._sleep(WAKE)
    end.record()
    end.synchronize()
    return WAKE / (begin.elapsed_time(end) / 1e3)
