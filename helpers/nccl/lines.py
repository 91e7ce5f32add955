"""The lines of a network by protocol, from the public tables: what `helpers.facts` states of NVLink, worked out anew.

LL has its three numbers from the rows for which NCCL takes a ring with LL, whatever the collective and the number of GPUs:
t = call + steps * (step + nbytes / nranks / bandwidth). LL128 and Simple have longer steps by NCCL's own constants, and Simple a
later start. Chapter: latency-bandwidth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from helpers.arrays import numpy_for
from helpers.nccl.predict import predict
from helpers.nccl.runs import measured_platform, nvlink_runs
from helpers.nccl.tuning import ring_steps


class Line(NamedTuple):
    """Seconds per call, seconds per step, bytes per second one way."""

    call: float
    step: float
    bandwidth: float


def ll_line(gpus: Sequence[str]) -> Line:
    """The line of least squared relative errors through the rows of these GPUs that go by Ring and LL."""
    np, rows = numpy_for("ll_line"), []
    for run in nvlink_runs():
        steps, machine = ring_steps(run.collective, run.nranks), measured_platform(run.gpu)
        for nbytes, seconds in run.by_size() if run.gpu in gpus else []:
            choice = predict(run.collective, nbytes, machine, run.nranks, run.version)
            if (choice.algorithm, choice.protocol) == ("Ring", "LL"):
                rows.append([1 / seconds, steps / seconds, steps * nbytes / run.nranks / seconds])
    (call, step, beta), *_ = np.linalg.lstsq(np.array(rows), np.ones(len(rows)), rcond=None)
    return Line(float(call), float(step), float(1 / beta))
