"""Search finds what a reader means: words and the page that must come first, questions of public threads and the section, with or without
a server.
"""

import tomllib
from pathlib import Path

import pytest
from lanes import some
from pages import read_through

HERE = Path(__file__).parent
WANTED = tomllib.loads((HERE / "searches.toml").read_text(encoding="utf-8"))
ASKED = {one["asked"]: one for one in tomllib.loads((HERE / "asked.toml").read_text(encoding="utf-8"))["question"]}
FIRST = "(questions) => questions.map((one) => BytesInMotion.find(one).hits[0] ?? {}).map(({ page, at }) => [page, `${page}#${at}`])"


def test_forty_questions_lead_to_the_page_that_is_meant(address, open_page):
    page, watch = open_page(address("site"), "search.html")
    found = dict(zip(WANTED, page.evaluate(FIRST, list(WANTED)), strict=True))
    assert len(found) >= 40 and {q: page for q, (page, _) in found.items() if page != WANTED[q]} == {}
    watch.assert_clean("search")


def test_questions_of_public_threads_lead_to_the_section_that_answers_them(address, open_page):
    assert len(ASKED) >= 30 and all(
        len(q.split()) <= 12 and one["at"].startswith("https://") for q, one in ASKED.items()
    )
    page, _ = open_page(address("site"), "search.html")
    found = dict(zip(ASKED, page.evaluate(FIRST, list(ASKED)), strict=True))
    assert {q: at for q, (_, at) in found.items() if at != ASKED[q]["first"]} == {}


@pytest.mark.parametrize(
    ("question", "said"),
    [("ring xylophone", "No page has “xylophone”."), ("NCCL_IB_ENABLE", "No page has “nccl_ib_enable”."), ("ring", "")],
)
def test_a_word_that_no_page_has_is_named(question, said, address, open_page):
    page, _ = open_page(address("site"), f"search.html?q={question}")
    assert page.locator("#search-results li").count()
    told = page.locator("#search-progress").inner_text()
    assert told.endswith(said) and ("No page" in told) == bool(said)


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


def test_no_page_is_shown_by_its_exercises_when_another_section_tells_of_it(address, open_page):
    page, _ = open_page(address("site"), "search.html")
    shown = page.evaluate("['fsdp', 'difference between FSDP and DDP'].map((one) => BytesInMotion.find(one).hits[0])")
    assert [one["page"] for one in shown] == ["book/sharded.html"] * 2
    assert not any(one["heading"] == "With a pencil" for one in shown)


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
