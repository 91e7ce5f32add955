"""The checks, as data, in the order in which they run: what tells most comes first, so that a run that is cut short has told it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import (
    context,
    durations,
    faults,
    figures,
    hidden,
    memory,
    parallel,
    prediction,
    rates,
    results,
    schedules,
    sweeps,
)
from .alone import alone
from .place import Place


@dataclass(frozen=True)
class Check:
    """One check: fn returns its figures, or raises.

    deadline: seconds after which it is stopped. needs: GPUs. nccl: nothing else will do. cuda: neither will a CPU's memory.
    """

    name: str
    fn: Callable[[Place], dict]
    deadline: float = 60.0
    needs: int = 0
    nccl: bool = False
    cuda: bool = False

    def skipped(self, place: Place) -> str:
        """Why it does not run here, or ""."""
        if self.nccl and place.backend != "nccl":
            return "needs NCCL"
        if self.cuda and place.backend != "nccl":
            return "needs a GPU"
        if place.backend == "nccl" and place.gpus < self.needs:
            return f"needs {self.needs} GPUs"
        return ""

    def takes(self, place: Place) -> float:
        """The estimate: seconds that it should take. On a CPU, where checks are only tried, a second for each."""
        return durations.seconds(self.name, place.gpus) if place.backend == "nccl" else 1.0


EXPANDABLE = alone(memory.expandable, **memory.EXPANDABLE)

CHECKS = [
    Check("ranks start", results.start, 120.0),
    Check("what is here", results.here),
    Check("ten primitives", results.primitives),
    Check("a rank is killed", faults.death),
    Check("a collective is skipped", faults.skipped),
    Check("bandwidth", figures.bandwidth, 120.0, needs=2),
    Check("traces of real runs", schedules.traces, needs=2),
    Check("what a note costs", figures.notes_cost, needs=2),
    Check("memory, operator by operator", alone(memory.op_by_op), 90.0, cuda=True),
    Check("memory, predicted", alone(prediction.predictions), 90.0, cuda=True),
    Check("the allocator's model", alone(memory.segments), cuda=True),
    Check("roofline", alone(rates.roof), 90.0),
    Check("ladder", alone(rates.steps)),
    Check("host and GPU", alone(rates.links), cuda=True),
    Check("GPU to GPU", alone(rates.between), needs=2, cuda=True),
    Check("memory, the article's stages", alone(memory.stages), 90.0),
    Check("its expandable segments", EXPANDABLE, cuda=True),
    Check("optimizers' peaks", alone(memory.optimizers)),
    Check("protocols, each forced", sweeps.protocols, 120.0, needs=2, nccl=True),
    Check("one process or many", sweeps.processes, 90.0, needs=2, nccl=True),
    Check("reduce_scatter and all_reduce", sweeps.phases, 90.0, needs=2, nccl=True),
    Check("settings, ranks on one GPU", sweeps.one_gpu, 90.0, nccl=True),
    Check("every schedule equals torch", schedules.schedules, 120.0),
    Check("every reduction equals torch", schedules.reductions),
    Check("parallel: every strategy", parallel.strategies, 150.0),
    Check("parallel: batch norm in step", parallel.batch_norm, cuda=True),
    Check("parallel: pipelines wait", parallel.idle, needs=2, cuda=True),
    Check("parallel: overlap", hidden.buckets, needs=2, cuda=True),
    Check("parallel: context beside torch's", context.beside, needs=2, cuda=True),
    Check("several handles and streams", results.handles),
    Check("a group of some ranks", results.groups),
    Check("a collective in a CUDA graph", results.graphs, nccl=True),
    Check("two ranks on one GPU", results.shared, 90.0, nccl=True),
    Check("a rank raises", faults.exception),
    Check("all ranks raise", faults.exception_everywhere),
    Check("a rank returns early", faults.left_early),
    Check("skipped, and its result is read", faults.skipped_and_read),
    Check("a handle nobody waits for", faults.handle_unwaited, nccl=True),
    Check("different collectives", faults.mismatched),
    Check("different sizes", faults.mismatched_size),
    Check("interrupt while all are blocked", faults.interrupt, 90.0),
    Check("the parent is killed", faults.orphans, 90.0),
    Check("the parent used its device first", faults.used_before, 90.0),
    Check("computing for long is no hang", results.busy),
    Check("nothing is left", results.nothing_left),
]
