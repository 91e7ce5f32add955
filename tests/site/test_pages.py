"""Every page, light and dark, on a telephone and on a screen, from a server and from a folder: it lives, links land, axe is content.

Wide, from the server, a page changes its theme in place; narrow it comes from the folder, where nothing may move, or it changes its
width in place. After a change axe asks what it can change, and widgets are pressed once. `make test` does so with pages of every
kind and with a lab; the other chapters are opened narrow, and read to their end. Kinds of widgets that no such page has are moved by
a key in tests/view/test_contract.py.
No width has colours of its own (test_website.py), so contrast is asked in both themes on a screen.
Each opening follows a link, the wide one to the last widget, the narrow one to the last section, when nothing there is alive.
"""

import re
from pathlib import Path

import pytest
from axe import OF_THEMES, OF_WIDTHS, violations
from books import ROOT, SAMPLE, pages_of_toc
from landing import (
    assert_copied_links_land,
    assert_landed,
    assert_links_land,
    assert_rooms,
    assert_unmoved,
    last_places,
)
from lanes import MOVED_BY_A_KEY, some
from pages import (
    assert_contents_tell_what_is_read,
    assert_keys_show_patterns,
    assert_players_fit_a_screen,
    assert_what_is_cut_has_an_edge,
    assert_within_budget,
    assert_words_of_charts_apart,
    read_through,
)
from presses import guess_everything, light_marks, press_everything, press_the_first_key
from tabs import until

BOOKS = {"site": ROOT, "sample": SAMPLE}
PAGES = [(book, path) for book, source in BOOKS.items() for path in pages_of_toc(source)]
LABS = [(book, path) for book, path in PAGES if book == "site" and path.startswith("notebooks/")]
CHAPTERS = [page for page in PAGES if page[0] == "site" and page not in LABS]
SEEN = ["notebooks/hangs.html"]
# Of every kind of page one: a start, a list, chapters with sketches, with guesses, with one player, with many widgets.
WHOLE = ["intro", "setup", "guesses", "too-big", "playground", "sharded", "overlap", "yours"]
SCREENS = some(
    PAGES,
    [
        page
        for page in PAGES
        if page[0] == "sample" or page[1] in SEEN or (page in CHAPTERS and Path(page[1]).stem in WHOLE)
    ],
    "one more page pressed and asked by axe",
)
OTHERS = [page for page in CHAPTERS if Path(page[1]).stem not in WHOLE]
FROM_FOLDER = ["intro", "guesses", "ring"]
ALSO_FROM_FOLDERS = [
    page for page in PAGES if page[0] == "sample" or (page in CHAPTERS and Path(page[1]).stem in FROM_FOLDER)
]
FROM_FOLDERS = some(PAGES, ALSO_FROM_FOLDERS, "a page opened again, from a folder")
THEMES = {"light": "dark", "dark": "light"}
DRAWN = """(theme) => {
    document.documentElement.dataset.theme = theme;
    const settled = () => Promise.allSettled(document.getAnimations().map(({ finished }) => finished));
    const later = new Promise((done) => setTimeout(done, 1000));
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
        .then(() => Promise.race([settled(), later]));
}"""


@pytest.mark.parametrize("which", SCREENS, ids="-".join)
def test_a_page_on_a_screen_is_light_and_alive(which, request, address, open_page):
    book, path = which
    last = last_places(request.getfixturevalue(book) / path)[-1]
    page, watch = open_page(address(book), path + last, theme="light", width=1280)
    assert_landed(page, path + last)
    read_through(page)
    assert_at_rest(page, book, path)
    assert_within_budget(page, watch)
    assert_code_fits(page)
    assert_both_themes(page, book, path, "light", 1280)
    if (book, path) in LABS or which not in ALSO_FROM_FOLDERS:
        page.set_viewport_size({"width": 375, "height": 900})
        page.emulate_media(reduced_motion="reduce")
        assert_links_land(page, path)
        assert_rooms(page, path)
        assert_look(page, path, "dark", 375, OF_WIDTHS)
        guess_everything(page)
        press_everything(page)
        press_the_first_key(page)
    light_marks(page)
    watch.assert_clean(path)


@pytest.mark.parametrize("which", OTHERS, ids="-".join)
def test_every_other_page_is_alive_on_a_telephone(which, address, open_page):
    """Nothing is pressed, no link followed, and axe is not asked: what stands there is on the pages above, too."""
    book, path = which
    page, watch = open_page(address(book), path, theme="dark", width=375, reduced_motion="reduce")
    read_through(page)
    assert_at_rest(page, book, path)
    assert_within_budget(page, watch)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert_what_is_cut_has_an_edge(page)
    assert_rooms(page, path)
    watch.assert_clean(path)


