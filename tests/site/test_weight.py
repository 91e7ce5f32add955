"""What a page costs over the wire, gzipped, before anybody touches it."""

import gzip

import pytest
from books import ROOT, SAMPLE, pages_of_toc
from pages import read_through

KB = 1000
BUDGETS = {"text": 350 * KB, "player": 400 * KB, "chart": 800 * KB}
WIDGET = 15 * KB
BOOKS = {"site": ROOT, "sample": SAMPLE}
PAGES = [(book, path) for book, source in BOOKS.items() for path in pages_of_toc(source)]


@pytest.mark.parametrize(("book", "path"), PAGES, ids=lambda value: value)
def test_page_keeps_its_budget(book, path, address, open_page):
    page, watch = open_page(address(book), path)
    read_through(page)
    page.wait_for_load_state("networkidle")
    weight = sum(watch.sizes.values())
    budget = BUDGETS[kind(page)]
    heaviest = sorted(watch.sizes.items(), key=lambda item: -item[1])[:5]
    assert 20 * KB < weight <= budget, f"{path}: {weight} of {budget} bytes; {heaviest}"


def kind(page) -> str:
    """What the heaviest thing on the page is."""
    kinds = set(page.locator(".bim-mount").evaluate_all("mounts => mounts.map((mount) => mount.dataset.kind)"))
    return next((kind for kind in ("chart", "player") if kind in kinds), "text")


def test_pages_are_served_gzipped(address, open_page):
    page, watch = open_page(address("sample"), "book/plain.html")
    page.wait_for_load_state("networkidle")
    raw = len(page.evaluate("fetch(location.href).then((reply) => reply.text())"))
    assert watch.sizes[page.url] < raw * 0.6


def test_widget_scripts_are_small(sample):
    scripts = sorted((sample / "_static" / "widgets").glob("*.js"))
    assert [script.stem for script in scripts] == ["player"]
    for script in scripts:
        assert len(gzip.compress(script.read_bytes(), 6)) <= WIDGET, script.name


def test_schedules_stay_light(sample):
    """A page loads one collective's script and the index."""
    for script in (sample / "_static" / "schedules").glob("*.js"):
        assert len(gzip.compress(script.read_bytes(), 6)) <= 40 * KB, script.name
