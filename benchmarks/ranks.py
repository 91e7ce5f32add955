"""What it costs to run a function on 4 ranks: ours, torch.multiprocessing.spawn, accelerate's notebook_launcher. Chapter: ranks.

    python -m benchmarks.ranks [nranks]

All in this one process, on this machine, now. torch is imported before the clock starts. Every call ends with a 4-element
all_reduce on every rank, except the no-op; medians. spawn and notebook_launcher start new processes at every call.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from helpers.ranks import Ranks
from helpers.ranks.launch import loopback
from helpers.units import seconds_text

WARM_CALLS, LATER_STARTS, SPAWNS, NOTEBOOK_LAUNCHES = 300, 5, 3, 3


def all_reduce() -> float:
    """The work of every call."""
    x = torch.ones(4)
    dist.all_reduce(x)
    return x[0].item()


def joined(rank: int, nranks: int, store: str) -> None:
    """The work of a spawned process: meet the others, all_reduce, part."""
    os.environ["GLOO_SOCKET_IFNAME"] = loopback()
    dist.init_process_group("gloo", store=dist.FileStore(store, nranks), rank=rank, world_size=nranks)
    if all_reduce() != nranks:
        raise AssertionError("all_reduce gave a wrong sum")
    dist.destroy_process_group()  # without it, Gloo's threads now and then abort the process on its way out


def nothing(*_: object) -> None:
    """The no-op of a spawned process."""


def launched(nranks: int, store: str) -> None:
    """The work of notebook_launcher's process: it sets RANK."""
    joined(int(os.environ["RANK"]), nranks, store)


def seconds(fn: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    fn()
    return time.perf_counter() - start


def ours(nranks: int) -> dict[str, float]:
    """Cold start (the forkserver imports torch), later starts, warm calls."""

    def start() -> None:
        with Ranks(nranks, backend="gloo") as ranks:
            ranks.run(all_reduce)

    found = {"cold start": seconds(start), "later start": median(seconds(start) for _ in range(LATER_STARTS))}
    with Ranks(nranks, backend="gloo") as ranks:
        for name, fn in (("warm no-op call", nothing), ("warm all_reduce call", all_reduce)):
            ranks.run(fn)
            found[name] = median(seconds(lambda fn=fn: ranks.run(fn)) for _ in range(WARM_CALLS))
    return found


def spawned(nranks: int) -> dict[str, float]:
    """torch.multiprocessing.spawn: every call is a cold start."""

    def call() -> None:
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(joined, (nranks, str(Path(folder, "store"))), nranks)

    first, later = seconds(call), median(seconds(call) for _ in range(SPAWNS))
    no_op = median(seconds(lambda: mp.spawn(nothing, nprocs=nranks)) for _ in range(SPAWNS))
    return {"cold start": first, "later start": later, "warm no-op call": no_op, "warm all_reduce call": later}


def notebook_launched(nranks: int) -> dict[str, float]:
    """accelerate's notebook_launcher: forks this process at every call."""
    from accelerate import notebook_launcher

    def call(fn: Callable, *args: object) -> None:
        notebook_launcher(fn, args, num_processes=nranks, use_port="0")

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            call(launched, nranks, str(Path(folder, "store")))

    first, later = seconds(work), median(seconds(work) for _ in range(NOTEBOOK_LAUNCHES))
    no_op = median(seconds(lambda: call(nothing)) for _ in range(NOTEBOOK_LAUNCHES))
    return {"cold start": first, "later start": later, "warm no-op call": no_op, "warm all_reduce call": later}


def ratio(times_ours: float) -> str:
    """ "1,891x"; below ten with a digit after the point."""
    return f"{times_ours:,.0f}x" if times_ours >= 10 else f"{times_ours:.1f}x"


def table(found: dict[str, dict[str, float]]) -> str:
    """Rows: what is timed; columns: who; in brackets, how many times ours."""
    widths = [22, *(max(24, len(name) + 2) for name in found)]
    lines = ["".join(text.ljust(width) for text, width in zip(["", *found], widths, strict=True))]
    for row in next(iter(found.values())):
        own = found["Ranks"][row]
        cells = [
            f"{seconds_text(t[row])}" + ("" if who == "Ranks" else f" ({ratio(t[row] / own)})")
            for who, t in found.items()
        ]
        lines.append("".join(text.ljust(width) for text, width in zip([row, *cells], widths, strict=True)))
    return "\n".join(line.rstrip() for line in lines)


def main(nranks: int) -> None:
    """Measure and print."""
    print(f"{nranks} ranks, gloo, CPU; {os.cpu_count()} cores; torch {torch.__version__}; medians of this run")
    found = {"Ranks": ours(nranks), "mp.spawn": spawned(nranks)}
    if importlib.util.find_spec("accelerate"):
        found["notebook_launcher"] = notebook_launched(nranks)
    else:
        print("accelerate is not installed: notebook_launcher is left out")
    print(table(found))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
