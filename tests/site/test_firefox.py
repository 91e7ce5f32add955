"""Every chapter in Firefox, from the server or from a folder: it lives, links land, axe is content, what is pressed changes it.

Wide and light, opened by the link of its last widget; then narrow and dark, by that of its last section. Bytes over the wire and
layout shift, which Firefox does not tell, are test_pages' business.
"""

import pytest
from axe import OF_THEMES, OF_WIDTHS, violations
from books import ROOT, pages_of_toc
from landing import (
    assert_copied_links_land,
    assert_landed,
    assert_links_land,
    assert_rooms,
    last_places,
)
from pages import (
    assert_contents_tell_what_is_read,
    assert_players_fit_a_screen,
    assert_what_is_cut_has_an_edge,
    read_through,
)
from presses import guess_everything, light_marks, press_everything
from test_pages import DRAWN

THEMES = {1280: "light", 375: "dark"}
CHAPTERS = [path for path in pages_of_toc(ROOT) if path.startswith("book/")]
FROM_FOLDERS = ["book/ring.html", "book/allocator.html", "book/roofline.html"]  # a player, a timeline and charts


@pytest.mark.firefox
@pytest.mark.matrix("whole pages in Firefox")
@pytest.mark.parametrize("path", CHAPTERS)
def test_a_chapter_lives_in_firefox(path, site_address, site, open_in_firefox):
    walk(open_in_firefox, site_address, site, path)


@pytest.mark.firefox
@pytest.mark.matrix("whole pages in Firefox")
@pytest.mark.parametrize("path", FROM_FOLDERS)
def test_a_chapter_lives_in_firefox_from_a_folder(path, site, open_in_firefox):
    walk(open_in_firefox, site.as_uri(), site, path)


def walk(open_in_firefox, home, site, path):
    """All that a reader does there, in both looks."""
    places = last_places(site / path)
    section, last = places[0], places[-1]
    page, watch = open_in_firefox(home, path + last)
    look(page, path + last, 1280)
    page.set_viewport_size({"width": 375, "height": 900})
    page.goto(f"{home}/{path}{section}")
    page.reload()
    look(page, path + section, 375, (*OF_THEMES, *OF_WIDTHS))
    guess_everything(page)
    press_everything(page)
    light_marks(page)
    assert_copied_links_land(page, path)
    assert page.locator(".bim-chart svg.main-svg").count() >= page.locator('.bim-mount[data-kind="chart"]').count()
    watch.assert_clean(path)


def look(page, path, width, rules=()):
    """Where everything is, before anything is pressed."""
    assert_landed(page, path)
    read_through(page)
    page.evaluate(DRAWN, THEMES[width])
    assert_contents_tell_what_is_read(page)
    assert_links_land(page, path)
    assert_rooms(page, path)
    assert_players_fit_a_screen(page)
    assert_what_is_cut_has_an_edge(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{path}, {width} px: scrolls sideways"
    assert violations(page, rules) == [], f"{path}, {width} px"
