"""Code that runs where it stands: what a press does, what it costs before, and that every block gives in the page what is saved."""

import gzip
import html
import re

import pytest
from axe import violations
from books import ROOT
from pages import KB
from tabs import until

from website.blocks import blocks, pages
from website.cells import with_cells

LAB = "notebooks/kitchen.html"
START_MS = 90_000  # as long as Python itself waits for its start; that takes 2 to 3 s
SETTLED = """(number) => {
    const told = document.querySelector(`[data-cell="${number}"] .bim-cell-told`);
    return told && told.textContent && !document.querySelector("[data-runs]");
}"""


@pytest.fixture
def lab(address, open_page):
    """lab(**options) -> (page, watch): the sample's lab."""

    def open_it(home=None, **options):
        page, watch = open_page(home or address("sample"), LAB, **options)
        page.set_default_timeout(START_MS)
        return page, watch

    return open_it


def cell(page, number):
    return page.locator(f'[data-cell="{number}"]')


def output(page, number):
    return cell(page, number).locator("xpath=ancestor::div[contains(@class, 'cell ')]").locator(".cell_output")


def press(page, number, button, said=None):
    cell(page, number).get_by_role("button", name=button).click()
    if said:
        settled(page, number, said)


def settled(page, number, said):
    until(page, SETTLED, number, seconds=START_MS / 1000)
    assert cell(page, number).locator(".bim-cell-told").inner_text().startswith(said)


def write(page, number, code):
    if not cell(page, number).get_by_role("textbox").count():
        press(page, number, "Edit")
    cell(page, number).get_by_role("textbox").fill(code)


# ---- before anybody presses


def test_a_page_that_runs_nothing_loads_the_buttons_alone(lab):
    page, watch = lab()
    page.wait_for_load_state("networkidle")
    assert [re.sub(r".*_static/", "", url) for url in watch.asked if "cells/" in url or "python" in url] == [
        "cells/cells.css",
        "cells/buttons.js",
    ]


def test_the_buttons_are_small(sample):
    files = [sample / "_static" / "cells" / name for name in ("buttons.js", "cells.css")]
    assert sum(len(gzip.compress(file.read_bytes(), 6)) for file in files) <= 3 * KB


def test_nothing_runs_by_itself_also_not_by_a_link(lab, address, open_page):
    page, watch = open_page(address("sample"), f"{LAB}#block-1")
    page.wait_for_load_state("networkidle")
    assert [url for url in watch.asked if "python" in url] == []


def test_a_block_that_needs_ranks_says_so_also_without_javascript(lab):
    page, _ = lab(java_script_enabled=False)
    assert page.locator(".bim-lacks").all_inner_texts() == ["Needs ranks: what it gave stands below"]
    assert page.get_by_role("button", name="Run").count() == 0


def test_every_block_of_the_book_that_runs_has_its_buttons(site):
    """And no other: the number of each stands in the order of its page."""
    found = 0
    for path in pages():
        built = (site / path.relative_to(ROOT).with_suffix(".html")).read_text(encoding="utf-8")
        runs = [block.number for block in blocks(path) if block.runs]
        assert [int(number) for number in re.findall(r' data-cell="(\d+)"', built)] == runs, path.name
        found += len(runs)
    assert found >= 300


def test_a_block_is_marked_by_its_text(tmp_path):
    (tmp_path / "page.md").write_text("```python\na = 1 < 2\n```\n```python\nb = a\n```\n")
    shown = (
        '<div class="highlight-python notranslate"><div class="highlight"><pre><span>{}</span>\n</pre></div>\n</div>'
    )
    body = shown.format(html.escape("b = a")) + shown.format("from nowhere") + shown.format(html.escape("a = 1 < 2"))
    marks = re.findall(r'notranslate"([^>]*)>', with_cells(body, tmp_path / "page"))
    assert marks == [' data-cell="2" data-needs="1"', "", ' data-cell="1"']


# ---- what a press does


def test_a_run_brings_the_blocks_that_it_needs_and_says_so(lab):
    page, watch = lab()
    press(page, 4, "Run", "Done; ran block 1 first")
    drawn = output(page, 4).locator(".bim-mount[data-mounted]")
    drawn.wait_for()
    assert drawn.get_by_role("button", name="Play").count() == 1
    press(page, 4, "Run", "Done")
    assert cell(page, 4).locator(".bim-cell-told").inner_text() == "Done", "it has run already"
    watch.assert_clean(LAB)


