"""The checks, as data, in the order in which they run: what tells most comes first, so that a run that is cut short has told it.

What the seconds are made of was never measured on a machine with eight GPUs: starts of 6 to 9 s are what others report of NCCL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import context, faults, figures, hidden, memory, parallel, prediction, rates, results, schedules, sweeps
from .alone import alone
from .place import Place

IMPORT = 6.0  # seconds of a Python that imports torch from a disk that does not know it yet
ALONE = 4.0  # of a process forked from one that has, with CUDA's start and the end of the ranks before it


def start(nranks: int) -> float:
    """Seconds that ranks on GPUs take to start: contexts side by side, then NCCL's rings."""
    return 5.0 + nranks / 2


@dataclass(frozen=True)
class Check:
    """One check: fn returns its figures, or raises.

    deadline: seconds after which it is stopped. needs: GPUs. nccl: nothing else will do. cuda: neither will a CPU's memory.
    For the estimate: starts of one rank per GPU, pairs: starts of two ranks, work: seconds of its own.
    """

    name: str
    fn: Callable[[Place], dict]
    deadline: float = 60.0
    needs: int = 0
    nccl: bool = False
    cuda: bool = False
    starts: int = 0
    pairs: int = 0
    work: Callable[[Place], float] = lambda place: 1.0

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
        if place.backend != "nccl":
            return 1.0
        return self.starts * start(place.nranks) + self.pairs * start(2) + self.work(place)


def _seconds(seconds: float) -> Callable[[Place], float]:
    return lambda place: seconds


def _all_schedules(place: Place) -> float:
    """Ranks that share a GPU take turns on it, some 2 ms each, and talk through the host."""
    return 30.0 if place.shared else 10.0 + 2 * place.nranks


def _all_strategies(place: Place) -> float:
    """Every rank imports torch's compiler, side by side, and then a second for each strategy."""
    return 20.0 + 48.0 * (0.8 if place.shared else 0.4)


EXPANDABLE = alone(memory.expandable, **memory.EXPANDABLE)

CHECKS = [
    Check("ranks start", results.start, 120.0, starts=2, work=_seconds(IMPORT)),
    Check("what is here", results.here, work=_seconds(start(1))),
    Check("ten primitives", results.primitives, starts=1, work=_seconds(2)),
    Check("a rank is killed", faults.death, pairs=2, work=_seconds(3)),
    Check("a collective is skipped", faults.skipped, pairs=1, work=_seconds(8)),
    Check("bandwidth", figures.bandwidth, 120.0, needs=2, work=lambda place: 8 + place.nranks),
    Check("traces of real runs", schedules.traces, needs=2, work=_seconds(5)),
    Check("what a note costs", figures.notes_cost, needs=2, work=_seconds(3)),
    Check("memory, operator by operator", alone(memory.op_by_op), 90.0, cuda=True, work=_seconds(ALONE + 4)),
    Check("memory, predicted", alone(prediction.predictions), 90.0, cuda=True, work=_seconds(ALONE + 8)),
    Check("the allocator's model", alone(memory.segments), cuda=True, work=_seconds(ALONE + 4)),
    Check("roofline", alone(rates.roof), 90.0, work=_seconds(ALONE + 12)),
    Check("ladder", alone(rates.steps), work=_seconds(ALONE + 5)),
    Check("host and GPU", alone(rates.links), cuda=True, work=_seconds(ALONE + 4)),
    Check("GPU to GPU", alone(rates.between), needs=2, cuda=True, work=lambda place: ALONE + place.gpus**2 / 5),
    Check("memory, the article's stages", alone(memory.stages), 90.0, work=_seconds(ALONE + 4)),
    Check("its expandable segments", EXPANDABLE, cuda=True, work=_seconds(IMPORT + ALONE)),
    Check("optimizers' peaks", alone(memory.optimizers), work=_seconds(ALONE + 2)),
    Check("protocols, each forced", sweeps.protocols, 120.0, needs=2, nccl=True, starts=3, work=_seconds(8)),
    Check("one process or many", sweeps.processes, 90.0, needs=2, nccl=True, starts=1, work=_seconds(start(1) + 4)),
    Check("reduce_scatter and all_reduce", sweeps.phases, 90.0, needs=2, nccl=True, starts=2, work=_seconds(3)),
    Check("settings, ranks on one GPU", sweeps.one_gpu, 90.0, nccl=True, pairs=2, work=_seconds(6)),
    Check("every schedule equals torch", schedules.schedules, 120.0, starts=1, work=_all_schedules),
    Check("every reduction equals torch", schedules.reductions, work=_seconds(5)),
    Check("parallel: every strategy", parallel.strategies, 150.0, starts=2, work=_all_strategies),
    Check("parallel: batch norm in step", parallel.batch_norm, cuda=True),
    Check("parallel: pipelines wait", parallel.idle, needs=2, cuda=True, work=_seconds(6)),
    Check("parallel: overlap", hidden.buckets, needs=2, cuda=True, work=_seconds(3)),
    Check("parallel: context beside torch's", context.beside, needs=2, cuda=True, work=_seconds(5)),
    Check("several handles and streams", results.handles),
    Check("a group of some ranks", results.groups, work=_seconds(2)),
    Check("a collective in a CUDA graph", results.graphs, nccl=True),
    Check("two ranks on one GPU", results.shared, 90.0, nccl=True, pairs=2, work=_seconds(5)),
    Check("a rank raises", faults.exception, pairs=2, work=_seconds(2)),
    Check("all ranks raise", faults.exception_everywhere),
    Check("a rank returns early", faults.left_early, pairs=1, work=_seconds(3)),
    Check("skipped, and its result is read", faults.skipped_and_read, pairs=1, work=_seconds(8)),
    Check("a handle nobody waits for", faults.handle_unwaited, nccl=True, pairs=1, work=_seconds(8)),
    Check("different collectives", faults.mismatched, pairs=1, work=_seconds(8)),
    Check("different sizes", faults.mismatched_size, pairs=1, work=_seconds(8)),
    Check("interrupt while all are blocked", faults.interrupt, 90.0, pairs=2, work=_seconds(IMPORT + 4)),
    Check("the parent is killed", faults.orphans, 90.0, pairs=1, work=_seconds(IMPORT + 4)),
    Check("the parent used its device first", faults.used_before, 90.0, pairs=1, work=_seconds(IMPORT + 2)),
    Check("computing for long is no hang", results.busy, starts=1, work=_seconds(4)),
    Check("nothing is left", results.nothing_left),
]