def test_every_kind_of_widget_is_pressed_on_a_page_or_moved_by_a_key(site):
    def kinds(paths):
        return {kind for path in paths for kind in re.findall(r'data-kind="(\w+)"', (site / path).read_text())}

    assert kinds(path for _, path in CHAPTERS) == kinds(f"book/{stem}.html" for stem in WHOLE) | set(MOVED_BY_A_KEY)


@pytest.mark.parametrize("which", FROM_FOLDERS, ids="-".join)
def test_a_page_on_a_telephone_lives_from_a_folder(which, request, open_page):
    book, path = which
    home = request.getfixturevalue(book)
    last = last_places(home / path)[0]
    page, watch = open_page(home.as_uri(), path + last, theme="dark", width=375, reduced_motion="reduce")
    assert_landed(page, path + last)
    assert_links_land(page, path)
    read_through(page)
    assert_at_rest(page, book, path)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert_look(page, path, "dark", 375, OF_WIDTHS)
    guess_everything(page)
    press_everything(page)
    light_marks(page)
    press_the_first_key(page)
    assert_copied_links_land(page, path)
    assert page.locator(".bim-chart svg.main-svg").count() >= page.locator('.bim-mount[data-kind="chart"]').count()
    watch.assert_clean(path)
    assert all(url.startswith(("file:", "data:")) for url in watch.asked)


CUT_CODE = """() => [...document.querySelectorAll(".bim-text .highlight > pre")]
    .filter((code) => !code.closest(".cell_output, li") && code.scrollWidth > code.clientWidth + 1)
    .map((code) => code.textContent.split("\\n").toSorted((one, other) => other.length - one.length)[0])
    .filter((longest) => longest.length <= 88)"""


CUT_TABLES = """() => [...document.querySelectorAll(".bim-text > section .bim-sideways:has(> table)")]
    .filter((box) => !box.closest(".bim-mount, .cell_output") && box.scrollWidth > box.clientWidth + 1)
    .map((box) => box.textContent.slice(0, 80))"""


def assert_code_fits(page):
    """At 1280 px the column has room for a table, and for code of 88 letters; what is taken from helpers may be longer."""
    assert page.evaluate(CUT_CODE) == page.evaluate(CUT_TABLES) == []


def assert_both_themes(page, book, path, first, width):
    """In `first`, which is the page's theme, and after the switch; the sample book in one: the real ones hold all that it does."""
    assert page.evaluate("document.documentElement.dataset.theme") == first
    assert_look(page, path, first, width)
    if book == "site":
        assert_look(page, path, THEMES[first], width, OF_THEMES)


def assert_look(page, path, theme, width, rules=()):
    """Nothing scrolls sideways, what is cut says so, and axe is content, by these rules or by all."""
    page.evaluate(DRAWN, theme)
    look = f"{path}, {theme}, {width} px"
    assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{look}: scrolls sideways"
    assert_what_is_cut_has_an_edge(page)
    assert violations(page, rules) == [], look


def assert_at_rest(page, book, path):
    """What came alive took the room kept for it, the sample's rooms are guessed; nothing moved, players fit a screen, words keep apart."""
    assert_players_fit_a_screen(page)
    assert_words_of_charts_apart(page)
    assert_keys_show_patterns(page)
    if book == "site":
        assert_rooms(page, path)
        assert_unmoved(page, path)
        assert_contents_tell_what_is_read(page)


@pytest.mark.parametrize("book", BOOKS)
@pytest.mark.parametrize("theme", THEMES)
def test_the_search_is_clean_in_every_look(book, theme, address, open_page):
    page, watch = open_page(address(book), "search.html?q=ring", theme=theme)
    read_through(page)
    for width, rules in ((1280, ()), (375, OF_WIDTHS)):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page, rules) == [], f"{theme}, {width} px"
    watch.assert_clean("search.html")


GROW = """async () => {
    const [box] = document.querySelectorAll(".bim-math");
    const before = [box.tabIndex, box.clientHeight];
    box.style.letterSpacing = "4em"; // wider and not higher, as letters are in another font
    const [font] = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".woff2"));
    const late = new FontFace("late", `url(${font.name})`);
    document.fonts.add(late);
    await late.load();
    await document.fonts.ready;
    await new Promise(requestAnimationFrame);
    return [...before, box.tabIndex, box.clientHeight, box.scrollWidth > box.clientWidth];
}"""


def test_a_formula_that_grows_when_a_font_arrives_is_reachable_by_keyboard(address, open_page):
    page, _ = open_page(address("site"), "book/too-big.html", width=1280)
    read_through(page)
    before, height, after, same, wide = page.evaluate(GROW)
    assert wide and height == same, "else the box's own size would have told"
    assert (before, after) == (-1, 0)