def test_a_change_runs_where_it_is_needed_and_reset_brings_back_what_is_printed(lab):
    page, _ = lab()
    saved, code = output(page, 1).inner_text(), cell(page, 1).locator("pre").inner_text().rstrip("\n")
    write(page, 1, code.replace("nranks=3", "nranks=2"))
    press(page, 4, "Run", "Done; ran block 1 first")
    assert output(page, 1).inner_text().startswith("all_reduce ring nranks=2")
    output(page, 4).locator(".bim-mount[data-mounted]").wait_for()
    assert '"nranks":2' in output(page, 4).locator(".bim-mount").get_attribute("data-spec")
    write(page, 1, code)
    press(page, 4, "Run", "Done; ran block 1 first")
    assert saved.startswith(output(page, 1).inner_text().strip()), "also where it is as printed again"
    write(page, 2, "print('another')")
    press(page, 2, "Run", "Done")
    page.keyboard.press("Control+Shift+Escape")
    assert cell(page, 2).locator(".bim-cell-told").inner_text() == "Done", "nothing runs, nothing is stopped"
    press(page, 4, "Reset page")
    assert output(page, 1).inner_text() == saved
    assert page.locator("article textarea").count() == 0
    settled(page, 4, "As printed again")
    assert page.evaluate("document.activeElement.textContent") == "Run"
    write(page, 2, "print(ring)")
    press(page, 2, "Run", "Ended with an error")
    assert "NameError: name 'ring' is not defined" in output(page, 2).inner_text()


def test_editing_moves_nothing(lab):
    page, _ = lab(width=375)
    before = page.evaluate("document.documentElement.scrollHeight"), cell(page, 1).locator("pre").bounding_box()
    press(page, 1, "Edit")
    field = cell(page, 1).get_by_role("textbox")
    assert field.bounding_box() == before[1]
    assert page.evaluate("document.documentElement.scrollHeight") == before[0]
    fonts = "el => ['fontSize', 'lineHeight', 'fontFamily', 'paddingLeft', 'paddingTop'].map((one) => getComputedStyle(el)[one])"
    assert field.evaluate(fonts) == cell(page, 1).locator("pre").evaluate(fonts)
    assert field.evaluate("el => [el.scrollLeft, el.selectionStart, el === document.activeElement]") == [0, 0, True]
    field.press("End")
    field.type("\n" * 5)
    assert field.bounding_box()["height"] > before[1]["height"] + 50
    assert field.evaluate("el => el.scrollHeight <= el.clientHeight")


def test_the_keyboard_alone_edits_runs_stops_and_leaves(lab):
    page, watch = lab()
    cell(page, 5).get_by_role("button", name="Edit").focus()
    page.keyboard.press("Enter")
    until(page, "() => document.activeElement.matches('textarea')")
    assert page.evaluate("document.activeElement.value.slice(document.activeElement.selectionStart).trim()").startswith(
        "# <- your size"
    ), "the caret stands where the answer goes"
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("print('loops')\nwhile True:\n    pass")
    page.keyboard.press("Control+Enter")
    output(page, 5).get_by_text("loops").wait_for()
    since = page.evaluate("performance.now()")
    page.keyboard.press("Control+Shift+Escape")
    settled(page, 5, "Stopped. All names are gone")
    assert page.evaluate("performance.now()") - since < 5 * 300
    page.keyboard.press("Tab")
    assert (
        page.evaluate("document.activeElement.textContent") == "Copy"
        or page.evaluate("document.activeElement.textContent") == "Run"
    )
    watch.assert_clean(LAB)


def test_an_endless_print_leaves_the_page_usable_and_keeps_the_last_letters(lab):
    page, _ = lab()
    write(page, 2, "i = 0\nwhile True:\n    i += 1\n    print(i, 'x' * 60)")
    press(page, 2, "Run")
    until(
        page, "() => (document.querySelector('.bim-cell-output pre')?.textContent.length ?? 0) === 100_000", seconds=90
    )
    press(page, 2, "Stop", "Stopped. All names are gone")
    assert len(output(page, 2).locator("pre").inner_text()) <= 100_000
    write(page, 2, "print(1 + 1)")
    press(page, 2, "Run", "Done")
    assert output(page, 2).inner_text().strip() == "2"


