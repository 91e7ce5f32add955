"""The widget `pipeline` from Python: what it says is what `helpers.pipeline` counts, and what cannot be drawn is refused by name."""

from __future__ import annotations

import inspect
import re

import pytest
import traitlets
from color import contrast

from helpers import view
from helpers.pipeline import SCHEDULES, PipelineSchedule, dry_run, timeline, with_shards
from helpers.view import explore_pipeline
from helpers.view.pipeline import page
from helpers.view.pipeline.spec import pipeline_spec
from helpers.view.pipeline.widget import pipeline_html, pipeline_sentence
from helpers.view.shared.tokens import THEMES, colour
from helpers.view.widgets import line
from website.widgets import directive

OWN = """mine nranks=2 nmicrobatches=2 nstages=2
0F1 0F0 0B1 0B0
1F1 1B1 1F0 1B0"""


def test_the_sentences():
    assert pipeline_sentence(pipeline_spec()) == (
        "1F1B on 4 ranks with 8 microbatches: a step lasts 33, 24 of it work. 27.3 % of all time is bubble, 37.5 % of the"
        " useful time; rank 0 holds the activations of 4 microbatches at most."
    )
    two = pipeline_spec("gpipe", 2, 2, versus="zb-h1", fsdp=True)
    assert "microbatches at most; FSDP gathers a rank's stage 3 times. " in pipeline_sentence(two)
    assert pipeline_sentence(two).endswith(
        " ZB-H1 lasts 7: 14.3 % of all time is bubble, 16.7 % of the useful time;"
        " every rank holds the activations of 2 microbatches at most; FSDP gathers a rank's stage 1 time."
    )
    woven = pipeline_sentence(pipeline_spec("interleaved", 4, 8, 4, fsdp=True))
    assert woven.endswith("; FSDP gathers a rank's stages 9 to 11 times, up to 3 of 4 whole at once.")
    assert "; rank 0 holds the activations of 1 microbatch at most." in pipeline_sentence(pipeline_spec("gpipe", 1, 1))
    assert ". 0 % of all time is bubble" in pipeline_sentence(pipeline_spec("1f1b", 1, 4))


def test_for_times_without_a_closed_form_there_is_none():
    assert "<td>–</td>" in pipeline_html(pipeline_spec("zb-h1", times="1 0.5 1 0"))
    assert "<td>–</td>" not in pipeline_html(pipeline_spec("zb-h1", 4, 2))


def test_a_readers_own_schedule_is_proved_and_keeps_its_order():
    own = pipeline_spec(PipelineSchedule.parse(OWN), times="1 1 1 0.25")
    assert (own.schedule, own.nranks, own.nmicrobatches, own.text) == ("mine", 2, 2, OWN)
    assert [t.action.microbatch for t in own.lines[0].of(0)] == [1, 0, 1, 0]
    widget = explore_pipeline(PipelineSchedule.parse(OWN))
    dry_run(widget.schedule)
    assert widget.timeline.makespan == timeline(PipelineSchedule.parse(OWN)).makespan


def test_one_of_the_tables_given_as_a_value_is_the_tables():
    given = explore_pipeline(SCHEDULES["interleaved"](2, 4, 3))
    assert given.spec == pipeline_spec("interleaved", 2, 4, 3).as_json() and given.spec["text"] == ""
    assert given.schedule == SCHEDULES["interleaved"](2, 4, 3), "with its messages: it can be run"
    sharded = explore_pipeline("interleaved", nranks=2, nmicrobatches=4, nvirtual=3, fsdp=True)
    assert sharded.schedule == with_shards(given.schedule)


