"""The map and the strips: every chapter has its place, nothing is more than two presses away, names lie apart, the map zooms by keys."""

import gzip
import posixpath
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from axe import violations
from books import ROOT, pages_of_toc
from bs4 import BeautifulSoup
from pages import KB

from website.map.places import DATA, WAYS, faults, scales
from website.map.run import run

PAGES = [path.removesuffix(".html") for path in pages_of_toc(ROOT)]
CHAPTERS = [page for page in PAGES[1:] if page.startswith("book/")]
WHOLE = "book/intro.html"


@cache
def soup_of(site: Path, page: str) -> BeautifulSoup:
    return BeautifulSoup((site / f"{page}.html").read_text(), "html.parser")


def targets(soup: BeautifulSoup, page: str, selector: str) -> list[str]:
    """The pages that links lead to."""
    names = [link["href"].partition("#")[0] or f"{Path(page).name}.html" for link in soup.select(selector)]
    return [posixpath.normpath(f"{Path(page).parent}/{name}").removesuffix(".html") for name in names]


def test_every_chapter_has_one_place():
    assert faults(CHAPTERS) == []


def test_a_chapter_without_a_place_and_a_place_without_a_chapter_are_told():
    assert faults([*CHAPTERS, "book/new"]) == [f"book/new has no place on the map: give it one in {DATA.name}"]
    assert faults(CHAPTERS[1:]) == [f"{CHAPTERS[0]} has a place on the map and no page"]


def test_every_chapter_is_a_link_on_the_map_and_in_its_list_with_its_lab(site):
    soup = soup_of(site, PAGES[0])
    assert targets(soup, PAGES[0], ".bim-map-view svg a") == CHAPTERS
    listed = targets(soup, PAGES[0], ".bim-map li a")
    assert sorted(listed) == sorted(PAGES[1:])
    assert [link["data-page"] for link in soup.select(".bim-map-view svg a")] == CHAPTERS


@pytest.mark.parametrize("page", PAGES[1:])
def test_a_page_says_where_it_is_and_every_chapter_is_two_presses_away(site, page):
    """The first press unfolds a part of the list of chapters, or opens the list on a telephone, where its parts lie open."""
    soup = soup_of(site, page)
    chapter = f"book/{Path(page).name}"
    assert soup.select_one("nav.bim-here .bim-you")["data-page"] == chapter
    i = CHAPTERS.index(chapter)
    assert targets(soup, page, "nav.bim-here p a[data-page]") == [
        *CHAPTERS[max(i - 1, 0) : i],
        *CHAPTERS[i + 1 : i + 2],
    ]
    pair = {page, chapter, f"notebooks/{Path(page).name}"} & set(PAGES) - {page}
    told = targets(soup, page, ":is(nav.bim-here, .bim-card) a.reference[href], nav.bim-here p a:not([data-page])")
    assert pair <= set(told) and all(told.count(one) == 1 for one in pair), "the lab is named once"
    assert set(CHAPTERS) <= set(targets(soup, page, "#chapters a"))
    assert max(len(link.find_parents("details")) for link in soup.select("#chapters a")) == 1
    assert targets(soup, page, "nav.bim-here > a") == [PAGES[0]]


def test_the_map_is_light(site):
    figure = str(soup_of(site, PAGES[0]).select_one(".bim-map"))
    played = str(soup_of(site, PAGES[0]).select_one(".bim-map-run"))
    files = {path.name: path.read_bytes() for path in (site / "_static" / "map").iterdir()}
    assert files.keys() == {"map.css", "map.js", "here.css", "run.css", "run.js"}
    run = [played.encode(), *(files.pop(name) for name in ("run.css", "run.js"))]
    drawn = [figure.replace(played, "").encode(), *files.values()]
    assert sum(map(len, drawn)) <= 25 * KB and sum(map(len, run)) <= 10 * KB
    drawn, run = (sum(len(gzip.compress(part, 6)) for part in parts) for parts in (drawn, run))
    assert drawn <= 8 * KB and run <= 4 * KB
    strips = [len(str(soup_of(site, page).select_one("nav.bim-here"))) for page in PAGES[1:]]
    assert max(strips) <= 5 * KB


