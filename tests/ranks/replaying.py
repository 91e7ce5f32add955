"""Ranks that are none: they write a real log of NCCL's where the environment says, and answer rows. For tests of a sweep.

The lines are those of tests/nccl/output/logs; only the bytes of a call are put in, since the logs are of calls of 4 bytes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from helpers.ranks import RankError
from helpers.ranks.timing.columns import Line, Side
from helpers.ranks.timing.timing import Timing

LOGS = Path(__file__).parents[1] / "nccl" / "output" / "logs"
CHOICES = (LOGS / "nccl-2.27.5-choices.txt").read_text()
RINGS = (LOGS / "nccl-2.29.3-rings.txt").read_text()
REFUSED = (
    "node1:1:1 [0] enqueue.cc:1828 NCCL WARN Error : no algorithm/protocol available for function AllReduce with datatype"
    " ncclFloat32. NCCL_ALGO was set to allreduce:NVLS.\n"
)  # after the format in v2.27.5-1
_CHOICE = re.compile(r"^.*AllReduce: 4 Bytes -> Algo (\w+) proto (\w+) .*\n", re.M)


def choices(nbytes: int, algorithm: str) -> str:
    """The log's own line of a choice by that algorithm, of a call of so many bytes."""
    (line,) = (found[0] for found in _CHOICE.finditer(CHOICES) if found[1] == algorithm)
    return line.replace(" 4 Bytes ", f" {nbytes} Bytes ")


class Replayed:
    """In the place of Ranks. started: every environment that was asked for; took: what the "NCCL" takes, whatever is asked."""

    started: ClassVar[list[dict[str, str]]] = []
    took = "TREE"
    refuses = False
    breaks = False
    wrong = 0

    def __init__(self, n, *, backend, env, timeout):
        self.n, self.env = n, env
        assert backend == "nccl" and timeout > 0
        type(self).started.append(env)
        assert env["NCCL_DEBUG"] == "INFO" and {"TUNING", "ENV"} <= set(env["NCCL_DEBUG_SUBSYS"].split(","))
        self.write(CHOICES.replace("4 Bytes", "8 Bytes"))
        if self.refuses:
            self.write(REFUSED)
            raise RankError("rank 0 raised DistBackendError: NCCL error, invalid usage\nmore", [], [])

    def write(self, text: str) -> None:
        for rank in range(2):  # each process has a file of its own, and rank 0 is not the first of them
            path = Path(self.env["NCCL_DEBUG_FILE"].replace("%p", str(2 - rank)))
            own = text if rank == 0 else re.sub(r"^.*(?:Bytes -> Algo|rank 0 ).*\n", "", text, flags=re.M)
            with path.open("a") as file:
                file.write(own)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def run(self, fn, collective, nbytes, warmup, iters, timed):
        if self.breaks:
            raise RankError("rank 1 is gone\nmore", [], [])
        self.write(choices(nbytes, self.took))
        self.write(choices(nbytes, self.took))
        timing = Timing(nbytes / 2**30, nbytes / 2**29, iters or 20) if timed else None
        return [Line(collective, nbytes, self.n, None, None, Side(timing, self.wrong))] * self.n
