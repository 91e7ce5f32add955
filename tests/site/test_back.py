"""Who comes back: where one stopped, what is new, how far one is, and all of it in one file, saved, opened and refused."""

import json
import re

import pytest
from bs4 import BeautifulSoup
from landing import assert_unmoved
from tabs import until

from website.changes import entries

READ = {"at": 0.5, "seen": "2026-01-02T03:04:05.000Z", "bands": [*range(10)], "id": "how-long", "section": "How long?"}
KEEP = "([name, value]) => localStorage.setItem(name, JSON.stringify(value))"
KEPT = "name => JSON.parse(localStorage.getItem(name))"
STAMP = {"bytes-in-motion": 1, "saved": "2026-01-02T03:04:05.000Z"}
GUESS = {"said": [4], "truth": [2], "unit": "ms", "units": {"ms": 1e-3}, "kind": "number", "text": "2 ms"}
GUESS |= {"question": "How long?", "page": "book/ring", "chapter": "The ring", "at": "guess-x"}


def test_changes_have_names_by_their_first_words():
    told = entries("# A\n\n- One `call`, and\n  [more](of-it) of it.\n- Two\n")
    assert list(told.values()) == ["One call, and more of it.", "Two"]
    long = "- It was so long ago that nobody will remember what it was about, {}\n"
    assert [*entries(long.format("once"))] == [*entries(long.format("or when"))] != [*told]


def test_what_is_read_is_kept_marked_and_found_again(site_address, open_page):
    page, watch = open_page(site_address, "book/ring.html", height=800)
    until(page, "() => localStorage.getItem('bim-progress')")
    page.evaluate("document.getElementById('sources').scrollIntoView({ behavior: 'instant' })")
    until(page, "() => JSON.parse(localStorage.getItem('bim-progress'))['book/ring'].id === 'sources'")
    ring = page.evaluate(KEPT, "bim-progress")["book/ring"]
    assert 0 < ring["at"] < 0.5 and ring["section"] == "Sources", "who leaps has not read what lies between"
    assert page.locator("li.bim-done").count() == 0
    page.evaluate(KEEP, ["bim-progress", {"book/ring": READ, "book/units": {**READ, "at": 0.9, "seen": "2025"}}])
    page.evaluate(KEEP, ["bim-seen", []])
    page.goto(f"{site_address}/book/intro.html")
    back = page.locator(".bim-text > :first-child")
    assert back.locator("p").inner_text().startswith("You stopped at Ring, How long?, on 2 January")
    assert back.get_by_role("link").get_attribute("href") == "../book/ring.html#how-long"
    assert page.locator("li.bim-done").get_attribute("data-page") == "book/units"
    assert_unmoved(page, "front page")
    back.locator("summary").click()
    until(page, "() => document.querySelector('.bim-again li')")
    assert back.locator("li").count() == int(re.search(r"\d+", back.locator("summary").inner_text())[0])
    page.reload()
    assert back.locator("summary").count() == 0, "they were looked at"
    watch.assert_clean("coming back")


def test_who_comes_for_the_first_time_is_told_nothing(site_address, open_page):
    page, _ = open_page(site_address, "book/intro.html")
    assert page.locator(".bim-again").count() == 0


def test_the_table_counts_what_each_chapter_and_its_lab_ask(site):
    rows = BeautifulSoup((site / "book/guesses.html").read_text(), "html.parser").select(".bim-progress tbody tr")
    for row in rows:
        pages = [(site / f"{row[name]}.html").read_text() for name in ("data-page", "data-lab")]
        names = {name for text in pages for name in re.findall(r'class="bim-predict[^>]* id="guess-([^"]+)"', text)}
        assert len(names) >= 3 and row.select("td")[-1].text == f"of {len(names)}", row["data-page"]
    assert len(rows) == 31


def test_all_that_is_kept_goes_into_a_file_and_comes_back_by_the_newest(site_address, open_page, tmp_path):
    page, watch = open_page(site_address, "book/guesses.html", width=375)
    page.evaluate(KEEP, ["bim-guesses", {"ring:a": GUESS, "ring:b": GUESS}])
    page.evaluate(KEEP, ["bim-progress", {"book/ring": READ}])
    page.evaluate("localStorage.setItem('bim-reading', 'guess')")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save all as a file").click()
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    for _ in range(2):
        page.locator(".bim-kept button").last.click()
    assert page.evaluate("Object.keys(localStorage).filter((name) => name !== 'bim-progress')") == []
    newer = {**GUESS, "said": [8], "when": "2026-01-03T00:00:00.000Z"}
    later = {**READ, "bands": [10, 11], "seen": "2026-01-03T00:00:00.000Z", "section": "Later"}
    page.evaluate(KEEP, ["bim-guesses", {"ring:b": newer, "ring:c": newer}])
    page.evaluate(KEEP, ["bim-progress", {"book/ring": later}])
    page.locator(".bim-kept input").set_input_files(saved)
    until(page, "() => document.querySelector('.bim-kept-said').textContent.startsWith('Opened')")
    assert page.evaluate(KEPT, "bim-guesses") == {"ring:a": GUESS, "ring:b": newer, "ring:c": newer}
    ring = page.evaluate(KEPT, "bim-progress")["book/ring"]
    assert (ring["at"], ring["section"], len(ring["bands"])) == (0.6, "Later", 12)
    assert page.evaluate("localStorage.getItem('bim-reading')") == "guess"
    row = page.locator(".bim-progress tr[data-page='book/ring']").inner_text()
    assert "60 %" in row and re.search(r"\b3 of \d", row)
    assert page.locator(".bim-guessed circle").count() == 3
    watch.assert_clean("a file")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("junk", "it is no JSON"),
        (json.dumps({"a": 1}), "no page of this book saved it"),
        (json.dumps({**STAMP, "saved": "once", "kept": {}}), "no page of this book saved it"),
        (json.dumps({**STAMP, "kept": {"bim-guesses": {"ring:x": {**GUESS, "said": ["<b>"]}}}}), 'has "ring:x"'),
        (json.dumps({**STAMP, "kept": {"bim-guesses": {"ring:x": {**GUESS, "page": "//a.b/c"}}}}), 'has "ring:x"'),
        (json.dumps({**STAMP, "kept": {"bim-progress": {"book/ring": {**READ, "bands": [20]}}}}), 'has "book/ring"'),
        (json.dumps({**STAMP, "kept": {"other": "1"}}), 'has "other"'),
    ],
)
def test_a_file_that_is_none_is_refused_whole(text, said, site_address, open_page, tmp_path):
    page, _ = open_page(site_address, "book/guesses.html")
    path = tmp_path / "other.json"
    path.write_text(text)
    page.locator(".bim-kept input").set_input_files(path)
    until(page, "() => document.querySelector('.bim-kept-said').textContent")
    told = page.locator(".bim-kept-said").inner_text()
    assert told.startswith('Nothing of "other.json" was taken: ') and said in told
    assert page.evaluate("localStorage.getItem('bim-guesses')") is None
