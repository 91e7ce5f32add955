"""python -m helpers.parallel.profiled [NAME ...]: records traces of Gloo ranks, waits for a loader, and what profiling costs.

Names are those of JOBS, "loading" and "cost"; none for all. A machine that has other work disturbs a trace. So each job is tried often,
a try counts only if its layers took what they were told to, and the one whose longest rank was quickest is kept. What an earlier call of
this command has kept stays if it was quicker. Chapter: reading-a-trace.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import statistics
import sys
import time
from itertools import count
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from helpers.nccl import parse_kineto
from helpers.nccl.output.traces.kineto_trace import KinetoTrace
from helpers.ranks import Ranks
from helpers.ranks.recorded import machine, record, today, versions

from .jobs import FOLDER, JOBS, Job, trace_path
from .loading import waits
from .steps import steps
from .tracing import kept, traced

COMMAND = "python -m helpers.parallel.profiled"
NSTEPS, TRIES, LIMIT = 2, 12, 60.0
BUSY = 0.5e-3  # seconds that a sleep may take longer than it was told to, on average
COST, OPERATORS = "profiler-cost-cpu", 5000
HOWS: dict[str, dict[str, bool] | None] = {"alone": None, "profiled": {}, "shapes": {"record_shapes": True}}
LOADING, LOAD, COMPUTES, WORKERS = "loading-cpu", 40e-3, 25e-3, (0, 1, 2)


def tried(job: Job) -> bytes:
    """On a rank: a step that is not seen, and then those that are."""
    step = steps(job)
    step()
    return traced(step, NSTEPS)


def oversleep(job: Job, found: list[bytes]) -> float:
    """Seconds by which a sleep took longer than asked for, on average, on the rank where that is worst."""
    asked = [job.computes * (job.late.times if job.late and job.late.rank == k else 1) for k in range(job.nranks)]
    times = 2 * job.layers  # each layer sleeps twice in a step
    return max((slept(one) / NSTEPS - asked[rank]) / times for rank, one in enumerate(found))


def slept(packed: bytes) -> float:
    """Seconds that layers of a trace took besides their products."""
    rows = json.loads(gzip.decompress(packed))["traceEvents"]
    return sum(row["dur"] for row in rows if row["name"] in ("Takes", "TakesBackward")) / 1e6


def longest(reads: list[KinetoTrace]) -> int:
    """Nanoseconds of the rank that took longest."""
    return max(read.wall for read in reads)


def recorded(name: str, tries: int) -> str:
    """Tries a job, writes its traces if they are better than what is there, and says how it went."""
    job, best, most = JOBS[name], None, float("inf")
    if trace_path(name, 0).exists():
        most = longest([parse_kineto(trace_path(name, rank)) for rank in range(job.nranks)])
    about = {"what": job.what, "machine": machine(), "versions": versions(), "date": today(), "command": COMMAND}
    seen = 0
    with Ranks(job.nranks, backend="gloo", timeout=60) as ranks:
        about["label"] = f"{ranks.label}; layers sleep for most of their time"
        for _ in range(tries):
            found = [kept(one, **about) for one in ranks.run(tried, job, limit=LIMIT)]
            reads = [parse_kineto(one) for one in found]
            quiet = oversleep(job, found) <= BUSY
            seen += quiet
            if quiet and longest(reads) < most:
                best, most = found, longest(reads)
    for rank, one in zip(count(), best or ()):
        FOLDER.mkdir(exist_ok=True)
        trace_path(name, rank).write_bytes(one)
    return f"{name}: {seen} of {tries} tries were quiet; {'written' if best else 'nothing better'}, {most / 1e6:.1f} ms"


def loading() -> str:
    """Medians of a loop's step, and of what of it was waiting for its batch, by workers."""
    rows: list[dict[str, Any]] = []
    for workers in WORKERS:
        seen = waits(workers, LOAD, COMPUTES)
        step, waited = (statistics.median(getattr(one, field) for one in seen) for field in ("step", "waited"))
        rows.append({"workers": workers, "step": round(step, 5), "waited": round(waited, 5)})
    record(
        LOADING,
        {"load": LOAD, "computes": COMPUTES, "rows": rows},
        COMMAND,
        "one process and its loader's workers, CPU, batches and steps sleep",
    )
    return f"{LOADING}: " + ", ".join(f"{row['workers']}: {row['step'] * 1e3:.1f} ms" for row in rows)


def cost() -> str:
    """Seconds of one small operator, alone and under the profiler: the least of several loops."""
    rows = {how: min(looped(options) for _ in range(7)) for how, options in HOWS.items()}
    record(COST, {how: round(seconds, 9) for how, seconds in rows.items()}, COMMAND, "one process, CPU, x.add_(1)")
    return f"{COST}: " + ", ".join(f"{how} {seconds * 1e6:.2f} µs" for how, seconds in rows.items())


def looped(options: dict[str, bool] | None) -> float:
    """Seconds an operator, of many in a row; None: without a profiler."""
    x = torch.ones(64)
    with contextlib.nullcontext() if options is None else profile(activities=[ProfilerActivity.CPU], **options):
        start = time.perf_counter()
        for _ in range(OPERATORS):
            x.add_(1)
        return (time.perf_counter() - start) / OPERATORS


OTHERS = {"loading": loading, "cost": cost}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(COMMAND, description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*JOBS, *OTHERS, []], metavar="NAME")
    parser.add_argument("--tries", type=int, default=TRIES)
    asked = parser.parse_args(argv)
    for name in asked.names or [*JOBS, *OTHERS]:
        print(OTHERS[name]() if name in OTHERS else recorded(name, asked.tries), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
