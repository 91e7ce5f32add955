"""Which stage of a pipeline computes what, and when: schedules as data, proved, timed, and held against closed forms.

    s = SCHEDULES["1f1b"](nranks=4, nmicrobatches=8)
    dry_run(s); timeline(s).bubble; waiting(s)

Ranks run the same value (`helpers.parallel.pipeline`), and it is what is drawn. Chapter: pipeline.
"""

from helpers.collectives import ScheduleError

from .closed_form import bubble_overhead, bubble_share, idle, most_waiting
from .dry_run import dry_run, naive
from .orders import SCHEDULES, with_shards
from .schedule import PipelineSchedule, split
from .timeline import UNIT, Held, Timed, Timeline, Times, peak, timeline, waiting

__all__ = [
    "SCHEDULES",
    "UNIT",
    "Held",
    "PipelineSchedule",
    "ScheduleError",
    "Timed",
    "Timeline",
    "Times",
    "bubble_overhead",
    "bubble_share",
    "dry_run",
    "idle",
    "most_waiting",
    "naive",
    "peak",
    "split",
    "timeline",
    "waiting",
    "with_shards",
]
