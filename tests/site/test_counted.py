"""Counted over all pages and labs: who reads has everything open, who guesses answers by keys, and every chapter is two presses away."""

import re
from os.path import relpath
from urllib.parse import urljoin

import pytest
from books import ROOT, pages_of_toc
from bs4 import BeautifulSoup
from lanes import some_rows
from tabs import until

PAGES = pages_of_toc(ROOT)
FIFTH = PAGES[3::5]  # chapters and labs
SHARES = [
    (FIFTH, 12),
    ([path for path in PAGES if path not in FIFTH], 48),
]  # and at least so many kinds of guesses there
LIGHT = "**/*.{woff2,css.map}", "**/widgets/*.js", "**/schedules/**", "**/vendor/**"  # what covers nothing
# Words and pictures of the text that no reader can see, but for what is folded or hidden on purpose; a widget's own is its own.
COVERED = """() => {
    const open = (node) => node.checkVisibility() && !node.closest(".bim-mount, .bim-sketch, .headerlink, .bim-icon, summary");
    const plain = ({ color, filter, visibility, opacity }) =>
        !/(?:, |\\/ )0\\)$|^transparent$/.test(color) && filter === "none" && visibility === "visible" && +opacity > 0;
    const all = [...document.querySelectorAll(".bim-text *")];
    const says = (node) => [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    const words = all.filter((node) => says(node) && open(node) && !plain(getComputedStyle(node)));
    const pictures = [...document.querySelectorAll(".bim-text :is(.bim-mount, figure, img)")].filter((one) => {
        const folded = one.closest("details:not([open])");
        for (let node = one; node.matches(".bim-text *"); node = node.parentElement) {
            const { display, filter, visibility, opacity } = getComputedStyle(node);
            if (display === "none" || filter !== "none" || visibility !== "visible" || +opacity === 0) return true;
        }
        return folded && !folded.matches(".sd-dropdown"); // an exercise's solution
    });
    const answers = document.querySelectorAll(".bim-predict:not(.bim-exercise) .bim-predict-answer");
    const waits = document.querySelectorAll("details.bim-waits[data-waits]");
    return {
        words: words.filter((one) => !one.matches(".katex *, .bim-copy")).map((one) => one.textContent),
        pictures: pictures.map((one) => one.className),
        answers: [...answers].filter((one) => !one.checkVisibility()).length + [...waits].filter((one) => !one.open).length,
    };
}"""
GUESS = """() => {
    document.querySelector(".bim-top .bim-reading").click();
    const kinds = new Map([...document.querySelectorAll(".bim-predict")].map((one) => [JSON.parse(one.dataset.guess).kind, one]));
    return [...kinds.values()].map(({ id }) => id);
}"""
# Blocks of which a key does not reach a control, or no key sends it.
DUMB = """() => [...document.querySelectorAll(".bim-predict")].filter((block) => {
    const inputs = [...block.querySelectorAll("form input")];
    const reached = inputs.filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility());
    return !inputs.length || reached.length < inputs.length || block.querySelector("form button").type !== "submit";
}).map(({ id }) => id)"""
TOLD = """(ids) => ids.filter((id) => {
    const block = document.getElementById(id);
    return !("told" in block.dataset) || !block.querySelector(".bim-predict-answer").checkVisibility();
})"""


@pytest.fixture
def opened(site_address, open_page):
    """opened(path): the page as it stands before a widget is drawn."""
    page, _ = open_page(site_address, PAGES[0])
    for pattern in LIGHT:
        page.route(pattern, lambda route: route.abort())

    def of(path: str):
        page.goto(f"{site_address}/{path}", wait_until="domcontentloaded")
        until(page, "() => !('letters' in document.documentElement.dataset)")
        return page

    return of


@pytest.mark.parametrize(
    ("paths", "least"),
    some_rows(SHARES, SHARES[:1], "what is covered on the other pages"),
    ids=("a fifth", "the others"),
)
def test_who_reads_has_everything_open_and_who_guesses_answers_by_keys(opened, paths, least):
    covered, hidden, silent, asked = {}, {}, {}, 0
    for path in paths:
        page = opened(path)
        covered[path] = [*page.evaluate(COVERED).values()]
        kinds = page.evaluate(GUESS)
        hidden[path] = page.evaluate(COVERED)["pictures"]
        silent[path] = page.evaluate(DUMB) + by_keys(page, kinds)
        asked += len(kinds)
        page.evaluate("localStorage.clear()")
    assert {path: found for path, found in covered.items() if found != [[], [], 0]} == {}
    assert {path: found for path, found in [*hidden.items(), *silent.items()] if found} == {}
    assert asked >= least


def by_keys(page, ids: list[str]) -> list[str]:
    """The first control of a block takes a digit or an arrow, and Enter sends it. -> the blocks that told nothing then"""
    for one in ids:
        page.evaluate("id => document.getElementById(id).querySelector('input').focus()", one)
        for key in ("1", "ArrowUp", "Enter"):
            page.keyboard.press(key)
    return page.evaluate(TOLD, ids)


def test_from_any_page_any_chapter_is_two_presses_away(site):
    """Of the list of chapters one part is open, the page's own; a press opens another. On a telephone one button opens all of them."""
    for path in PAGES:
        html = (site / path).read_text(encoding="utf-8")
        links = BeautifulSoup(re.search(r'<nav [^>]*id="chapters".*?</nav>', html, re.DOTALL)[0], "html.parser").select(
            "a"
        )
        assert {urljoin(path, link["href"].rstrip("#") or path.rpartition("/")[2]) for link in links} == {*PAGES}, path
        assert all(len(link.find_parents("details")) <= 1 for link in links), path
        (current,) = [link for link in links if link.get("aria-current") == "page"]
        assert current["href"] == "#" and all(part.has_attr("open") for part in current.find_parents("details")), path
        assert 'popovertarget="chapters"' in html, path


@pytest.mark.parametrize(
    ("path", "goal", "width"),
    [
        ("book/reading-a-trace.html", "book/roofline.html", 1280),
        ("notebooks/pipeline.html", "book/recorded-runs.html", 1280),
        ("book/setup.html", "notebooks/reading-a-trace.html", 375),
    ],
)
def test_two_presses_lead_there_and_the_current_entry_is_in_view(path, goal, width, site_address, open_page):
    page, _ = open_page(site_address, path, width=width, height=800 if width == 1280 else 667)
    presses = [page.get_by_role("button", name="Chapters")] if width == 375 else []
    for button in presses:
        button.click()
    assert in_view(page)
    link = page.locator(f"#chapters a[href='{relpath(goal, path.partition('/')[0])}']")
    if not link.is_visible():
        presses.append(
            page.locator("#chapters details", has=page.locator(f"li[data-page='{goal.removesuffix('.html')}']"))
        )
        presses[-1].locator("summary").click()
    link.click()
    page.wait_for_url(f"**/{goal}")
    assert len(presses) + 1 <= 2


def in_view(page) -> bool:
    """The current entry lies in the list's own window, and in the page's."""
    return page.evaluate(
        """() => {
            const [box, line] = ["#chapters", "#chapters [aria-current]"].map((one) => document.querySelector(one).getBoundingClientRect());
            return line.top >= box.top && line.bottom <= Math.min(box.bottom, innerHeight) && line.height > 0;
        }"""
    )
