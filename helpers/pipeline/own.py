"""A schedule that a reader writes: proved, and told as the widget `pipeline` draws it. Chapter: pipeline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from helpers.collectives import ScheduleError

from .dry_run import dry_run
from .messages import with_messages
from .orders import SCHEDULES
from .schedule import PipelineSchedule


def read(text: str, nranks: int, nmicrobatches: int, nvirtual: int) -> str:
    """What the page asks of a text: JSON with `change`, what it changes in the widget's state, or with `error`, why it is not drawn.

    The most of ranks, microbatches and stages per rank are the widget's. Messages in the text are placed anew.
    """
    try:
        s = PipelineSchedule.parse(text)
        s = replace(s, programs=s.computed)
        own = proved(s, {"nranks": nranks, "nmicrobatches": nmicrobatches, "nvirtual": nvirtual})
    except ValueError as error:
        return json.dumps({"error": str(error)})
    change = {"schedule": s.name, "nranks": s.nranks, "nmicrobatches": s.nmicrobatches, "text": own}
    return json.dumps({"change": change if own else {**change, "nvirtual": s.nvirtual}})


def proved(s: PipelineSchedule, most: Mapping[str, int]) -> str:
    """The computations of a reader's schedule, once it is proved; "" for one that is the table's own.

    most: of what the widget draws, by name. ValueError beyond that, ScheduleError for what is no schedule.
    """
    for name, limit in most.items():
        if getattr(s, name) > limit:
            raise ValueError(f"the widget draws {name} up to {limit}, got {getattr(s, name)}")
    bare = replace(s, programs=s.computed)
    dry_run(with_messages(bare) if s.programs == s.computed else s)
    return "" if _is_the_tables(bare) else str(bare)


def _is_the_tables(s: PipelineSchedule) -> bool:
    try:
        return s.name in SCHEDULES and SCHEDULES[s.name](s.nranks, s.nmicrobatches, s.nvirtual).computed == s.programs
    except ScheduleError:
        return False  # the table has none of this size