def test_an_error_says_what_the_library_says(lab):
    page, _ = lab()
    press(page, 5, "Run", "Ended with an error")
    said = output(page, 5).inner_text()
    assert said.splitlines()[0] == "Traceback (most recent call last):"
    assert said.splitlines()[-1].startswith("helpers.units.UnitError: a size looks like ")
    write(page, 1, "1 / 0")
    press(page, 4, "Run", "Not run: block 1, which it needs, ended with an error")
    assert "ZeroDivisionError" in output(page, 1).inner_text()


def test_python_that_does_not_come_is_said_and_tried_again(lab):
    page, _ = lab()
    page.route("**/python/wasm-*", lambda route: route.abort())
    press(page, 2, "Run", "Ended with an error")
    assert output(page, 2).inner_text().startswith("Python could not be started: ")
    page.unroute("**/python/wasm-*")
    page.get_by_role("button", name="Try again").click()
    settled(page, 2, "Done")
    assert output(page, 2).locator("td").inner_text() == "1"


def test_what_a_block_shows_brings_no_script_along(lab):
    page, watch = lab()
    harm = "<p onclick='x()'>text<script>window.harm = 1</script><img src=x onerror='window.harm = 2'></p><table><td>1</td></table>"
    write(page, 2, f"class Harm:\n    def _repr_html_(self):\n        return {harm!r}\n\nHarm()")
    press(page, 2, "Run", "Done")
    assert output(page, 2).locator(".text_html").inner_html() == (
        '<p>text</p><div class="bim-sideways"><table><tbody><tr><td>1</td></tr></tbody></table></div>'
    )
    assert page.evaluate("window.harm") is None
    assert (watch.outside, watch.failed) == ([], [])


def test_a_widget_that_the_page_did_not_have_comes_with_its_sheets(lab):
    page, watch = lab()
    write(page, 2, "from helpers.view import primitive\nprimitive('reduce', nranks=3)")
    press(page, 2, "Run", "Done")
    output(page, 2).locator(".bim-mount[data-mounted]").wait_for()
    assert page.locator('link[href$="widgets/primitive.css"]').count() == 1
    watch.assert_clean(LAB)


@pytest.mark.parametrize("width", [1280, 375])
def test_axe_is_content_with_what_is_edited_and_run(width, lab, sample):
    page, watch = lab(home=sample.as_uri(), width=width)
    write(page, 1, "print('x ' * 400)\nprint('a     b     ' * 30)")
    press(page, 1, "Run", "Done")
    press(page, 5, "Run", "Ended with an error")
    for theme in ("light", "dark"):
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        assert violations(page, () if theme == "light" else ("color-contrast",)) == [], f"{theme}, {width} px"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    watch.assert_clean(LAB)
    assert all(url.startswith(("file:", "blob:", "data:")) for url in watch.asked)


def test_paper_shows_the_code_as_it_stands_and_no_button(lab):
    page, _ = lab()
    write(page, 1, "print('mine')")
    page.emulate_media(media="print")
    assert (
        cell(page, 1).locator("pre").is_visible()
        and cell(page, 1).locator("pre").inner_text().strip() == "print('mine')"
    )
    assert not cell(page, 1).locator("textarea").is_visible()
    assert not cell(page, 1).get_by_role("button", name="Run").is_visible()


@pytest.mark.firefox
def test_a_block_runs_and_stops_in_firefox_from_a_folder(sample, open_in_firefox):
    page, watch = open_in_firefox(sample.as_uri(), LAB)
    page.set_default_timeout(START_MS)
    press(page, 4, "Run", "Done; ran block 1 first")
    output(page, 4).locator(".bim-mount[data-mounted]").wait_for()
    write(page, 5, "print('loops')\nwhile True:\n    pass")
    press(page, 5, "Run")
    output(page, 5).get_by_text("loops").wait_for()
    press(page, 5, "Stop", "Stopped. All names are gone")
    watch.assert_clean(LAB)
