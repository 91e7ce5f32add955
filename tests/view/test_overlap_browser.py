"""The widget `overlap` in Chromium: one page on which every control is pressed, and picture, words and table follow."""

from __future__ import annotations

import widget_harness
from playwright.sync_api import expect

from helpers.view.overlap.asked import overlap_spec
from helpers.view.overlap.ways import ways
from helpers.view.overlap.words import best, compared, verdict

BARS = {"buckets": 15, "units": 3}


def shows(page, **asked) -> None:
    """Words and picture are this state's: a box for each call, and the step's exposed part in its one look."""
    spec = overlap_spec(**asked)
    o = spec.shown
    expect(page.locator(".bim-sentence").first).to_have_text(verdict(spec))
    expect(page.locator(".bim-compared").first).to_have_text(compared(spec))
    kinds = {kind: sum(call.collective != "all_gather" for call in o.calls) for kind in ("bim-s2",)}
    assert page.locator(".bim-lanes .bim-block.bim-s2").count() == kinds["bim-s2"]
    assert page.locator(".bim-lanes .bim-block.bim-s3").count() == len(o.calls) - kinds["bim-s2"]
    assert (page.locator(".bim-lanes .bim-hatch").count() > 0) == (o.exposed > 1e-12)
    assert page.locator(".bim-lanes .bim-held").count() == (spec.mode == "units")
    assert page.locator(".bim-sizes .bim-bar").count() == BARS[spec.mode]


def recorded(page) -> None:
    """Recorded steps: a box for everything that a rank did, hatched where it computed nothing; what does not count is off."""
    page.get_by_role("combobox", name="What is sent").select_option("recorded")
    page.get_by_role("slider", name="Recorded").press("Home")
    spec, way = overlap_spec("recorded", way="naive"), ways()["ways"]["naive"]
    expect(page.locator(".bim-sentence").first).to_have_text(verdict(spec))
    expect(page.locator(".bim-compared").first).to_have_text(compared(spec))
    assert page.locator(".bim-lanes .bim-block").count() == sum(map(len, way["ranks"]))
    assert page.locator(".bim-lanes .bim-hatch").count() >= 4 and page.locator(".bim-bar").count() == len(
        ways()["ways"]
    )
    assert page.get_by_role("combobox").count() == 1, "a recorded step is of no model"
    assert page.locator(".bim-details tbody tr").count() == len(ways()["ways"])


def test_every_control_changes_what_stands_there(open_widget):
    page = open_widget("overlap", overlap_spec(), live=True)
    shows(page)
    size = page.get_by_role("slider", name="A bucket is full at")
    size.press("ArrowRight")
    shows(page, bucket="50 MiB")
    size.press("End")
    shows(page, bucket="all")
    bars = page.locator(".bim-strip").bounding_box()
    page.mouse.move(bars["x"] + bars["width"] - 8, bars["y"] + 10)
    page.mouse.down()
    page.mouse.move(bars["x"] + 8 + (bars["width"] - 16) * 8 / 14, bars["y"] + 10)
    page.mouse.up()
    shows(page, bucket="200 MiB")
    for name, value in {
        "Model": "GPT-2-XL",
        "GPU": "H100",
        "Link": "infiniband-hdr",
        "Tokens of a GPU": "8192",
    }.items():
        page.get_by_role("combobox", name=name, exact=True).select_option(value)
    page.get_by_role("combobox", name="Share of the peak").select_option("60")
    state = {"model": "GPT-2-XL", "gpu": "H100", "link": "infiniband-hdr", "tokens": 8192, "share": 60}
    shows(page, bucket="200 MiB", **state)
    page.get_by_role("button", name="The best place").click()
    least = best(overlap_spec(**state)).bucket
    shows(page, bucket=least, **state)
    assert page.evaluate("models[0].get('spec')") == overlap_spec(bucket=least, **state).as_json()
    page.get_by_role("combobox", name="What is sent").select_option("units")
    shows(page, mode="units", bucket=least, **state)
    page.get_by_role("slider", name="Computations ahead").press("Home")
    shows(page, mode="units", bucket=least, prefetch=0, **state)
    page.get_by_text("Every place of the slider as numbers").click()
    assert page.locator(".bim-details tbody tr").count() == 3
    recorded(page)
    page.evaluate("spec => models[0].set('spec', spec)", overlap_spec(bucket="400 MiB").as_json())
    shows(page, bucket="400 MiB")
    widget_harness.narrow(page)
    page.wait_for_function("document.querySelector('.bim-lanes').clientWidth <= 375")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate("spec => models[0].set('spec', spec)", overlap_spec("units").as_json())
    assert page.locator(".bim-lanes .bim-end").count() and page.evaluate(widget_harness.CUT) == []
    assert widget_harness.violations_in_both_themes(page) == []
    assert page.get_by_role("button", name="Copy link").count() == 0