APART = """() => {
    const words = [...document.querySelectorAll(".bim-map-view text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
    const dots = [...document.querySelectorAll(".bim-map-view circle")].map((one) => ["a dot", one.getBoundingClientRect()]);
    const all = [...words, ...dots];
    const wide = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    const cut = (a, b) => wide(a, b) > 1 && high(a, b) > 4;
    const edge = document.querySelector(".bim-map-view svg").getBoundingClientRect();
    return [
        ...all.flatMap(([a, box], i) => all.slice(i + 1).filter(([, other]) => cut(box, other)).map(([b]) => `${a} on ${b}`)),
        ...words.filter(([, box]) => box.right > edge.right || box.left < edge.left).map(([a]) => `${a} over the edge`),
    ];
}"""


@pytest.mark.parametrize("width", [1280, 375])
def test_names_lie_apart_and_large_enough(address, open_page, width):
    page, watch = open_page(address("site"), WHOLE, width=width)
    assert page.evaluate(APART) == []
    assert page.evaluate("document.querySelector('.bim-map-view svg').clientWidth / 800 * 11") >= 9
    watch.assert_clean(WHOLE)


def test_the_map_zooms_by_keys_and_buttons_and_moves_nothing_else(address, open_page):
    page, _ = open_page(address("site"), WHOLE)
    wide = "document.querySelector('.bim-map-view svg').clientWidth"
    below = "document.querySelector('.bim-map figcaption').getBoundingClientRect().top + scrollY"
    before, place = page.evaluate(wide), page.evaluate(below)
    page.get_by_role("button", name="Zoom in").click()
    page.keyboard.press("+")
    assert page.evaluate(wide) == pytest.approx(2.25 * before, abs=2)
    assert page.evaluate(below) == pytest.approx(place, abs=1)
    left = "document.querySelector('.bim-map-view').scrollLeft"
    was, box = page.evaluate(left), page.locator(".bim-map-view").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + 240, box["y"] + 90, steps=4)
    page.mouse.up()
    assert page.evaluate(left) == was + 60 and page.url.endswith("intro.html")
    page.evaluate("document.querySelector('.bim-map-view').scrollLeft = 0")
    page.locator(".bim-map-view").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"() => {left} > 0")
    page.keyboard.press("-")
    assert page.evaluate(wide) == pytest.approx(1.5 * before, abs=2)
    page.locator(".bim-map-view").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    page.wait_for_function(f"() => {wide} > {1.6 * before}")
    page.keyboard.press("0")
    assert (page.evaluate(wide), page.evaluate(below)) == (before, pytest.approx(place, abs=1))


def bottom(page, selector: str) -> float:
    return page.locator(selector).last.bounding_box()["y"] + page.locator(selector).last.bounding_box()["height"]


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (375, 667)])
def test_an_all_reduce_plays_in_the_first_window(address, open_page, width, height):
    page, watch = open_page(address("site"), WHOLE, width=width, height=height)
    assert bottom(page, ".bim-map-run") < bottom(page, ".bim-map-sum") < height
    assert width < 1000 or bottom(page, ".bim-map figcaption") < height
    page.get_by_role("button", name="Play", exact=True).first.click()
    page.wait_for_function("() => document.querySelector('.bim-map-run p').textContent.startsWith('Step 2 of 14')")
    view = page.locator(".bim-map-view").bounding_box()
    for cell in page.locator(".bim-map-bytes g").all():
        box = cell.bounding_box()
        assert view["x"] <= box["x"] and box["x"] + box["width"] <= view["x"] + view["width"] and box["y"] > 56
    page.get_by_role("button", name="Pause").click()
    watch.assert_clean(WHOLE)


