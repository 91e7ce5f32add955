"""The widget `clock` in JavaScript: it computes what Python computes, and in Chromium every control moves what stands there."""

from __future__ import annotations

import ast
import random
from functools import partial

import pytest
import widget_harness
from lanes import some
from playwright.sync_api import Page, expect

from helpers.view.clock.lanes import KNOWN, crossings, moment, stops
from helpers.view.clock.widget import SIZES, ClockSpec, clock_sentence, clock_spec, protocols, reading, told, verdict
from helpers.view.shared.schedules.traces import links

START = clock_spec()


def cases() -> list[ClockSpec]:
    """Every size on every link, at a stop and somewhere."""
    rng = random.Random(5)
    found = []
    for slug, nbytes in ((slug, nbytes) for slug in KNOWN for nbytes in SIZES):
        kept = stops(KNOWN[slug], nbytes)
        times = {rng.randint(0, kept[-1]), *rng.sample(kept, 3), kept[-1]}
        found += [clock_spec(nbytes, slug, at) for at in sorted(times)]
    return found


def test_javascript_computes_and_says_what_python_does(play):
    specs = cases()
    found = play("clock", {"links": links(), "protocols": protocols(), "specs": specs})
    for spec, got in zip(specs, found, strict=True):
        lanes = spec.lanes
        assert got["ends"] == [lane.end for lane in lanes], spec
        assert got["readable"] == [lane.readable(spec.at) for lane in lanes], spec
        assert got["stops"] == stops(KNOWN[spec.link], spec.nbytes)
        assert got["crossings"] == crossings(KNOWN[spec.link])
        assert got["told"] == [told(lane) for lane in lanes]
        assert got["sentence"] == clock_sentence(spec)
        assert (got["linked"], got["fits"]) == (spec.as_json(), True)
        call = ast.parse(got["python"]).body[-1].value
        again = clock_spec(call.args[0].value, **{one.arg: one.value.value for one in call.keywords})
        assert again == spec


@pytest.fixture
def open_clock(open_widget):
    """open_clock(spec, ..., theme=, width=, live=, ...) -> a page; errors on it fail the test."""
    return partial(open_widget, "clock")


def shows(page: Page, spec: ClockSpec) -> None:
    expect(page.locator(".bim-sentence").first).to_have_text(reading(spec))
    expect(page.locator(".bim-verdict").first).to_have_text(verdict(spec))


def test_the_clock_stops_at_every_event_both_ways(open_clock):
    page = open_clock(START)
    shows(page, START)
    kept = stops(KNOWN["nvlink-4"], START.nbytes)
    page.get_by_role("slider", name="Time").focus()
    for at in [at for at in kept if at > START.at]:
        page.keyboard.press("ArrowRight")
        shows(page, clock_spec(at=at))
    page.get_by_role("button", name="Play").focus()
    for at in reversed(kept[:-1]):
        page.keyboard.press("ArrowLeft")
        shows(page, clock_spec(at=at))
    assert page.get_by_role("slider", name="Time").get_attribute("aria-valuetext") == "0 s"
    page.get_by_role("button", name="Next event").click()
    shows(page, clock_spec(at=kept[1]))
    expect(page.locator("[aria-live=polite]")).to_have_text(clock_sentence(clock_spec(at=kept[1])))


@pytest.mark.matrix("more of one widget in the browser")
def test_another_size_has_another_first_lane_and_the_clock_goes_there(open_clock):
    page = open_clock(START)
    size = page.get_by_role("slider", name="Size of the message")
    size.focus()
    for nbytes, name in ((128 * 2**10, "LL"), (256 * 2**10, "LL"), (512 * 2**10, "LL128")):
        size.press("ArrowRight")
        shows(page, clock_spec(nbytes))
        assert page.locator(".bim-winners .bim-here").inner_text() == name
    size.press("End")
    shows(page, clock_spec("256 MiB"))
    assert page.locator(".bim-first").text_content().endswith(", first")
    assert [one.split("\n")[-1] for one in page.locator(".bim-readout > div").all_inner_texts()] == [
        "of 256 MiB",
        "of 256 MiB",
        "all, first",
    ]
    page.get_by_role("combobox", name="Link").select_option("infiniband-hdr")
    shows(page, clock_spec("256 MiB", "infiniband-hdr"))
    assert page.locator(".bim-where").inner_text() == "LL is first up to 228 KiB, LL128 up to 1.57 MiB, Simple above."


