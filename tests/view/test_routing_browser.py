"""The widget `routing` in Chromium: one page on which every control is pressed, and picture, words and table follow."""

from __future__ import annotations

import widget_harness
from playwright.sync_api import expect

from helpers.view.routing.asked import routing_spec
from helpers.view.routing.widget import compared, verdict


def shows(page, **asked) -> None:
    """Words and picture are this state's: a square for each copy that found a slot, and one for each that did not fill."""
    spec = routing_spec(**asked)
    r = spec.routes
    expect(page.locator(".bim-sentence").first).to_have_text(verdict(spec))
    expect(page.locator(".bim-compared").first).to_have_text(compared(spec))
    tokens = spec.nranks * spec.tokens
    assert page.locator(".bim-routes .bim-token").count() == tokens + sum(r.loads)
    assert page.locator(".bim-routes .bim-empty").count() == (
        0 if r.slots is None else spec.nranks * spec.experts * r.slots - sum(r.loads)
    )
    lost = sum(all(place < 0 for place in places) for rank in r.slot for places in rank)
    assert page.locator(".bim-routes .bim-gone").count() == lost
    assert page.locator(".bim-routes .bim-cell").count() == spec.nranks * spec.experts


def test_every_control_changes_what_stands_there(open_widget):
    page = open_widget("routing", routing_spec(), live=True)
    shows(page)
    page.get_by_role("slider", name="Skew of the router").press("ArrowRight")
    shows(page, skew=60)
    page.get_by_role("slider", name="Capacity factor").press("End")
    shows(page, skew=60, capacity=0)
    page.get_by_role("slider", name="Capacity factor").press("Home")
    shows(page, skew=60, capacity=0.5)
    page.get_by_role("combobox", name="Tokens of a rank").select_option("12")
    page.get_by_role("combobox", name="Experts of a token").select_option("1")
    page.get_by_role("button", name="Another batch").click()
    state = {"skew": 60, "capacity": 0.5, "tokens": 12, "top_k": 1, "seed": 1}
    shows(page, **state)
    assert page.evaluate("models[0].get('spec')") == routing_spec(**state).as_json()
    page.get_by_role("combobox", name="Ranks").select_option("8")
    page.get_by_role("combobox", name="Experts", exact=True).select_option("4")
    shows(page, **state, nranks=4, experts=4)
    page.get_by_text("The table of the all_to_all").click()
    rows = page.locator(".bim-details tbody tr")
    assert rows.count() == 5 and rows.first.locator("td").all_inner_texts() == [
        *(f"{n}" for n in routing_spec(**state, nranks=4, experts=4).routes.matrix[0]),
        f"{12 - sum(routing_spec(**state, nranks=4, experts=4).routes.matrix[0])}",
    ]
    page.evaluate("spec => models[0].set('spec', spec)", routing_spec(experts=16, tokens=16, nranks=8).as_json())
    shows(page, experts=16, tokens=16, nranks=8)
    widget_harness.narrow(page)
    page.wait_for_function("document.querySelector('.bim-routes').clientWidth <= 375")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert widget_harness.violations_in_both_themes(page) == []
    assert page.get_by_role("button", name="Copy link").count() == 0
