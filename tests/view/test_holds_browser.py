"""The widget `holds` in Chromium: one page on which every control is pressed, and every word follows."""

from __future__ import annotations

import widget_harness
from playwright.sync_api import expect

from helpers.view.holds.steps import moments
from helpers.view.holds.widget import holds_sentence, holds_spec

START = holds_spec("zero-3", at=14)


def shows(page, spec) -> None:
    expect(page.locator(".bim-sentence").first).to_have_text(holds_sentence(spec))


def at(page, deed: str) -> None:
    page.get_by_role("button", name=deed, exact=True).click()


def test_every_control_changes_what_stands_there(open_widget):
    page = open_widget("holds", START, live=True, clock="manual")
    shows(page, START)
    assert page.locator("[aria-live]").text_content() == "", "nothing is said before the reader does something"
    assert page.locator(".bim-h-rank").count() == 4 and page.locator(".bim-h-band").count() == 4
    assert page.locator(".bim-h-lent").count() == 4, "layer 3 is whole on every rank"
    words = page.locator(".bim-h-word").all_text_contents()
    assert set(words) == {"all", "kept"}, "of a part its place tells, and no word lies on it"
    at(page, "Step forward")
    page.evaluate("document.querySelector('.bim-holds').holds.tick(1000)")
    shows(page, holds_spec("zero-3", at=15))
    expect(page.locator(".bim-title").first).to_have_text(
        "ZeRO-3: reduce_scatter of layer 3, 774 KiB; each rank sends at least 581 KiB"
    )
    page.get_by_role("combobox", name="Beside it").select_option("ddp")
    spec = holds_spec("zero-3", "ddp", 15)
    shows(page, spec)
    expect(page.locator("[aria-live]")).to_have_text(holds_sentence(spec))
    assert page.evaluate("models[0].get('spec')") == spec.as_json()
    page.get_by_role("combobox", name="Way to share out").select_option("zero-2")
    shows(page, holds_spec("zero-2", "ddp", 6))
    page.get_by_role("combobox", name="Rank").select_option("3")
    page.get_by_role("slider", name="Step").press("ArrowRight")
    shows(page, holds_spec("zero-2", "ddp", 7, 3))
    page.get_by_role("combobox", name="Way to share out").select_option("ddp")
    shows(page, holds_spec("ddp", "", 6, 3))
    assert page.locator(".bim-h-rank:visible").count() == 4, "nothing stands beside itself"
    page.locator(".bim-h-rank").first.click()
    shows(page, holds_spec("ddp", "", 6, 0))
    page.get_by_role("button", name="Play").press("End")
    shows(page, holds_spec("ddp", "", 14, 0))
    box = page.locator(".bim-h-strip").first.bounding_box()
    page.mouse.click(box["x"] + 10, box["y"] + 40)
    shows(page, holds_spec("ddp"))
    page.get_by_text("What every rank holds as numbers").click()
    assert page.locator(".bim-details tbody tr").count() == 4 * 5
    page.evaluate("spec => models[0].set('spec', spec)", holds_spec("zero-1", "zero-3", 9, 1).as_json())
    shows(page, holds_spec("zero-1", "zero-3", 9, 1))
    widget_harness.narrow(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert widget_harness.violations_in_both_themes(page) == []
    assert page.get_by_role("button", name="Copy link").count() == 0


def test_it_plays_to_the_end(open_widget):
    page = open_widget("holds", holds_spec("ddp"), clock="manual")
    page.locator(".bim-sentence").click()
    at(page, "Play")
    page.evaluate("document.querySelector('.bim-holds').holds.tick(2500)")
    shows(page, holds_spec("ddp", at=2))
    page.evaluate("document.querySelector('.bim-holds').holds.tick(60000)")
    shows(page, holds_spec("ddp", at=len(moments("ddp")) - 1))
