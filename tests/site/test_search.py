"""Search finds what a reader means: forty questions and the page that must come first, from a server and from a folder."""

import tomllib
from pathlib import Path

import pytest
from lanes import some
from pages import read_through

WANTED = tomllib.loads(Path(__file__).with_name("searches.toml").read_text(encoding="utf-8"))
FIRST = "(questions) => questions.map((one) => BytesInMotion.find(one)[0]?.page)"


def test_forty_questions_lead_to_the_page_that_is_meant(address, open_page):
    page, watch = open_page(address("site"), "search.html")
    found = dict(zip(WANTED, page.evaluate(FIRST, list(WANTED)), strict=True))
    assert len(found) >= 40 and {q: page for q, page in found.items() if page != WANTED[q]} == {}
    watch.assert_clean("search")


@pytest.mark.parametrize("from_folder", some([False, True], [True], "search from a server, too"))
def test_a_result_says_where_and_shows_the_words(from_folder, site, address, open_page):
    home = site.as_uri() if from_folder else address("site")
    page, watch = open_page(home, "search.html?q=oom")
    read_through(page)
    first = page.locator("#search-results li").first
    assert first.locator("a").get_attribute("href") == "book/allocator.html#why-is-cuda-out-of-memory-with-memory-free"
    assert {"out", "memory"} <= {word.lower() for word in first.locator("mark").all_inner_texts()}
    assert "Also looked for: out of memory" in page.locator("#search-progress").inner_text()
    first.locator("a").click()
    page.wait_for_url("**/allocator.html*")
    watch.assert_clean("search")


def test_nothing_found_is_said(address, open_page):
    page, _ = open_page(address("site"), "search.html?q=xylophone")
    assert page.locator("#search-progress").inner_text() == "No page has “xylophone”."
    assert page.locator("#search-results li").count() == 0
    assert page.get_by_role("searchbox").last.input_value() == "xylophone"


def test_chapters_come_before_their_labs(address, open_page):
    page, _ = open_page(address("site"), "search.html?q=halving+and+doubling")
    links = page.locator("#search-results li > a").evaluate_all(
        "links => links.map((link) => link.getAttribute('href'))"
    )
    pages = [link.partition("#")[0] for link in links]
    assert pages.index("book/halving-doubling.html") == 0 < pages.index("notebooks/halving-doubling.html")


def test_a_word_inside_another_is_not_the_word(address, open_page):
    page, _ = open_page(address("site"), "search.html?q=changed+hang")
    assert "changed deadlock" in page.locator("#search-progress").inner_text()
    page, _ = open_page(address("site"), "search.html?q=exchanges")
    assert "Also looked for" not in page.locator("#search-progress").inner_text()
