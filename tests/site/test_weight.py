"""What a page costs over the wire, gzipped, before anybody touches it."""

import gzip

from pages import KB, read_through

from helpers.collectives import CATALOGUE
from helpers.view.widgets import WIDGETS


def test_pages_are_served_gzipped(address, open_page):
    page, watch = open_page(address("sample"), "book/plain.html")
    page.wait_for_load_state("networkidle")
    raw = len(page.evaluate("fetch(location.href).then((reply) => reply.text())"))
    assert watch.sizes()[page.url] < raw * 0.6


def test_widget_scripts_are_small(sample):
    scripts = sorted((sample / "_static" / "widgets").glob("*.js"))
    # What charts need, and what is shown while Python comes
    budgets = {widget.name: widget.budget for widget in WIDGETS if widget.example} | {
        "sheet": 2 * KB,
        "loading": 2 * KB,
    }
    assert {script.stem for script in scripts} == set(budgets)
    for script in scripts:
        assert len(gzip.compress(script.read_bytes(), 6)) <= budgets[script.stem], script.name


def test_schedules_stay_light(sample):
    """A page loads the scripts of the algorithms that it shows."""
    scripts = sorted((sample / "_static" / "schedules").rglob("*.js"))
    assert len(scripts) == len(CATALOGUE)
    for script in scripts:
        assert len(gzip.compress(script.read_bytes(), 6)) <= 40 * KB, script


def test_recorded_traces_stay_light(sample):
    """A page loads the traces that its widgets show; 7B has 17,000 events."""
    scripts = {
        path.stem: len(gzip.compress(path.read_bytes(), 6)) for path in (sample / "_static" / "memory").glob("*.js")
    }
    assert {"article-cpu", "llama-2-7b", "llama-2-70b"} <= set(scripts)
    assert max(scripts.values()) <= 60 * KB, scripts


def test_a_page_that_shows_one_ring_loads_one_ring(address, open_page):
    page, watch = open_page(address("sample"), "book/kitchen.html")
    read_through(page)
    page.wait_for_load_state("networkidle")
    asked = [url.partition("/schedules/")[2] for url in watch.asked if "/schedules/" in url]
    assert sorted(asked) == ["all_reduce/ring.js"]
