"""The playground on its page, from a server and from a folder: a schedule fetched, drawn on, checked, broken, and sent as a link."""

from __future__ import annotations

import pytest
from pages import KB, read_through
from playwright.sync_api import Page, expect

PAGE = "book/playground.html"
BUDGET = 400 * KB  # everything that the page loads, gzipped, before anybody touches it


@pytest.fixture(params=["server", "folder"])
def home(request) -> str:
    """Where the real book is."""
    return (
        request.getfixturevalue("site_address")
        if request.param == "server"
        else request.getfixturevalue("site").as_uri()
    )


def widget(page: Page, nth: int = 0):
    return page.locator(".bim-mount[data-kind=playground]").nth(nth).locator(".bim-playground")


def check(page: Page, nth: int = 0) -> str:
    widget(page, nth).get_by_role("button", name="Check").click()
    return widget(page, nth).locator(".bim-verdict").inner_text()


def test_a_schedule_is_fetched_proved_broken_and_seen(home, open_page):
    page, watch = open_page(home, PAGE)
    read_through(page)
    widget(page).get_by_role("combobox", name="Start from").select_option("binomial")
    box = widget(page).get_by_role("textbox")
    expect(box).to_have_value("0:0→1\n0:0→2 0:1→3\n0:0→4 0:1→5 0:2→6 0:3→7")
    assert check(page).endswith("That is the target.")
    box.fill("0:0→1\n0:0→2 0:1→3\n0:0→4 0:1→5 0:2→6 0:4→7")
    assert "step 3, 0:4→7: rank 4 sends chunk 0, but nothing is there yet" in check(page)
    expect(widget(page).locator(".bim-fault")).to_have_attribute("data-at", "4,0")
    expect(widget(page).locator(".bim-sentence")).to_contain_text("Step 3 of 3.")
    watch.assert_clean(PAGE)


def test_the_wrong_schedule_of_the_page_is_wrong_where_the_page_says(home, open_page):
    page, watch = open_page(home, PAGE)
    read_through(page)
    assert "rank 0 chunk 0 holds [0 twice + 1 + 2], should hold [0 + 1 + 2]" in check(page, 1)
    expect(widget(page, 1).locator(".bim-fault .bim-double")).to_have_count(1)
    watch.assert_clean(PAGE)


def test_a_link_opens_the_second_playground_as_it_was(home, open_page):
    state = "all_reduce-3-1-x-mine--1024-pcie-5--1--own--00h-011-002004"
    page, watch = open_page(home, f"{PAGE}#playground-1--{state}")
    second = widget(page, 1)
    second.wait_for()
    assert second.evaluate("el => el.getBoundingClientRect().top < innerHeight")
    expect(second.get_by_role("textbox")).to_have_value("0:1⇒0\n0:2⇒0\n0:0→1 0:0→2")
    assert second.get_by_role("combobox", name="Network").input_value() == "pcie-5"
    assert second.locator(".bim-sentence").inner_text().startswith("Step 2 of 3.")
    assert check(page, 1).startswith("Kept. It takes 3 steps")
    watch.assert_clean(PAGE)


def test_the_page_stays_light(site_address, open_page):
    page, watch = open_page(site_address, PAGE)
    read_through(page)
    page.wait_for_load_state("networkidle")
    sizes = watch.sizes()
    assert sum(sizes.values()) <= BUDGET, sorted(sizes.items(), key=lambda item: -item[1])[:5]