def test_axe_finds_a_fault(address, open_page):
    page, _ = open_page(address("sample"), "book/plain.html")
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert any(found.startswith("button-name") for found in violations(page))
    assert violations(page, OF_THEMES) == []
    page.evaluate("document.querySelector('main p').style.color = '#ddd'")
    assert {found.partition(":")[0] for found in violations(page, OF_THEMES)} == {"color-contrast"}


def test_watch_sees_what_leaves_home(address, open_page):
    page, watch = open_page(address("sample"), "book/plain.html")
    page.evaluate("document.querySelector('main').append(Object.assign(new Image(), {src: '/nowhere.png'}))")
    page.wait_for_event("console")
    assert watch.failed == [f"{address('sample')}/nowhere.png"]
    with pytest.raises(AssertionError):
        watch.assert_clean("a page with a missing picture")


def test_no_script_from_elsewhere_may_run(address, open_page):
    page, watch = open_page(address("sample"), "book/plain.html")
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
    )
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in error for error in watch.errors)


def test_theme_follows_the_switch_and_is_remembered(address, open_page):
    page, _ = open_page(address("sample"), "book/plain.html", theme="light")
    button = page.get_by_role("button", name="Theme:")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    seen = [told_of_theme(page, button)]
    for _ in range(3):
        button.click()
        page.reload()
        seen.append(told_of_theme(page, button))
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    page.emulate_media(color_scheme="dark")
    system = ("Theme: system", "light", None)
    assert seen == [system, ("Theme: dark", "dark", "dark"), ("Theme: light", "light", "light"), system]
    until(page, "() => document.documentElement.dataset.theme === 'dark'")  # it follows the system again


def told_of_theme(page, button):
    """What the button says, the theme shown, and what is kept of it."""
    shown = "() => [document.documentElement.dataset.theme, localStorage.getItem('bim-theme')]"
    return (button.get_attribute("aria-label"), *page.evaluate(shown))


def test_chapters_open_and_close_on_a_telephone(address, open_page):
    page, watch = open_page(address("sample"), "book/plain.html", width=375)
    chapters = page.get_by_role("navigation", name="Chapters")
    assert not chapters.is_visible()
    page.get_by_role("button", name="Chapters").click()
    assert chapters.is_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    assert not chapters.is_visible()
    watch.assert_clean("chapters")


HERE = """() => {
    const chapters = document.getElementById("chapters");
    const [box, line] = [chapters, chapters.querySelector("[aria-current]")].map((one) => one.getBoundingClientRect());
    return line.top >= Math.max(0, box.top) && line.bottom <= Math.min(innerHeight, box.bottom);
}"""


def test_the_list_of_chapters_opens_where_the_reader_is(address, open_page):
    page, _ = open_page(address("site"), "book/reading-a-trace.html", width=1280)
    assert page.evaluate(HERE)
    page.set_viewport_size({"width": 375, "height": 667})
    page.get_by_role("button", name="Chapters").click()
    until(page, HERE)


def test_what_is_not_drawn_yet_is_reachable_by_keyboard_and_no_stop_afterwards(address, open_page):
    page, _ = open_page(address("site"), "book/halving-doubling.html", width=375)
    page.evaluate("document.getAnimations().forEach((one) => one.finish())")  # two seconds later the fallbacks show
    waiting = page.locator(".bim-mount:not([data-mounted])")
    assert waiting.evaluate_all("all => all.some((one) => one.scrollHeight > one.clientHeight)")
    assert violations(page, ["scrollable-region-focusable"]) == []
    read_through(page)
    assert page.locator(".bim-mount[tabindex], .bim-mount[data-cut]").count() == 0


TAP = (
    "cited => cited.dispatchEvent(new PointerEvent('click', { pointerType: 'touch', bubbles: true, cancelable: true }))"
)


def test_the_source_of_a_number_shows_by_touch_and_by_keyboard(address, open_page):
    page, watch = open_page(address("site"), "book/units.html", width=375)
    note = page.locator("#source")
    fact, recorded = page.locator("a.bim-fact").first, page.locator("abbr.bim-recorded").first
    assert not fact.evaluate(TAP), "the link is not followed"
    assert note.is_visible() and note.get_by_role("link").get_attribute("href") == fact.get_attribute("href")
    assert violations(page) == []
    recorded.evaluate(TAP)
    told = recorded.get_attribute("title")
    assert note.inner_text().lower() == f"{told.lower()}."
    page.keyboard.press("Escape")
    assert not note.is_visible()
    recorded.focus()
    page.keyboard.press("Enter")
    assert note.is_visible()
    watch.assert_clean("sources")


def test_contents_fold_out_where_they_have_no_column(address, open_page):
    page, watch = open_page(address("site"), "book/ring.html", width=800)
    read_through(page)  # what is not alive after two seconds shows its fallback, which scrolls
    contents = page.get_by_role("navigation", name="On this page")
    assert not contents.is_visible()
    page.get_by_role("button", name="On this page").click()
    assert contents.is_visible() and violations(page, OF_WIDTHS) == []
    contents.get_by_role("link", name="Exercises").click()
    assert not contents.is_visible() and page.url.endswith("#exercises")
    watch.assert_clean("contents")


