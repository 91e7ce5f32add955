"""Running collectives for real: one process per rank, started from a notebook or a script."""

from helpers.meanwhile import aloud
from helpers.ranks.hangs.verdict import Failure, RankError
from helpers.ranks.machine.devices import World, world
from helpers.ranks.play.play import execute
from helpers.ranks.play.stamps import Late
from helpers.ranks.play.traces import TRACES, record_traces, traced
from helpers.ranks.pool.pending import Pending
from helpers.ranks.pool.ranks import Ranks
from helpers.ranks.pool.status import RankStatus, Status
from helpers.ranks.pool.turn import Stopped
from helpers.ranks.sweeping.found import Swept
from helpers.ranks.sweeping.processes import one_or_many
from helpers.ranks.sweeping.sweep import sweep
from helpers.ranks.timing.timing import Row, Timing, bench, bench_each, fit_link, messages, paired
from helpers.ranks.wire.pack import PackError
from helpers.ranks.worker.inside import emit, here, progress
from helpers.ranks.worker.jobs import Job, job

from .recorded import Run, load, measured_or_recorded, record

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
    "Swept",
    "Timing",
    "World",
    "aloud",
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
    "one_or_many",
    "paired",
    "progress",
    "record",
    "record_traces",
    "sweep",
    "traced",
    "world",
]
