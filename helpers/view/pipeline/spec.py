"""What the widget `pipeline` may be asked: a schedule of `helpers.pipeline` or a reader's own, sizes and times. Chapter: pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property

from helpers.collectives import ScheduleError
from helpers.collectives.transfers import NAME
from helpers.pipeline import SCHEDULES, PipelineSchedule, Timeline, Times, timeline
from helpers.pipeline.orders import proved
from helpers.pipeline.schedule import KINDS, SHARDS
from helpers.view.shared.mount import Spec

PARTS = ("forward", "input", "weight", "hop")
QUARTER = Fraction(1, 4)  # the grain of every time
LONGEST = {"forward": 8, "input": 8, "weight": 8, "hop": 4}
MOST = {"nranks": 8, "nmicrobatches": 32, "nvirtual": 4}  # what the widget draws


def known() -> dict:
    """What the page must know before it draws: of every schedule its title and what it takes, of every kind of action what is true of it.

    name: what a schedule may be called, for a regular expression.
    """
    rows = {kind: row._asdict() for kind, row in KINDS.items()}
    return {
        "schedules": {
            name: {"title": one.title, "interleaves": one.interleaves, "ahead": one.ahead}
            for name, one in SCHEDULES.items()
        },
        "kinds": {kind: row for kind, row in rows.items() if row.pop("sends") is not None and row["takes"]},
        "shards": {kind: KINDS[kind].deed for kind in SHARDS},
        "name": NAME.pattern,
    }


@cache
def texts(name: str) -> dict[str, str]:
    """A schedule as text, by "ranks.stages a rank", with the most microbatches. With fewer it is the same without the others (tests)."""
    one, ranks, chunks = SCHEDULES[name], range(1, MOST["nranks"] + 1), range(1, MOST["nvirtual"] + 1)
    sizes = [(p, v) for p in ranks for v in (chunks if one.interleaves else (1,))]
    most = MOST["nmicrobatches"]
    return {f"{p}.{v}": str(one.bare(p, most - most % p if one.interleaves else most, v)) for p, v in sizes}


@dataclass(frozen=True)
class PipelineSpec(Spec):
    """The whole state of the widget.

    schedule: a name of SCHEDULES, or the name of a reader's own, whose computations are `text`. nvirtual: stages per rank of what
    interleaves, 1 where nothing does. forward, input, weight, hop: as in `helpers.pipeline.Times`. versus: a second schedule under
    the first, or "". fsdp: every stage's parameters are sharded as well. step: how many events lie before the cursor (`stops`).
    """

    schedule: str
    nranks: int
    nmicrobatches: int
    nvirtual: int
    forward: float
    input: float
    weight: float
    hop: float
    versus: str
    fsdp: bool
    step: int
    text: str

    @property
    def times(self) -> Times:
        return Times(*(Fraction(getattr(self, part)) for part in PARTS))

    @cached_property
    def lines(self) -> list[Timeline]:
        """What is on show, timed: one schedule, or two under each other, without their messages."""
        first = PipelineSchedule.parse(self.text) if self.text else self.build(self.schedule)
        return [timeline(s, self.times) for s in [first, *([self.build(self.versus)] if self.versus else [])]]

    def build(self, name: str) -> PipelineSchedule:
        """A schedule of the table at this size."""
        return SCHEDULES[name].bare(
            self.nranks, self.nmicrobatches, self.nvirtual if SCHEDULES[name].interleaves else 1
        )


def stops(spec: PipelineSpec) -> list[Fraction | float]:
    """Where the cursor stops: at the start, and whenever a computation begins or ends."""
    return sorted({Fraction(0), *(time for line in spec.lines for t in line.timed for time in (t.start, t.end))})


def pipeline_spec(
    schedule: str | PipelineSchedule = "1f1b",
    nranks: int | None = None,
    nmicrobatches: int | None = None,
    nvirtual: int | None = None,
    times: Times | Sequence[float] | str = (1, 1, 1, 0),
    versus: str = "",
    fsdp: bool = False,
    step: int = 0,
) -> PipelineSpec:
    """The state that the reader begins with. ValueError, or ScheduleError, for what cannot be drawn, naming what can.

    nranks: 4, nmicrobatches: twice as many, nvirtual: 2 where something interleaves, unless told. times: forward, input, weight and
    hop, also as text, "1 1 1 0". fsdp: True or False. step: where the cursor stands, among the `stops`.
    """
    if versus and versus not in SCHEDULES:
        raise ValueError(f"versus must be one of {', '.join(SCHEDULES)}, got {versus!r}")
    if not isinstance(fsdp, bool):
        raise ValueError(f"fsdp must be True or False, got {fsdp!r}")
    if isinstance(schedule, PipelineSchedule):
        if nranks is not None or nmicrobatches is not None:
            raise ValueError("a PipelineSchedule brings its own nranks and nmicrobatches: leave them out")
        named, text = schedule.name, proved(schedule, MOST)
        size = schedule.nranks, schedule.nmicrobatches
    elif schedule in SCHEDULES:
        named, text = schedule, ""
        ranks = _whole("nranks", 4 if nranks is None else nranks)
        size = ranks, _whole("nmicrobatches", 2 * ranks if nmicrobatches is None else nmicrobatches)
    else:
        raise ValueError(f"schedule must be one of {', '.join(SCHEDULES)}, or a PipelineSchedule, got {schedule!r}")
    if not text and isinstance(schedule, PipelineSchedule) and nvirtual is None:
        nvirtual = schedule.nvirtual if SCHEDULES[named].interleaves else None
    asked = PipelineSpec(named, *size, _virtual(named, text, versus, nvirtual), *_times(times), versus, fsdp, 0, text)
    last = len(stops(asked)) - 1
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step <= last:
        raise ValueError(f"step must be a whole number from 0 to {last}, got {step!r}")
    return replace(asked, step=step)


def _whole(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST[name]:
        raise ValueError(f"{name} must be a whole number from 1 to {MOST[name]}, got {value!r}")
    return value


def _virtual(named: str, text: str, versus: str, nvirtual: int | None) -> int:
    """How many stages a rank has of the schedule that interleaves."""
    shown = [*([] if text else [named]), *([versus] if versus else [])]
    if any(SCHEDULES[name].interleaves for name in shown):
        return _whole("nvirtual", 2 if nvirtual is None else nvirtual)
    if nvirtual not in (None, 1):
        raise ScheduleError(f'{named} has one stage per rank, got nvirtual={nvirtual}: take "interleaved"')
    return 1


def _times(given: Times | Sequence[float] | str) -> list[float]:
    """The four times, whole ones as int."""
    told = given.split() if isinstance(given, str) else list(given)
    if len(told) != len(PARTS):
        raise ValueError(f'times are forward, input, weight and hop, as in "1 1 1 0", got {given!r}')
    return [_time(name, value) for name, value in zip(PARTS, told, strict=True)]


def _time(name: str, value: object) -> float:
    least = 0 if name == "hop" else QUARTER
    try:
        found = Fraction(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = Fraction(-1)
    if isinstance(value, bool) or found % QUARTER or not least <= found <= LONGEST[name]:
        raise ValueError(
            f"{name} must be a multiple of {float(QUARTER)} from {float(least):g} to {LONGEST[name]}, got {value!r}"
        )
    return int(found) if found.denominator == 1 else float(found)
