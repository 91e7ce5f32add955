"""Running collectives for real: one process per rank, started from a notebook or a script."""

from .devices import World, world
from .inside import emit, here, progress
from .jobs import Job, job
from .pack import PackError
from .pending import Pending
from .play import execute
from .pool import Ranks
from .recorded import Run, load, measured_or_recorded, record
from .stamps import Late
from .status import RankStatus, Status
from .timing import Row, Timing, bench, bench_each, fit_link, messages, sweep
from .traces import TRACES, record_traces, traced
from .turn import Stopped
from .verdict import Failure, RankError

__all__ = [
    "TRACES",
    "Failure",
    "Job",
    "Late",
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
    "record_traces",
    "sweep",
    "traced",
    "world",
]
