"""One process that holds all GPUs, beside a process a GPU: the same NCCL calls, and what Python adds to each. Chapter: benchmarking.

nccl-tests by default is one process with a thread; torch's ranks are a process a GPU. NCCL's kernels are the same. What differs is
the host: one process enqueues a call for every GPU, one after the other; many enqueue one each, side by side, through
torch.distributed. So two times are taken: the GPU's, behind a sleep in which everything is enqueued, and the host's, from the call
until all GPUs are done, which is what a benchmark without that sleep, or a training loop that waits, sees.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.cuda import nccl

from helpers.collectives import find_primitive
from helpers.meanwhile import Count
from helpers.ranks.pool.ranks import Ranks
from helpers.ranks.primitives import prepared
from helpers.ranks.sweeping.places import place
from helpers.ranks.sweeping.settings import repeats
from helpers.ranks.timing import columns
from helpers.ranks.timing.timing import AHEAD, bench, reps_of, weights
from helpers.units import GB, parse_nbytes

TAKEN = ("all_reduce", "all_gather", "reduce_scatter")  # of torch.cuda.nccl, those that nccl-tests has and no root


class Times(NamedTuple):
    """Seconds of one call, the least of all repetitions: on the GPU, and from the host's call until every GPU is done."""

    gpu: float
    host: float


class Compared(NamedTuple):
    """One size. wrong: elements, of the one process."""

    nbytes: int
    one: Times
    many: Times
    wrong: int


@dataclass(frozen=True)
class OneOrMany:
    """label: what it ran on. lines: one a size."""

    collective: str
    nranks: int
    label: str
    lines: tuple[Compared, ...]

    @property
    def wrong(self) -> int:
        return sum(line.wrong for line in self.lines)

    def as_json(self) -> dict[str, Any]:
        """For json.dumps: bytes and seconds."""
        head = {
            "kind": "one process or many",
            "collective": self.collective,
            "nranks": self.nranks,
            "label": self.label,
        }
        rows = [
            {"nbytes": line.nbytes, "one": line.one._asdict(), "many": line.many._asdict(), "wrong": line.wrong}
            for line in self.lines
        ]
        return head | {"rows": rows}

    def __str__(self) -> str:
        pair = f"{'GPU':>10}{'host':>10}{'busbw':>9}"
        units = f"{'(us)':>10}{'(us)':>10}{'(GB/s)':>9}"
        head = (
            f"# {self.collective} on {self.label}: one process for all GPUs, and a process a GPU",
            "# GPU: behind a sleep in which all is enqueued; host: until all GPUs are done; busbw: one way, of the host's time",
            f"#{'size':>12}{'one process':>29}{'a process a GPU':>29}{'':>8}",
            f"#{'(B)':>12}{pair}{pair}{'#wrong':>8}",
            f"#{'':>12}{units}{units}",
        )
        return "\n".join([*head, *map(self._row, self.lines)])

    def _row(self, line: Compared) -> str:
        factor = find_primitive(self.collective).promise.bus_factor(self.nranks)
        pairs = (
            f"{times.gpu * 1e6:>10.2f}{times.host * 1e6:>10.2f}{line.nbytes / times.host * factor / GB:>9.2f}"
            for times in (line.one, line.many)
        )
        return f"{line.nbytes:>13}{''.join(pairs)}{line.wrong:>8}"


def one_or_many(
    collective: str = "all_reduce",
    *,
    begin: str | int = "1 KiB",
    end: str | int = "64 MiB",
    factor: int = 4,
    nranks: int | None = None,
    warmup: int = 2,
    iters: int | None = None,
    timeout: float = 30.0,
) -> OneOrMany:
    """The same collective from one process and from many, size by size. Sizes and iters as `sweep` takes them.

    ValueError, before anything starts, where there are fewer than two NVIDIA GPUs, and for a collective that is not one of `TAKEN`.
    """
    taken(collective)
    repeats(warmup, iters)
    world = place(nranks, one_gpu=False, what="one process for all GPUs")
    sizes = columns.sizes(parse_nbytes(begin), parse_nbytes(end), factor, world.nranks)
    many = _asked(Ranks(world.nranks, backend="nccl", timeout=timeout), from_many, sizes, warmup, iters, collective)
    alone = Ranks(1, backend="nccl", timeout=timeout, env=_all(world.visible))
    one = _asked(alone, partial(from_one, world.nranks), sizes, warmup, iters, collective)
    lines = (Compared(n, a[0], b[0], a[1]) for n, a, b in zip(sizes, one, many, strict=True))
    return OneOrMany(collective, world.nranks, world.label, tuple(lines))


def taken(collective: str) -> None:
    """Raises ValueError for a collective that one process does not do here."""
    if collective not in TAKEN:
        raise ValueError(f"one process for all GPUs does {', '.join(TAKEN)} (torch.cuda.nccl), got {collective!r}")


