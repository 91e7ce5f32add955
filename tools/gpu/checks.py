"""The checks, as data: in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import faults, figures, memory, prediction, rates, results, schedules
from .alone import alone
from .place import Place


@dataclass(frozen=True)
class Check:
    """One check: fn returns its figures, or raises.

    deadline: seconds after which it is stopped. needs: GPUs. nccl: nothing else will do. cuda: neither will a CPU's memory.
    """

    name: str
    fn: Callable[[Place], dict]
    deadline: float = 40.0
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


CHECKS = [
    Check("what is here", results.here, 60.0),
    Check("ranks start", results.start, 120.0),
    Check("ten primitives", results.primitives, 60.0),
    Check("every schedule equals torch", schedules.schedules, 90.0),
    Check("every reduction equals torch", schedules.reductions, 60.0),
    Check("a rank is killed", faults.death),
    Check("a rank raises", faults.exception),
    Check("all ranks raise", faults.exception_everywhere),
    Check("a rank returns early", faults.left_early),
    Check("a collective is skipped", faults.skipped),
    Check("skipped, and its result is read", faults.skipped_and_read),
    Check("a handle nobody waits for", faults.handle_unwaited, nccl=True),
    Check("different collectives", faults.mismatched),
    Check("different sizes", faults.mismatched_size),
    Check("interrupt while all are blocked", faults.interrupt, 60.0),
    Check("the parent is killed", faults.orphans, 60.0),
    Check("the parent used its device first", faults.used_before, 60.0),
    Check("computing for long is no hang", results.busy),
    Check("several handles and streams", results.handles),
    Check("a collective in a CUDA graph", results.graphs, nccl=True),
    Check("two ranks on one GPU", results.shared, 90.0, nccl=True),
    Check("what a note costs", figures.notes_cost, needs=2),
    Check("bandwidth", figures.bandwidth, 120.0, needs=2),
    Check("traces of real runs", schedules.traces, 60.0, needs=2),
    Check("memory, operator by operator", alone(memory.op_by_op), 90.0, cuda=True),
    Check("memory, the article's stages", alone(memory.stages), 90.0),
    Check("memory, predicted", alone(prediction.predictions), 90.0, cuda=True),
    Check("the allocator's model", alone(memory.segments), 60.0, cuda=True),
    Check("its expandable segments", alone(memory.expandable, **memory.EXPANDABLE), 60.0, cuda=True),
    Check("optimizers' peaks", alone(memory.optimizers), 60.0),
    Check("ladder", alone(rates.steps), 60.0),
    Check("roofline", alone(rates.roof), 90.0),
    Check("host and GPU", alone(rates.links), 60.0, cuda=True),
    Check("GPU to GPU", alone(rates.between), 60.0, needs=2, cuda=True),
    Check("nothing is left", results.nothing_left),
]