def swapped() -> PipelineSchedule:
    """Rank 1's backward before its forward."""
    return PipelineSchedule.parse(OWN.replace("1F1 1B1", "1B1 1F1"))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: pipeline_spec("dualpipe"),
            "schedule must be one of gpipe, 1f1b, interleaved, zb-h1, or .* got 'dualpipe'",
        ),
        (lambda: pipeline_spec(nranks=9), "nranks must be a whole number from 1 to 8, got 9"),
        (lambda: pipeline_spec(nranks=True), "got True"),
        (lambda: pipeline_spec(nmicrobatches=33), "nmicrobatches must be a whole number from 1 to 32, got 33"),
        (lambda: pipeline_spec("interleaved", nvirtual=5), "nvirtual must be a whole number from 1 to 4, got 5"),
        (lambda: pipeline_spec(nvirtual=2), '1f1b has one stage per rank, got nvirtual=2: take "interleaved"'),
        (lambda: pipeline_spec("interleaved", 4, 6), "wants a multiple of 4 ranks as microbatches, got 6: take 4 or 8"),
        (lambda: pipeline_spec("1f1b", 4, 6, versus="interleaved"), "got 6: take 4 or 8"),
        (lambda: pipeline_spec(versus="none"), "versus must be one of gpipe, .* got 'none'"),
        (lambda: pipeline_spec(times="1 1 1"), "times are forward, input, weight and hop, as in .* got '1 1 1'"),
        (lambda: pipeline_spec(times="1 1 0.3 0"), "weight must be a multiple of 0.25 from 0.25 to 8, got '0.3'"),
        (lambda: pipeline_spec(times=(0, 1, 1, 0)), "forward must be a multiple of 0.25 from 0.25 to 8, got 0"),
        (lambda: pipeline_spec(times=(1, 1, 1, 5)), "hop must be a multiple of 0.25 from 0 to 4, got 5"),
        (lambda: pipeline_spec(times=(1, "x", 1, 0)), "input must be .* got 'x'"),
        (lambda: pipeline_spec(fsdp="yes"), "fsdp must be True or False, got 'yes'"),
        (lambda: pipeline_spec(step=99), "step must be a whole number from 0 to 31, got 99"),
        (lambda: pipeline_spec(PipelineSchedule.parse(OWN), nranks=2), "brings its own nranks and nmicrobatches"),
        (lambda: pipeline_spec(SCHEDULES["gpipe"](9, 2)), "the widget draws nranks up to 8, got 9"),
        (lambda: pipeline_spec(SCHEDULES["gpipe"](2, 33)), "the widget draws nmicrobatches up to 32, got 33"),
        (lambda: pipeline_spec(swapped()), "computations wait for each other"),
        (lambda: page.html("1f1b", {}, OWN), "a name or a text of its own, got '1f1b' and a text"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_kernel_cannot_be_told_what_cannot_be_drawn():
    widget = explore_pipeline()
    with pytest.raises(traitlets.TraitError, match="no spec of a pipeline: nranks must be"):
        widget.spec = {**widget.spec, "nranks": 12}
    with pytest.raises(traitlets.TraitError, match="no spec of a pipeline"):
        widget.spec = {"schedule": "1f1b"}
    own = pipeline_spec(PipelineSchedule.parse(OWN), versus="gpipe", step=3).as_json()
    widget.spec = own
    assert widget.spec == own


def test_what_a_widget_saves_is_what_its_cell_asked_for():
    widget = explore_pipeline("gpipe", nranks=2, nmicrobatches=3)
    before = widget.html()
    widget.spec = pipeline_spec("1f1b", 8, 32).as_json()
    assert widget.html() == before and repr(widget).startswith("PipelineWidget(GPipe on 2 ranks with 3 microbatches")
    assert widget.timeline.schedule == SCHEDULES["1f1b"](8, 32)


def test_the_directive_takes_a_name_or_the_text_of_a_schedule():
    assert page.html("zb-h1", {"nranks": 2, "times": "1 1 1 0.5"}) == pipeline_html(
        pipeline_spec("zb-h1", 2, times="1 1 1 0.5")
    )
    assert page.html("", {"versus": "1f1b"}, OWN) == pipeline_html(
        pipeline_spec(PipelineSchedule.parse(OWN), versus="1f1b")
    )
    assert {"nranks", "times", "versus", "fsdp", "step", "lab"} <= set(directive(line("pipeline")).option_spec)


def test_the_room_leaves_the_figure_of_its_name_where_it_was():
    """helpers.view.pipeline is both a room and the figure of that name: what `view` hands on is the figure."""
    assert inspect.isfunction(view.pipeline) and view.pipeline.__module__ == "helpers.view.figures.nccl.pipeline"


def mixed(one: str, other: str, part: float) -> str:
    """color-mix in srgb: so much of one, the rest of the other."""
    pairs = [(int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a * part + b * (1 - part)):02x}" for a, b in pairs)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_a_letter_can_be_read_on_every_shade_of_its_kind(theme, kind):
    css = line("pipeline").sheets[-1].read_text(encoding="utf-8")
    shades = [
        int(part) / 100 for part in re.findall(r"bim-shade-\d \{ --fill: color-mix\(in srgb, var\(--c\) (\d+)%", css)
    ]
    assert len(shades) == 3 and shades == sorted(shades, reverse=True)
    own, panel = colour(f"series-{kind}", theme), colour("panel", theme)
    assert contrast(colour(f"on-series-{kind}", theme), own) >= 4.5
    assert all(contrast(colour("ink", theme), mixed(own, panel, part)) >= 4.5 for part in shades)
    assert contrast(own, colour("well", theme)) >= 3, "the edge of a block beside what is idle"