def test_it_plays_to_the_end_and_where_less_motion_is_asked_for_from_stop_to_stop(open_clock):
    page = open_clock(START)
    kept = stops(KNOWN["nvlink-4"], START.nbytes)
    page.clock.install()
    page.emulate_media(reduced_motion="reduce")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    seen = set()
    for _ in range(30):
        page.clock.run_for(250)
        seen.add(int(page.get_by_role("slider", name="Time").input_value()))
    assert seen <= set(kept) and kept[-1] in seen
    shows(page, clock_spec(at=kept[-1]))
    expect(page.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.matrix("more of one widget in the browser")
def test_a_pointer_holds_the_clock(open_clock):
    page = open_clock(START)
    box = page.locator(".bim-time").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 5, box["y"] + 60, steps=3)
    shows(page, clock_spec(at=0))
    page.mouse.move(box["x"] + box["width"], box["y"] + 60, steps=3)
    page.mouse.up()
    shows(page, clock_spec(at=max(moment(lane.end) for lane in START.lanes)))


def test_a_kernel_hears_of_a_change_and_may_change_it(open_clock):
    page = open_clock(START, live=True)
    page.get_by_role("slider", name="Size of the message").press("ArrowRight")
    assert page.evaluate("models[0].get('spec')") == clock_spec("128 KiB").as_json()
    page.evaluate("spec => models[0].set('spec', spec)", clock_spec("8 B", "nvlink-3").as_json())
    shows(page, clock_spec("8 B", "nvlink-3"))
    assert page.get_by_role("button", name="Copy link").count() == 0


def test_a_link_opens_the_second_clock(open_clock):
    page = open_clock(START, START, hash_="#clock-1--link-nvlink-5--nbytes-8388608--at-3")
    expect(page.locator(".bim-sentence").nth(1)).to_have_text(reading(clock_spec("8 MiB", "nvlink-5", 3)))
    shows(page, START)


@pytest.mark.matrix("more of one widget in the browser")
def test_the_table_has_the_prices(open_clock):
    page = open_clock(START)
    page.get_by_text("The lanes as numbers").click()
    rows = [row.split("\t")[0] for row in page.locator(".bim-details tbody tr").all_inner_texts()]
    assert rows == ["LL", "LL128", "Simple"]
    assert "93.75" in page.locator(".bim-details tbody tr").nth(1).inner_html()


OUT_OF_PLACE = """() => {
    const { left, right } = document.querySelector(".bim-time").getBoundingClientRect();
    const out = [...document.querySelectorAll(".bim-time text")].filter((one) => {
        const box = one.getBoundingClientRect();
        return box.left < left - 1 || box.right > right + 1;
    });
    return out.map((one) => one.textContent);
}"""


@pytest.mark.parametrize("width", some([360, 1280], [360], "axe, in another shape of a widget"))
def test_no_violations_nothing_cut_and_nothing_jumps(width, open_clock):
    page = open_clock(START, width=width)
    assert widget_harness.violations_in_both_themes(page) == []
    size, heights = page.get_by_role("slider", name="Size of the message"), set()
    for slug in KNOWN:
        page.get_by_role("combobox", name="Link").select_option(slug)
        size.press("Home")
        for _ in SIZES:
            heights.add(page.locator(".bim-clock").evaluate("one => one.offsetHeight"))
            assert page.evaluate(OUT_OF_PLACE) == [], page.locator(".bim-verdict").inner_text()
            size.press("ArrowRight")
    assert len(heights) == 1, heights
    assert page.evaluate("document.documentElement.scrollWidth") == width
