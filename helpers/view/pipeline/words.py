"""What the widget `pipeline` says: of a whole step, and of what happens at the cursor. `words.mjs` says the same, tested equal."""

from __future__ import annotations

from fractions import Fraction

from helpers.pipeline.action import KINDS
from helpers.view.pipeline.run import GRAINS, Run
from helpers.view.pipeline.spec import PipelineSpec, stops
from helpers.view.shared.columns import told
from helpers.view.shared.percents import percent
from helpers.view.shared.words import counted, listed


def amount(value: Fraction) -> str:
    """ "33", "10.7"."""
    return told(float(value))


def time_text(at: int) -> str:
    """48ths, in units."""
    return amount(Fraction(at, GRAINS))


def bubble(run: Run) -> str:
    """ "27.3 % of all time is bubble, 37.5 % of the useful time" """
    wasted = run.idle_until(run.makespan)
    whole, useful = percent(wasted, run.all_time), percent(wasted, run.schedule.nranks * run.useful)
    return f"{whole} of all time is bubble, {useful} of the useful time"


def fullest(run: Run) -> str:
    """ "rank 0 holds the most, the activations of 4 microbatches" """
    most = max(run.peaks)
    who = [f"{r}" for r, peak in enumerate(run.peaks) if peak == most]
    every = len(who) == run.schedule.nranks > 1
    name = "every rank" if every else f"rank{'s' * (len(who) > 1)} {listed(who)}"
    verb = "hold" if len(who) > 1 and not every else "holds"
    much = f"{amount(most)} microbatch{'es' * (most != 1)}"
    return f"{name} {verb} the activations of {much} at most"


def verdict(spec: PipelineSpec) -> str:
    """How long a step lasts, what of it is bubble, and who holds the most; of two schedules, both."""
    first, *others = spec.runs
    s = first.schedule
    size = f"on {counted(s.nranks, 'rank')} with {counted(s.nmicrobatches, 'microbatch', 'microbatches')}"
    lasts = f"a step lasts {time_text(first.makespan)}, {time_text(first.useful)} of it work"
    said = f"{first.title} {size}: {lasts}. {bubble(first)}; {fullest(first)}."
    more = (f" {run.title} lasts {time_text(run.makespan)}: {bubble(run)}; {fullest(run)}." for run in others)
    return said + "".join(more)


def deeds(run: Run, at: int) -> str:
    """Who computes what at a time, and who waits."""
    now = {t.rank: t.action.kind for t in run.blocks if t.start <= at < t.end}
    idlers = [r for r in range(run.schedule.nranks) if r not in now]
    parts = []
    for kind, row in KINDS.items():
        if who := [rank for rank, own in sorted(now.items()) if own == kind]:
            parts.append(f"{row.deed} on {ranks_text(who)}")
    if idlers:
        parts.append("all wait" if len(idlers) == run.schedule.nranks > 1 else f"{ranks_text(idlers)} idle")
    return ", ".join(parts)


def ranks_text(who: list[int]) -> str:
    """ "rank 2", "ranks 0 and 3"."""
    return f"rank{'s' * (len(who) > 1)} {listed([f'{r}' for r in who])}"


def moment(run: Run, at: int) -> str:
    """What one schedule is doing at a time."""
    if at >= run.makespan:
        return "the step is over"
    under_way = sum(sent <= at <= there for sent, there, _ in run.messages())
    held = ", ".join(amount(run.holds(r, at)) for r in range(run.schedule.nranks))
    on = f", {counted(under_way, 'message')} under way" if under_way else ""
    return f"{deeds(run, at)}{on}; held per rank: {held}; idle so far {percent(run.idle_until(at), max(1, run.schedule.nranks * at))}"


def reading(spec: PipelineSpec) -> str:
    """What happens at the cursor."""
    shown, kept = spec.runs, stops(spec)
    at = kept[spec.step]
    when = f"At {time_text(at)} of {time_text(kept[-1])}"
    if len(shown) == 1:
        return f"{when}: {moment(shown[0], at)}."
    return f"{when}. {' '.join(f'{run.title}: {moment(run, at)}.' for run in shown)}"


def pipeline_sentence(spec: PipelineSpec) -> str:
    """The whole step, and the moment."""
    return f"{verdict(spec)} {reading(spec)}"