def test_arrow_keys_lead_from_place_to_place(address, open_page):
    page, _ = open_page(address("site"), WHOLE)
    page.locator("#at-ring").focus()
    for key, there in (
        ("ArrowDown", "playground"),
        ("ArrowUp", "ring"),
        ("ArrowRight", "units"),
        ("ArrowLeft", "ring"),
    ):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == f"at-{there}"


def test_the_all_reduce_steps_by_keys_until_every_gpu_is_full(address, open_page):
    page, _ = open_page(address("site"), WHOLE, reduced_motion="reduce")
    told = run()
    page.get_by_role("button", name="Step forward").first.focus()
    for says, done in zip(told["says"][1:], told["done"][1:], strict=True):
        page.keyboard.press("ArrowRight")
        assert page.locator(".bim-map-run p").inner_text() == says
        assert (
            page.evaluate("document.querySelector('.bim-map-view svg').style.getPropertyValue('--done')")
            == f"{done / 8:g}"
        )
    assert page.locator(".bim-map-bytes [fill][visibility=inherit]").count() == 64
    page.keyboard.press("ArrowLeft")
    assert page.locator(".bim-map-run p").inner_text() == told["says"][-2]


def test_a_telephone_shows_the_whole_map_when_asked(address, open_page):
    page, _ = open_page(address("site"), WHOLE, width=375)
    wide = "document.querySelector('.bim-map-view svg').getBoundingClientRect().width - document.querySelector('.bim-map-view').clientWidth"
    below = "document.querySelector('.bim-map figcaption').getBoundingClientRect().top + scrollY"
    place = page.evaluate(below)
    assert page.evaluate(wide) > 100
    page.get_by_role("button", name="All of the map").click()
    assert page.evaluate(below) == pytest.approx(place, abs=1)
    assert page.evaluate(wide) == pytest.approx(0, abs=1)
    page.get_by_role("button", name="Zoom in").click()
    assert page.evaluate(wide) > 100


def test_the_map_leads_on_without_scripts(address, open_page):
    page, _ = open_page(address("site"), WHOLE, java_script_enabled=False)
    assert not page.locator(":is(.bim-map-zoom, .bim-map-run)").first.is_visible()
    page.locator(".bim-map-view svg a[data-page='book/ring'] text").click()
    page.wait_for_load_state()
    assert page.url.endswith("/book/ring.html")
    assert page.locator("nav.bim-here").bounding_box()["height"] <= 64
    page.locator("nav.bim-here > a").click()
    assert page.url.endswith("intro.html#at-ring")


@pytest.mark.parametrize("width", [1280, 375])
def test_axe_is_content_with_map_and_strip(address, open_page, width):
    for path in (WHOLE, "notebooks/halving-doubling.html"):
        page, _ = open_page(address("site"), path, width=width)
        assert violations(page) == []
        assert path == WHOLE or page.locator("nav.bim-here").bounding_box()["height"] <= 64


def test_widths_are_to_one_scale(site):
    svg = soup_of(site, PAGES[0]).select_one(".bim-map-view svg")
    nvlink, card = (float(svg.select_one(look)["stroke-width"]) for look in (".bim-wire", ".bim-thread"))
    points = re.findall(r"[\d.]+,([\d.]+)", svg.select_one(".bim-river")["d"])
    upper, lower = list(map(float, points[:8])), list(map(float, points[:7:-1]))
    shared, hbm, mouth = (lower[i] - upper[i] for i in (0, 3, 7))
    drawn = [shared / hbm, hbm / nvlink, nvlink / card]
    published = [WAYS["sm"], WAYS["gpu"], WAYS["node"], WAYS["cluster"]]
    assert drawn == pytest.approx([a.value / b.value for a, b in pairwise(published)], rel=0.02)
    assert mouth == pytest.approx(nvlink, abs=0.1)


def test_every_scale_but_the_desk_tells_its_bandwidth(site):
    told = [one.text for one in soup_of(site, PAGES[0]).select(".bim-map .bim-way")]
    assert len(told) == len(scales()) - 1 and all("TB/s" in one or "GB/s one way per GPU" in one for one in told)
