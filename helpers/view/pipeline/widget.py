"""The widget `pipeline`: a pipeline's schedule over time, its messages, its bubble, and what every rank holds.

The orders are those of `helpers.pipeline`; times, bubble and memory the page computes in JavaScript, tested equal. Chapter: pipeline.
"""

from __future__ import annotations

import traitlets

from helpers.pipeline import PipelineSchedule, Timeline, timeline
from helpers.pipeline.messages import with_messages
from helpers.view.pipeline.run import Run
from helpers.view.pipeline.spec import PARTS, PipelineSpec, pipeline_spec
from helpers.view.pipeline.words import amount, pipeline_sentence, time_text
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.percents import percent
from helpers.view.shared.widget import SpecWidget

HEAD = ("Schedule", "Rank", "Computes", "Idle", "by the closed form", "Idle, of all time", "Holds at most")


def rows(run: Run) -> list[tuple[str, ...]]:
    """One schedule's ranks: how long each computes and not, and the most microbatches it holds."""
    idle = run.makespan - run.useful  # alike on all ranks: each computes its share of every microbatch
    return [
        (
            run.title,
            f"{rank}",
            time_text(run.useful),
            time_text(idle),
            "–" if run.wait is None else time_text(run.wait),
            percent(idle, run.makespan),
            amount(run.peaks[rank]),
        )
        for rank in range(run.schedule.nranks)
    ]


def pipeline_html(spec: PipelineSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence and the ranks as a table."""
    table = [row for run in spec.runs for row in rows(run)]
    return mount("pipeline", spec.as_json(), fallback(pipeline_sentence(spec), HEAD, table, "Every rank's step"))


class PipelineWidget(SpecWidget):
    """A pipeline's schedule over time. `schedule` and `timeline` are the first one's on show now."""

    name = "pipeline"
    about = "a pipeline"
    asks = ("helpers.pipeline.own:read",)
    said, mounted = map(staticmethod, (pipeline_sentence, pipeline_html))
    pipelines = traitlets.Dict().tag(sync=True)

    def read(self, data: dict) -> PipelineSpec:
        told = PipelineSpec.read(data)
        own = bool(told.text)
        which = PipelineSchedule.parse(told.text) if own else told.schedule
        sizes = (None, None) if own else (told.nranks, told.nmicrobatches)
        times = [getattr(told, part) for part in PARTS]
        return pipeline_spec(which, *sizes, told.nvirtual, times, told.versus, told.step)

    @property
    def schedule(self) -> PipelineSchedule:
        """With its messages, as ranks run it."""
        now = PipelineSpec.read(self.spec)
        return with_messages(now.schedules[0]) if now.text else now.build(now.schedule, whole=True)

    @property
    def timeline(self) -> Timeline:
        return timeline(self.schedule, PipelineSpec.read(self.spec).times)


def explore_pipeline(schedule: str | PipelineSchedule = "1f1b", **asked: object) -> PipelineWidget:
    """A schedule to explore: `explore_pipeline("1f1b", nranks=4, nmicrobatches=8, times=(1, 1, 1, 0), versus="gpipe")`.

    Also a PipelineSchedule of your own, with or without its messages. All options, units and refusals: `pipeline_spec`.
    """
    return PipelineWidget(pipeline_spec(schedule, **asked))  # type: ignore[arg-type]
