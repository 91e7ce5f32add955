"""What a page costs over the wire, gzipped, before anybody touches it."""

import gzip

from pages import KB

WIDGETS = {"player": 15 * KB, "primitive": 10 * KB}


def test_pages_are_served_gzipped(address, open_page):
    page, watch = open_page(address("sample"), "book/plain.html")
    page.wait_for_load_state("networkidle")
    raw = len(page.evaluate("fetch(location.href).then((reply) => reply.text())"))
    assert watch.sizes[page.url] < raw * 0.6


def test_widget_scripts_are_small(sample):
    scripts = sorted((sample / "_static" / "widgets").glob("*.js"))
    assert [script.stem for script in scripts] == list(WIDGETS)
    for script in scripts:
        assert len(gzip.compress(script.read_bytes(), 6)) <= WIDGETS[script.stem], script.name


def test_schedules_stay_light(sample):
    """A page loads one collective's script and the index."""
    for script in (sample / "_static" / "schedules").glob("*.js"):
        assert len(gzip.compress(script.read_bytes(), 6)) <= 80 * KB, script.name
