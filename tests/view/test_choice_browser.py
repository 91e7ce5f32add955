"""The widget `choice` in Chromium: one page on which every control is pressed, and every word follows."""

from __future__ import annotations

import widget_harness
from playwright.sync_api import expect

from helpers.view.choice.asked import choice_spec
from helpers.view.choice.widget import compared, verdict

B200 = choice_spec("HGX-B200", "8 MiB", 4, version="2.29.2", beside="2.28.9")
# What scrolls is reachable by keyboard, as soon as the widget has heard of its new width.
REACHABLE = "[...document.querySelectorAll('.bim-view')].every((one) => one.scrollWidth <= one.clientWidth || one.tabIndex === 0)"


def shows(page, spec) -> None:
    expect(page.locator(".bim-sentence").first).to_have_text(verdict(spec))
    expect(page.locator(".bim-compared").first).to_have_text(compared(spec))


def bars(page) -> list[str]:
    return page.locator(".bim-bars .bim-name").all_text_contents()


def test_every_control_changes_what_stands_there(open_widget):
    page = open_widget("choice", B200, live=True)
    shows(page, B200)
    assert bars(page)[:2] == ["Ring/Simple", "Ring/LL128"] and page.locator(".bim-lines .bim-seen").count() == len(
        [n for n in range(10, 35) if choice_spec("HGX-B200", 2**n, 4, version="2.29.2").measured()]
    )
    page.get_by_role("slider", name="Size of the message").press("ArrowRight")
    shows(page, choice_spec("HGX-B200", "16 MiB", 4, version="2.29.2", beside="2.28.9"))
    page.get_by_role("combobox", name="NCCL version").select_option("2.28.9")
    page.get_by_role("combobox", name="Version beside it").select_option("2.30.7")
    spec = choice_spec("HGX-B200", "16 MiB", 4, version="2.28.9", beside="2.30.7")
    shows(page, spec)
    assert page.evaluate("models[0].get('spec')") == spec.as_json()
    page.get_by_role("combobox", name="Nodes").select_option("4")
    shows(page, choice_spec("HGX-B200", "16 MiB", 32, 4, version="2.28.9", beside="2.30.7"))
    assert page.get_by_role("combobox", name="GPUs").locator("option").all_inner_texts() == ["32"]
    page.get_by_role("combobox", name="Machine").select_option("GB200-NVL72")
    page.get_by_role("combobox", name="GPUs").select_option("8")
    page.get_by_role("combobox", name="Collective").select_option("all_gather")
    shows(page, choice_spec("GB200-NVL72", "16 MiB", 8, 1, "all_gather", "2.28.9", "2.30.7"))
    versions = page.get_by_role("combobox", name="NCCL version").locator("option").all_inner_texts()
    assert "2.23.4" not in versions
    page.get_by_text("The candidates as numbers").click()
    assert page.locator(".bim-details tbody tr").count() == len(bars(page)) == 4
    box = page.locator(".bim-lines").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 150)
    page.mouse.down()
    page.mouse.up()
    shows(page, choice_spec("GB200-NVL72", "1 KiB", 8, 1, "all_gather", "2.28.9", "2.30.7"))
    page.evaluate("spec => models[0].set('spec', spec)", B200.as_json())
    shows(page, B200)
    widget_harness.narrow(page)
    page.wait_for_function(REACHABLE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("combobox", name="Nodes").select_option("2")
    assert page.get_by_text("NVLSTree/Simple").count() and page.evaluate(widget_harness.CUT) == []
    assert widget_harness.violations_in_both_themes(page) == []
    assert page.get_by_role("button", name="Copy link").count() == 0
