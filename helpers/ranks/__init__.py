"""Running collectives for real: one process per rank, started from a notebook or a script."""

from .devices import World, world
from .inside import emit, here
from .pack import PackError
from .play import execute
from .pool import Ranks
from .recorded import Run, load, measured_or_recorded, record
from .timing import Row, Timing, bench, bench_each, fit_link, messages, sweep
from .verdict import Failure, RankError

__all__ = [
    "Failure",
    "PackError",
    "RankError",
    "Ranks",
    "Row",
    "Run",
    "Timing",
    "World",
    "bench",
    "bench_each",
    "emit",
    "execute",
    "fit_link",
    "here",
    "load",
    "measured_or_recorded",
    "messages",
    "record",
    "sweep",
    "world",
]
