"""The widget `pipeline` in Chromium: every control moves what stands there, by key, by pointer, from a link and from a kernel."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import widget_harness
from hands import copied
from playwright.sync_api import Page, expect

from helpers.pipeline import PipelineSchedule, with_shards
from helpers.view.pipeline.spec import PipelineSpec, pipeline_spec, stops
from helpers.view.pipeline.widget import pipeline_html, pipeline_sentence
from helpers.view.shared.bundle import plain_script
from helpers.view.widgets import line
from website.scripts import call

START = pipeline_spec()
SAYS = (
    (
        pipeline_spec(step=16),
        "At 17 of 33: forward on rank 2, backward on ranks 0, 1 and 3, 2 messages under way; held per rank: 4, 3, 1, 1;"
        " idle so far 26.5 %.",
    ),
    (
        pipeline_spec("gpipe", 2, 2, versus="zb-h1", step=4, times="1 1 1 0.5"),
        "At 2.5 of 10. GPipe: forward on rank 1, rank 0 idle, 1 message under way; held per rank: 2, 1; idle so far 40 %."
        " ZB-H1: the input's gradient on rank 1, rank 0 idle, 1 message under way; held per rank: 2, 1; idle so far 40 %.",
    ),
)
OWN = """mine nranks=2 nmicrobatches=2 nstages=2
0F1 0F0 0B1 0B0
1F1 1B1 1F0 1B0"""


@pytest.fixture
def open_pipeline(open_widget):
    """open_pipeline(spec, ..., width=, live=, hash_=) -> a page whose clock the test drives; errors on it, and requests, fail the test."""
    return partial(open_widget, "pipeline", clock="manual")


def shows(page: Page, spec: PipelineSpec, which: int = 0) -> None:
    """The whole step in words, and where the cursor stands."""
    kept = stops(spec)
    expect(page.locator(".bim-verdict").nth(which)).to_have_text(pipeline_sentence(spec))
    at, end = float(kept[spec.step]), float(kept[-1])
    expect(page.locator(".bim-sentence").nth(which)).to_contain_text(re.compile(rf"^At {at:.3g} of {end:.3g}[.:]"))


def tick(page: Page, ms: int) -> float:
    """Time goes on; where the cursor is then."""
    widget = "document.querySelector('.bim-pipeline').pipeline"
    return page.evaluate(f"(() => {{ {widget}.tick({ms}); return {widget}.position(); }})()")


def test_keys_go_from_event_to_event_and_say_so(open_pipeline):
    page = open_pipeline(START)
    shows(page, START)
    page.locator(".bim-view").focus()
    for step in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        assert tick(page, 450) == step
        shows(page, replace(START, step=step))
    page.keyboard.press("End")
    last = replace(START, step=len(stops(START)) - 1)
    shows(page, last)
    assert page.locator(".bim-now, .bim-message").count() == 0
    said = f"{pipeline_sentence(last)} At 33 of 33: the step is over."
    expect(page.locator("[aria-live]")).to_have_text(said)
    assert page.get_by_role("slider", name="Step").get_attribute("aria-valuetext") == "33 of 33"
    page.keyboard.press("ArrowLeft")
    tick(page, 450)
    shows(page, replace(last, step=last.step - 1))
    page.keyboard.press("Home")
    shows(page, START)


def test_it_plays_when_asked_and_never_before(open_pipeline):
    page = open_pipeline(START)
    assert tick(page, 5_000) == 0
    page.locator(".bim-view").press(" ")
    assert tick(page, 2_500) == 2.5
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    shows(page, replace(START, step=2))
    page.locator(".bim-view").press(" ")
    assert tick(page, 1_000) == 3
    page.emulate_media(reduced_motion="reduce")
    page.get_by_role("button", name="Play").click()
    assert tick(page, 1_500) == 4, "from stop to stop"


def test_microbatches_times_and_ranks_change_the_bubble(open_pipeline):
    page = open_pipeline(START)
    for name, key, change in (
        ("Microbatches", "ArrowRight", {"nmicrobatches": 9}),
        ("Forward", "ArrowRight", {"forward": 1.25}),
        ("Backward, the input's gradient", "ArrowLeft", {"input": 0.75}),
        ("Backward, the weights' gradient", "End", {"weight": 8}),
        ("A hop from stage to stage", "ArrowRight", {"hop": 0.25}),
    ):
        page.get_by_role("slider", name=name).press(key)
        ((part, value),) = change.items()
        assert page.evaluate("document.querySelectorAll('.bim-block').length") > 0
        now = replace(START, **{part: value})
        expect(page.locator(".bim-verdict")).to_have_text(pipeline_sentence(now))
        page.get_by_role("slider", name=name).fill(f"{getattr(START, part)}")
        shows(page, START)
    page.get_by_role("combobox", name="Ranks").select_option("8")
    shows(page, replace(START, nranks=8))
    assert page.locator(".bim-pipes .bim-lane").count() == 8
    assert page.locator(".bim-pipes .bim-block").count() == 8 * 8 * 2


@pytest.mark.matrix("more of one widget in the browser")
def test_the_bars_and_the_slider_tell_where_half_the_bubble_is(open_pipeline):
    page = open_pipeline(START)
    assert "Half of 27.3 % of all time: from 19 microbatches on." in page.locator(".bim-where").inner_text()
    assert page.locator(".bim-share").count() == 32
    page.get_by_role("slider", name="Microbatches").fill("19")
    assert page.locator(".bim-readout strong").nth(2).inner_text() == "13.6 %"
    page.get_by_role("slider", name="Microbatches").fill("16")
    assert page.locator(".bim-readout strong").nth(3).inner_text() == "18.8 %", "half of 37.5 %, rounded"


def test_two_schedules_share_a_time_axis_and_only_what_fits_is_offered(open_pipeline):
    page = open_pipeline(pipeline_spec("1f1b", 4, 6))
    page.get_by_role("combobox", name="Compared with").select_option("interleaved")
    shows(page, pipeline_spec("1f1b", 4, 8, nvirtual=2, versus="interleaved"))
    assert page.get_by_role("slider", name="Microbatches").get_attribute("step") == "4"
    assert page.locator(".bim-pipes .bim-name").all_text_contents() == ["1F1B", "Interleaved 1F1B"]
    page.get_by_role("combobox", name="Stages per rank").select_option("4")
    shows(page, pipeline_spec("1f1b", 4, 8, nvirtual=4, versus="interleaved"))
    assert page.locator(".bim-pipes .bim-block.bim-shade-3").count() == 4 * 8 * 2
    page.get_by_role("combobox", name="Schedule").select_option("interleaved")
    shows(page, pipeline_spec("interleaved", 4, 8, nvirtual=4))
    page.get_by_role("combobox", name="Compared with").select_option("zb-h1")
    shows(page, pipeline_spec("interleaved", 4, 8, nvirtual=4, versus="zb-h1"))
    page.get_by_role("combobox", name="Schedule").select_option("gpipe")
    shows(page, pipeline_spec("gpipe", 4, 8, versus="zb-h1"))
    assert not page.get_by_role("combobox", name="Stages per rank").is_visible()


def test_an_order_comes_when_it_is_shown(open_alone, tmp_path):
    """On a page from a folder: first the one that is shown, another one when it is chosen."""
    widget, shim = line("pipeline"), Path(__file__).parents[2] / "assets" / "shim.js"
    script = plain_script(widget.entry, "pipeline", tuple(widget.page.KNOWS))
    told = {name: value() for name, value in (widget.page.KNOWS | widget.page.LATER).items()}
    files = {"shim.js": shim.read_text(), "widgets/pipeline.js": script}
    files |= {f"known/{name}.js": call("know", name, value) for name, value in told.items()}
    mounts = f"<p>{pipeline_html(START)}<script src=shim.js></script>"
    for path, text in (files | {"page.html": f"<!doctype html><meta charset=utf-8>{mounts}"}).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    page = open_alone((tmp_path / "page.html").as_uri())
    shows(page, START)
    scripts = page.locator("script[src*='known/']")
    asked = "all => all.map((one) => one.src.replace(/.*known./, ''))"
    assert scripts.evaluate_all(asked) == ["pipelines.js", "pipeline-1f1b.js"]
    page.get_by_role("combobox", name="Schedule").select_option("interleaved")
    shows(page, pipeline_spec("interleaved"))
    assert scripts.evaluate_all(asked)[2:] == ["pipeline-interleaved.js"]
    sizes = [len(gzip.compress(text.encode(), 6)) for path, text in files.items() if path.startswith("known/pipeline-")]
    assert max(sorted(sizes)[:3]) <= 6_000 and max(sizes) <= 40_000, "as much as one algorithm of the player"


@pytest.mark.matrix("more of one widget in the browser")
def test_messages_are_under_way_as_long_as_a_hop_lasts(open_pipeline):
    spec = pipeline_spec(times="1 1 1 0.5")
    at = stops(spec).index(1)
    page = open_pipeline(replace(spec, step=at))
    assert page.locator(".bim-message").count() == 1 and page.locator(".bim-message.bim-s0 .bim-packet").count() == 1
    assert "1 message under way" in page.locator(".bim-sentence").inner_text()
    page.get_by_role("button", name="Step forward").click()
    tick(page, 225)
    assert page.locator(".bim-message .bim-packet").count() == 1, "between the events too"


@pytest.mark.matrix("more of one widget in the browser")
def test_a_pointer_holds_the_cursor_and_lets_go_at_an_event(open_pipeline):
    page = open_pipeline(START)
    box = page.locator(".bim-time").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60, steps=3)
    assert tick(page, 0) % 1 > 0
    page.mouse.up()
    assert tick(page, 0) % 1 == 0
    page.mouse.move(box["x"] + 2, box["y"] + 60)
    page.mouse.down()
    page.mouse.up()
    shows(page, START)


def test_a_kernel_hears_of_a_change_and_may_change_it(open_pipeline):
    page = open_pipeline(START, live=True)
    page.get_by_role("slider", name="Microbatches").press("ArrowRight")
    assert page.evaluate("models[0].get('spec')") == replace(START, nmicrobatches=9).as_json()
    page.evaluate("spec => models[0].set('spec', spec)", pipeline_spec("zb-h1", 2, 4, step=3).as_json())
    shows(page, pipeline_spec("zb-h1", 2, 4, step=3))
    assert page.get_by_role("button", name="Copy link").count() == 0


def test_a_link_opens_the_second_widget_and_one_that_cannot_be_drawn_says_so(open_pipeline):
    asked = "schedule-zb-h1--nranks-3--nmicrobatches-5--nvirtual-1--forward-1--input-1.5--weight-0.5--hop-0--versus-none--step-7"
    page = open_pipeline(START, START, hash_=f"#pipeline-1--{asked}")
    there = pipeline_spec("zb-h1", 3, 5, times=(1, 1.5, 0.5, 0), step=7)
    shows(page, there, 1)
    shows(page, START)
    wrong = [
        ("nranks-3", "nranks-9"),
        ("forward-1", "forward-0.3"),
        ("zb-h1", "zb-h2"),
        ("step-7", "step-999"),
        ("none", "dualpipe"),
    ]
    wrong += [("nvirtual-1", "nvirtual-2"), ("zb-h1", "interleaved"), ("zb-h1", "own"), ("input-1.5", "input-1..5")]
    for old, new in wrong:
        page.evaluate(f"location.hash = '#pipeline-0--{asked.replace(old, new)}'")
        expect(page.locator(".bim-notice").first).to_have_text("This link asks for something that cannot be drawn.")
        page.evaluate("location.hash = ''; dispatchEvent(new Event('hashchange'))")
        page.get_by_role("slider", name="Microbatches").first.fill("7")
        page.get_by_role("slider", name="Microbatches").first.fill("8")
        shows(page, START)


@pytest.mark.matrix("more of one widget in the browser")
def test_a_schedule_of_the_readers_own_beside_the_tables(open_pipeline):
    own = pipeline_spec(PipelineSchedule.parse(OWN), versus="1f1b", step=2)
    page = open_pipeline(own)
    shows(page, own)
    assert page.locator(".bim-readout").inner_text().count("no closed form") == 3
    page.get_by_role("combobox", name="Schedule").select_option("gpipe")
    shows(page, pipeline_spec("gpipe", 2, 2, versus="1f1b", step=2))
    page.get_by_role("combobox", name="Schedule").select_option("")
    expect(page.locator(".bim-verdict")).to_have_text(pipeline_sentence(replace(own, versus="")))
    assert "--schedule-own--" in copied(page, "link")


def test_a_pasted_schedule_is_shown_or_refused_and_its_link_opens_elsewhere(open_pipeline):
    page = open_pipeline(START)
    widget_harness.answers(page)
    page.get_by_text("A schedule of your own").click()
    text = page.get_by_role("textbox", name="A schedule as text")
    assert PipelineSchedule.parse(text.input_value()).programs == START.lines[0].schedule.programs
    text.fill(OWN.replace("1F1 1B1", "1B1 1F1"))
    page.get_by_role("button", name="Show it").click()
    wrong = "Not drawn: computations wait for each other, or for what nobody computes: rank 0 before 0B1; rank 1 before 1B1."
    expect(page.locator(".bim-refused")).to_have_text(wrong)
    shows(page, START)
    text.fill(OWN)
    page.get_by_role("button", name="Show it").click()
    shows(page, pipeline_spec(PipelineSchedule.parse(OWN)))
    assert page.locator(".bim-refused").inner_text() == ""
    page.get_by_role("slider", name="Step").fill("3")
    link = copied(page, "link")
    again = open_pipeline(START, hash_="#" + link.partition("#")[2])
    shows(again, pipeline_spec(PipelineSchedule.parse(OWN), step=3))


def test_sharded_stages_are_gathered_freed_and_reduced_in_lines_words_and_numbers(open_pipeline):
    page = open_pipeline(pipeline_spec("interleaved", 2, 4, 4))
    page.get_by_role("combobox", name="Parameters").select_option("fsdp")
    there = pipeline_spec("interleaved", 2, 4, 4, fsdp=True)
    shows(page, there)
    program = with_shards(there.lines[0].schedule)
    counts = [page.locator(f".bim-pipes .bim-{mark}").count() for mark in ("whole", "gather", "reduce")]
    assert counts == [str(program).count(kind) for kind in ("RESHARD", "UNSHARD", "REDUCE_GRAD")]
    page.get_by_role("slider", name="Step").fill("1")
    assert "held per rank: 0.25, 0; stages whole: 3, 3; idle" in page.locator(".bim-sentence").inner_text()
    page.get_by_text("Every computation as a table").click()
    rows = [row.split("\t") for row in page.locator(".bim-details tbody tr").all_inner_texts()]
    assert [row[1] for row in rows[:4]] == ["0UNSHARD", "2UNSHARD", "4UNSHARD", "0F0"]
    assert rows[0][2:5] == ["its parameters are gathered", "0", "0"]
    page.get_by_text("A schedule of your own").click()
    text = page.get_by_role("textbox", name="A schedule as text").input_value()
    assert PipelineSchedule.parse(text) == program
    assert copied(page, "link").endswith("--step-1--fsdp")


@pytest.mark.parametrize(("spec", "says"), SAYS)
def test_what_happens_at_the_cursor(open_pipeline, spec, says):
    page = open_pipeline(spec)
    expect(page.locator(".bim-sentence")).to_have_text(says)


def test_the_table_has_every_computation(open_pipeline):
    page = open_pipeline(pipeline_spec("zb-h1", 2, 2))
    page.get_by_text("Every computation as a table").click()
    rows = [row.split("\t") for row in page.locator(".bim-details tbody tr").all_inner_texts()]
    assert len(rows) == 2 * 2 * 3
    assert rows[:2] == [["0", "0F0", "forward", "0", "1", "1", "0"], ["0", "0F1", "forward", "1", "2", "2", "0"]]
    assert rows[-1] == ["1", "1W1", "the weights' gradient", "6", "7", "0", "0"]


OUT_OF_PLACE = """() => {
    const cut = (picture) => {
        const { left, right } = picture.getBoundingClientRect();
        const boxes = [...picture.querySelectorAll("text")].map((one) => [one.getBoundingClientRect(), one.textContent]);
        return boxes.filter(([box]) => box.width && (box.left < left - 1 || box.right > right + 1)).map(([, text]) => text);
    };
    return [...document.querySelectorAll(".bim-time")].flatMap(cut);
}"""
CASES = (START, pipeline_spec("interleaved", 8, 8, nvirtual=4, versus="zb-h1", times="8 8 8 4", step=40))


def test_no_violations_nothing_cut_and_nothing_jumps(open_pipeline):
    page = open_pipeline(*CASES)
    assert widget_harness.violations_in_both_themes(page) == []
    stays_in_place(page, 1280)
    widget_harness.narrow(page, 360)
    assert widget_harness.violations(page, widget_harness.OF_WIDTHS) == []
    stays_in_place(page, 360)


def stays_in_place(page: Page, width: int) -> None:
    """Through a whole step, in windows of that width."""
    for i, spec in enumerate(CASES):
        widget, heights = page.locator(".bim-pipeline").nth(i), set()
        for step in range(0, len(stops(spec)), max(1, len(stops(spec)) // 8)):
            widget.get_by_role("slider", name="Step").fill(f"{step}")
            heights.add(widget.evaluate("one => one.offsetHeight"))
            assert page.evaluate(OUT_OF_PLACE) == []
        assert len(heights) == 1, heights
    assert page.evaluate("document.documentElement.scrollWidth") == width
