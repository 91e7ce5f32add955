"""Running collectives for real: one process per rank, started from a notebook or a script."""

from .devices import World, world
from .inside import emit, here, progress
from .jobs import Job, job
from .pack import PackError
from .pending import Pending
from .play import execute
from .pool import Ranks
from .recorded import Run, load, measured_or_recorded, record
from .status import RankStatus, Status
from .timing import Row, Timing, bench, bench_each, fit_link, messages, sweep
from .turn import Stopped
from .verdict import Failure, RankError

__all__ = [
    "Failure",
    "Job",
    "PackError",
    "Pending",
    "RankError",
    "RankStatus",
    "Ranks",
    "Row",
    "Run",
    "Status",
    "Stopped",
    "Timing",
    "World",
    "bench",
    "bench_each",
    "emit",
    "execute",
    "fit_link",
    "here",
    "job",
    "load",
    "measured_or_recorded",
    "messages",
    "progress",
    "record",
    "sweep",
    "world",
]