def _all(visible: str) -> dict[str, str]:
    """A pool of one rank would be shown one GPU where CUDA might number them differently: this one is shown all."""
    return {"CUDA_VISIBLE_DEVICES": visible} if visible else {}


def _asked(
    ranks: Ranks, fn: Callable, sizes: list[int], warmup: int, iters: int | None, collective: str
) -> list[tuple[Times, int]]:
    with ranks, Count(weights(sizes, iters)) as count:
        found = []
        for i, nbytes in enumerate(sizes):
            count.at(i, f"{ranks.nranks} process{'es' * (ranks.nranks > 1)}: {collective} of {nbytes} B")
            found.append(ranks.run(fn, collective, nbytes, warmup, reps_of(nbytes, iters))[0])
        return found


def from_many(collective: str, nbytes: int, warmup: int, iters: int) -> tuple[Times, int]:
    """Inside ranks: torch.distributed's call. The data is checked by `columns.measure` elsewhere."""
    made, nranks = find_primitive(collective), dist.get_world_size()
    x = torch.zeros(nbytes // columns.ITEM // (nranks if made.kind == "gathers" else 1))
    names, code = prepared(made, x, 0)
    call = partial(eval, code, names)
    gpu = bench(call, warmup=warmup, reps=iters).min
    host = min(_slowest(_until_done(call, dist.barrier, torch.cuda.synchronize)) for _ in range(iters))
    return Times(gpu, host), 0


def _slowest(seconds: float) -> float:
    """Of all ranks, on all ranks."""
    found = torch.zeros(dist.get_world_size(), dtype=torch.float64)
    found[dist.get_rank()] = seconds
    dist.all_reduce(found)
    return found.max().item()


def from_one(gpus: int, collective: str, nbytes: int, warmup: int, iters: int) -> tuple[Times, int]:
    """Inside the one rank that sees all GPUs: torch.cuda.nccl's call on one tensor a GPU. Checked first, on whole numbers."""
    call, inputs, outputs = _prepared(collective, nbytes, gpus)
    wrong = _wrong(collective, call, inputs, outputs)
    for _ in range(warmup):
        call()
    gpu = min(_on_gpus(call, gpus) for _ in range(iters))
    done = partial(_all_done, gpus)
    host = min(_until_done(call, done, done) for _ in range(iters))
    return Times(gpu, host), wrong


def _prepared(collective: str, nbytes: int, gpus: int) -> tuple[Callable[[], None], list, list]:
    whole, part = nbytes // columns.ITEM, nbytes // columns.ITEM // gpus
    sizes = {"all_reduce": (whole, whole), "all_gather": (part, whole), "reduce_scatter": (whole, part)}[collective]
    inputs, outputs = ([torch.zeros(size, device=f"cuda:{gpu}") for gpu in range(gpus)] for size in sizes)
    return partial(getattr(nccl, collective), inputs, outputs), inputs, outputs


def _wrong(collective: str, call: Callable[[], None], inputs: list, outputs: list) -> int:
    """Every GPU gives its number, 1 and up, in every element; then zeros are left for the clock."""
    gpus = len(inputs)
    for gpu, x in enumerate(inputs):
        x.fill_(gpu + 1)
    call()
    summed = gpus * (gpus + 1) // 2
    parts = range(1, gpus + 1) if collective == "all_gather" else [summed]
    wanted = [torch.full((len(outputs[0]) // len(parts),), float(value), device="cpu") for value in parts]
    found = sum(int((out.cpu() != torch.cat(wanted)).sum()) for out in outputs)
    for x in inputs:
        x.zero_()
    return found


def _on_gpus(call: Callable[[], None], gpus: int) -> float:
    """Seconds of the slowest GPU, between two events on each; all sleep while the calls are enqueued."""
    _all_done(gpus)
    begins, ends = ([torch.cuda.Event(enable_timing=True) for _ in range(gpus)] for _ in range(2))
    for gpu in range(gpus):
        with torch.cuda.device(gpu):
            torch.cuda._sleep(AHEAD * gpus)  # one host thread enqueues for all of them
            begins[gpu].record()
    call()
    for gpu in range(gpus):
        with torch.cuda.device(gpu):
            ends[gpu].record()
    _all_done(gpus)
    return max(begin.elapsed_time(end) for begin, end in zip(begins, ends, strict=True)) / 1000


def _until_done(call: Callable[[], object], meet: Callable[[], object], done: Callable[[], object]) -> float:
    """Seconds from the call until this process's GPUs are done with it. meet: what all wait for before."""
    meet()
    done()
    began = time.perf_counter()
    call()
    done()
    return time.perf_counter() - began


def _all_done(gpus: int) -> None:
    for gpu in range(gpus):
        torch.cuda.synchronize(gpu)
