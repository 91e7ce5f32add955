"""The widget `pipeline`: a pipeline's schedule over time, its messages, its bubble, and what every rank holds.

The orders are those of `helpers.pipeline`; times, bubble and memory the page computes in JavaScript, tested equal. Chapter: pipeline.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import traitlets

from helpers.pipeline import SCHEDULES, PipelineSchedule, Timeline, idle, peak, timeline, with_shards
from helpers.pipeline.dry_run import with_messages
from helpers.pipeline.timeline import Time
from helpers.view.pipeline.spec import PARTS, PipelineSpec, pipeline_spec, texts
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.widget import SpecWidget
from helpers.view.shared.words import counted, listed, percent, told

HEAD = ("Schedule", "Rank", "Computes", "Idle", "by the closed form", "Idle, of all time", "Holds at most")


def title(s: PipelineSchedule, own: bool) -> str:
    """As it begins a sentence."""
    words = s.name if own else SCHEDULES[s.name].title
    return words if own else words[0].upper() + words[1:]


def work(line: Timeline, spec: PipelineSpec) -> Time:
    """What a rank computes in a step; all compute equally long."""
    return line.schedule.nmicrobatches * spec.times.work


def bubble(line: Timeline, useful: Time) -> str:
    """ "27.3 % of all time is bubble, 37.5 % of the useful time" """
    wasted = line.makespan - useful
    return f"{percent(wasted, line.makespan)} of all time is bubble, {percent(wasted, useful)} of the useful time"


def fullest(s: PipelineSchedule) -> str:
    """ "rank 0 holds the activations of 4 microbatches at most" """
    peaks = peak(s)
    who = [f"{rank}" for rank, one in enumerate(peaks) if one == max(peaks)]
    every, most = len(who) == s.nranks > 1, Fraction(max(peaks), s.nvirtual)
    name = "every rank" if every else f"rank{'s' * (len(who) > 1)} {listed(who)}"
    verb = "hold" if len(who) > 1 and not every else "holds"
    return f"{name} {verb} the activations of {told(float(most))} microbatch{'es' * (most != 1)} at most"


def shards(s: PipelineSchedule) -> str:
    """What FSDP adds to a step: how often a rank gathers, and how many of its stages are whole at once."""
    gathers, most = [], 0
    for program in with_shards(s, by_itself=True).programs:
        whole = Counter[str]()
        for action in program:
            whole[action.kind] += 1
            most = max(most, whole["UNSHARD"] - whole["RESHARD"])
        gathers.append(whole["UNSHARD"])
    ends = " to ".join(f"{n}" for n in sorted({min(gathers), max(gathers)}))
    often = f"; FSDP gathers a rank's stage{'s' * (s.nvirtual > 1)} {ends} time{'s' * (max(gathers) > 1)}"
    return f"{often}, up to {most} of {s.nvirtual} whole at once" if s.nvirtual > 1 else often


def pipeline_sentence(spec: PipelineSpec) -> str:
    """How long a step lasts, what of it is bubble, and who holds the most; of two schedules, both."""
    said = []
    for i, line in enumerate(spec.lines):
        s, useful = line.schedule, work(line, spec)
        size = f"on {counted(s.nranks, 'rank')} with {counted(s.nmicrobatches, 'microbatch', 'microbatches')}"
        name, lasts = title(s, bool(spec.text) and not i), told(float(line.makespan))
        whole = f"lasts {lasts}" if i else f"{size}: a step lasts {lasts}, {told(float(useful))} of it work"
        more = f"{bubble(line, useful)}; {fullest(s)}{shards(s) if spec.fsdp else ''}."
        said.append(f"{name} {whole}: {more}" if i else f"{name} {whole}. {more}")
    return " ".join(said)


def rows(line: Timeline, spec: PipelineSpec, own: bool) -> list[tuple[str, ...]]:
    """One schedule's ranks: how long each computes and not, and the most microbatches it holds."""
    s, useful = line.schedule, work(line, spec)
    wait, peaks = line.makespan - useful, peak(s)
    cells = title(s, own), told(float(useful)), told(float(wait)), formula(s, spec, own), percent(wait, line.makespan)
    return [(cells[0], f"{r}", *cells[1:], told(peaks[r] / s.nvirtual)) for r in range(s.nranks)]


def formula(s: PipelineSchedule, spec: PipelineSpec, own: bool) -> str:
    """A rank's idle time by the closed form, where there is one."""
    try:
        return "–" if own else told(float(idle(s, spec.times)))
    except ValueError:
        return "–"


def pipeline_html(spec: PipelineSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence and the ranks as a table."""
    table = [row for i, line in enumerate(spec.lines) for row in rows(line, spec, bool(spec.text) and not i)]
    return mount("pipeline", spec.as_json(), fallback(pipeline_sentence(spec), HEAD, table, "Every rank's step"))


class PipelineWidget(SpecWidget):
    """A pipeline's schedule over time. `schedule` and `timeline` are the first one's on show now."""

    name = "pipeline"
    about = "a pipeline"
    asks = ("helpers.pipeline.orders:read",)
    said, mounted = map(staticmethod, (pipeline_sentence, pipeline_html))
    pipelines = traitlets.Dict().tag(sync=True)
    orders = traitlets.Dict().tag(sync=True)  # on a page a file for each

    @traitlets.default("orders")
    def _orders(self) -> dict:
        return {name: texts(name) for name in SCHEDULES}

    def read(self, data: dict) -> PipelineSpec:
        told = PipelineSpec.read(data)
        own = bool(told.text)
        which = PipelineSchedule.parse(told.text) if own else told.schedule
        sizes = (None, None) if own else (told.nranks, told.nmicrobatches)
        times = [getattr(told, part) for part in PARTS]
        return pipeline_spec(which, *sizes, told.nvirtual, times, told.versus, told.fsdp, told.step)

    @property
    def schedule(self) -> PipelineSchedule:
        """With its messages, as ranks run it, and where stages are sharded with what torch does for them."""
        now = PipelineSpec.read(self.spec)
        made = with_messages(now.lines[0].schedule)
        return with_shards(made) if now.fsdp else made

    @property
    def timeline(self) -> Timeline:
        return timeline(self.schedule, PipelineSpec.read(self.spec).times)


def explore_pipeline(schedule: str | PipelineSchedule = "1f1b", **asked: object) -> PipelineWidget:
    """A schedule to explore: `explore_pipeline("1f1b", nranks=4, nmicrobatches=8, times=(1, 1, 1, 0), versus="gpipe")`.

    Also a PipelineSchedule of your own, with or without its messages. All options, units and refusals: `pipeline_spec`.
    """
    return PipelineWidget(pipeline_spec(schedule, **asked))  # type: ignore[arg-type]