def test_an_edge_shows_on_which_side_code_goes_on(address, open_page):
    page, _ = open_page(address("sample"), "book/kitchen.html", width=375)
    code = page.locator(".bim-text pre[data-cut]").first
    assert code.get_attribute("data-cut") == "right"
    for to, sides in ((20, "left right"), (10_000, "left"), (0, "right")):
        code.evaluate("(box, to) => box.scrollTo({ left: to, behavior: 'instant' })", to)
        page.wait_for_function("([box, sides]) => box.dataset.cut === sides", arg=[code.element_handle(), sides])


def test_search_finds_a_page(address, open_page):
    page, watch = open_page(address("sample"), "book/plain.html")
    page.get_by_role("combobox", name="Search the book").fill("quotation")
    page.keyboard.press("Enter")
    page.locator("#search-results .context").wait_for()
    assert page.locator("#search-results li").count() == 1
    assert page.locator("#search-results li a").inner_text() == "What can stand on a page?"
    watch.assert_clean("search")


ANSWERS = {"execution-model": ".bim-limits table", "interconnects": ".bim-text table", "catalogue": ".bim-algorithms"}
LAST = """(selector) => [...document.querySelector(selector).rows].map((row) => row.cells[row.cells.length - 1].getBoundingClientRect())
    .filter(({ right, width }) => width > 1 && right > innerWidth - 20).length"""


@pytest.mark.parametrize("stem", ANSWERS)
def test_the_column_that_answers_is_in_view_on_a_telephone(stem, address, open_page):
    page, watch = open_page(address("site"), f"book/{stem}.html", width=375)
    read_through(page)
    assert page.locator(ANSWERS[stem]).count() and page.evaluate(LAST, ANSWERS[stem]) == 0
    assert violations(page) == []
    watch.assert_clean(stem)


def test_what_is_found_shows_while_one_types(address, open_page):
    page, watch = open_page(address("sample"), "book/plain.html", width=375)
    assert not [url for url in watch.asked if "search-index" in url]
    page.keyboard.press("/")
    page.keyboard.type("quotation/")
    option = page.get_by_role("option")
    option.first.wait_for()
    assert option.count() == 1 and violations(page) == []
    edges = page.locator(".bim-found").evaluate(
        "box => [box.getBoundingClientRect().left, box.getBoundingClientRect().right]"
    )
    assert edges == [0, 375]
    page.keyboard.press("Escape")
    assert not option.is_visible() and page.get_by_role("combobox").input_value() == "quotation/"
    page.keyboard.press("Control+k")
    page.keyboard.type("quotation")
    option.first.wait_for()
    page.keyboard.press("ArrowDown")
    assert option.get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    page.wait_for_url("**/kitchen.html#what-do-you-guess")
    watch.assert_clean("suggestions")


def test_the_search_page_has_one_box_which_answers_at_once(address, open_page):
    page, _ = open_page(address("sample"), "search.html")
    page.keyboard.press("/")
    page.keyboard.type("quotation")
    page.locator("#search-results .context").wait_for()
    assert page.locator("input[type=search]").count() == 1 and page.url.endswith("?q=quotation")


def test_code_can_be_copied(address, open_page):
    page, _ = open_page(address("sample"), "book/kitchen.html", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy this code").last.focus()
    page.keyboard.press("Enter")
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith(
        "from helpers.collectives import CATALOGUE, check\n"
    )


def test_pages_read_well_without_javascript(address, open_page):
    page, watch = open_page(address("sample"), "book/kitchen.html", java_script_enabled=False)
    assert page.get_by_text("all_reduce by ring on 4 ranks, 64 MiB").is_visible()
    player, primitive = (
        page.locator(".bim-mount[data-kind=player]").first,
        page.locator(".bim-mount[data-kind=primitive]").first,
    )
    assert (player.locator("tbody tr").count(), primitive.locator("tbody tr").count()) == (6, 3)  # steps, and ranks
    assert page.locator(".katex-html").first.is_visible()
    assert page.get_by_text("It folds, and opens without a script.").is_visible()
    assert page.get_by_text("So much stands with the answer.").is_visible()
    assert [form for form in page.locator(".bim-predict form").all() if form.is_visible()] == []
    drawn, word = page.locator(".bim-sketch svg"), page.get_by_text("rank 2", exact=True).first
    assert drawn.is_visible() and page.locator(".bim-sketch .bim-later").count() == 0
    assert not page.locator(".bim-sketch input").is_visible()
    assert word.evaluate("el => [el.tabIndex, getComputedStyle(el, '::before').content]") == [-1, "none"]
    watch.assert_clean("without JavaScript")
