"""The widget `segments` in a browser, from a file: stepped by buttons, keys and the curve; two ways beside each other; a phone."""

import pytest
from hands import copied

from helpers.view.segments.spec import segments_spec

PROGRAM = "a = 6 MiB; b = 3 MiB # parameter; del a; c = 4 MiB # activation; d = 100; empty_cache()"
GROWING = "a = 40 MiB; b = 40 MiB; c = 40 MiB; del a, b, c; d = 30 MiB; e = 30 MiB; f = 30 MiB; g = 30 MiB"


@pytest.fixture
def page(open_widget):
    specs = [segments_spec(PROGRAM, label="a program"), segments_spec(GROWING, mode="fixed", limit="140 MiB", step=10)]
    return open_widget("segments", *specs, clock="manual")


def said(widget):
    return widget.locator("[aria-live]").text_content()


def test_a_step_shows_and_says_what_the_allocator_did(page):
    widget = page.locator(".bim-segments").first
    assert said(widget) == ""
    assert "Nothing is reserved" in widget.locator(".bim-sentence").inner_text()
    assert widget.locator(".bim-cell").count() == 0
    widget.get_by_role("button", name="Step forward").click()
    page.evaluate("document.querySelector('.bim-segments').segments.tick(1000)")
    assert said(widget).startswith("a = 6 MiB. Fixed: no free block fits: cudaMalloc 20 MiB")
    assert widget.locator(".bim-cell").count() == 2  # one in each way
    assert widget.locator(".bim-fresh").count() == 2
    assert widget.locator(".bim-readout strong").all_inner_texts() == ["6 MiB", "20 MiB"] * 2


def test_keys_and_the_curve_scrub(page):
    widget = page.locator(".bim-segments").first
    widget.get_by_role("button", name="Play").focus()
    page.keyboard.press("End")
    assert said(widget).startswith("empty_cache().")
    page.keyboard.press("Home")
    assert said(widget).startswith("Start.")
    box = widget.locator(".bim-curves").first.bounding_box()
    page.mouse.click(box["x"] + 56 + (box["width"] - 64) * 3 / 6, box["y"] + 40)
    assert said(widget).startswith("del a.")


def test_the_moment_without_memory_and_the_other_way_beside_it(page):
    widget = page.locator(".bim-segments").nth(1)
    assert "out of memory" in widget.locator(".bim-sentence").inner_text().lower()
    assert widget.locator(".bim-oom").count() == 1
    widget.get_by_label("Segments", exact=True).select_option("both")
    assert "Expandable: best fit is a free block of 30 MiB" in said(widget)
    assert widget.locator(".bim-strips").count() == 2
    assert widget.locator(".bim-oom").count() == 1
    widget.locator("summary").click()
    assert widget.locator("table").count() == 2
    assert "free" in widget.locator("table").first.inner_text()


def test_a_link_holds_the_state_and_python_makes_the_same_widget(page):
    widget = page.locator(".bim-segments").nth(1)
    widget.get_by_role("button", name="Copy link").click()
    assert page.url.endswith("#segments-1--mode-fixed--step-10")
    page.evaluate("location.hash = '#segments-0--mode-expandable--step-2'")
    first = page.locator(".bim-segments").first
    first.locator(".bim-strips").first.wait_for()
    page.wait_for_function("document.querySelector('.bim-sentence').textContent.startsWith('b = 3 MiB')")
    assert first.locator(".bim-way").count() == 1
    code = copied(widget, "as Python")
    made = {}
    exec(code.replace("\nsegments(", "\nmade = segments("), made)
    assert made["made"].spec["events"] == segments_spec(GROWING).events
    assert made["made"].spec["limit"] == 140 * 2**20


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_phone(open_widget, theme):
    page = open_widget("segments", segments_spec(PROGRAM, label="a program", step=4), theme=theme, width=375)
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert page.locator(".bim-strips").count() == 4
    assert page.locator(".bim-beside-ways").count() == 0
