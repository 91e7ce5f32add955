"""A page on paper: no frame, nothing to press, figures drawn though nobody came near, code and tables within the sheet, solutions open."""

import pytest
from tabs import until

PAPER = 658  # pixels between the margins of A4
# Buttons and inputs that are cells of a drawing.
DRAWN = ".bim-box, .bim-box *, .bim-spot, .bim-move, .bim-calc-row"
FRAME = ".bim-skip, .bim-top, .bim-chapters, .bim-contents, .bim-turn, .bim-foot, .headerlink"
READY = """async () => {
    await BytesInMotion.all();
    dispatchEvent(new Event("beforeprint"));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
PRESSED = """(drawn) => [...document.querySelectorAll("main :is(button, input)")]
    .filter((one) => one.checkVisibility() && !one.matches(drawn)).map((one) => one.outerHTML)"""
WIDER = """(room) => [...document.querySelectorAll("main *")]
    .filter((one) => one.checkVisibility() && !one.closest(".katex-mathml, .bim-sr, .katex .vlist-t"))
    .filter((one) => one.getBoundingClientRect().right > room + 1).map((one) => one.outerHTML.slice(0, 120))"""
STATE = """() => ({
    theme: document.documentElement.dataset.theme,
    added: document.querySelectorAll(".bim-stills, .bim-link-number, .bim-links").length,
})"""


@pytest.fixture
def paper(address, open_page):
    """paper(path) -> (page, watch): the sample's page on a dark screen, asked for paper, and drawn; nobody has scrolled."""

    def open_it(path: str):
        page, watch = open_page(address("sample"), path, theme="dark", width=PAPER, height=300)
        page.emulate_media(media="print")
        page.evaluate(READY)
        return page, watch

    return open_it


def test_a_page_on_paper_is_its_text_and_its_figures(paper):
    page, watch = paper("book/kitchen.html")
    assert page.locator(FRAME).count() > 5
    assert [one for one in page.locator(FRAME).all() if one.is_visible()] == []
    assert page.evaluate(PRESSED, DRAWN) == []
    assert page.locator(".bim-mount:not([data-mounted])").count() == 0
    assert page.evaluate(WIDER, PAPER) == []
    assert page.get_by_text("It folds, and opens without a script.").is_visible()
    assert page.get_by_text("It is 10 minutes.").is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('main pre')).whiteSpace") == "pre-wrap"
    watch.assert_clean("kitchen.html")


def test_a_player_on_paper_is_stills_from_start_to_end(paper):
    page, _ = paper("book/kitchen.html")
    player = page.locator('.bim-mount[data-kind="player"]').first
    leads = player.locator(".bim-stills-row .bim-title").all_inner_texts()
    assert leads[0] == "Start" and leads[-1] == "End" and len(leads) == 6
    assert leads[1].startswith("Step 1 of 6") and leads[-2].startswith("Step 6 of 6")
    packets = [still.locator(".bim-packet").count() for still in player.locator(".bim-stills-row .bim-still").all()]
    assert packets == [0, 4, 4, 4, 4, 4]
    full = [
        still.locator(".bim-memory .bim-full").count() for still in player.locator(".bim-stills-row .bim-still").all()
    ]
    assert full[0] == 16 and full[-1] == 64 and full == sorted(full)
    assert not player.locator(".bim-stage").is_visible()
    assert player.locator(".bim-stills .bim-readout").inner_text().startswith("Step\n6")


BREAKS = """(selector) => {
    const found = [];
    for (let one = document.querySelector(selector); !one.matches("article"); one = one.parentElement)
        found.push(getComputedStyle(one).breakInside);
    return found;
}"""


def test_a_player_goes_on_on_the_next_sheet_between_its_stills_and_a_guess_stays_whole(paper):
    page, _ = paper("book/kitchen.html")
    still, *around = page.evaluate(BREAKS, ".bim-still")
    assert (still, set(around)) == ("avoid", {"auto"})
    assert page.evaluate(BREAKS, ".bim-predict")[0] == "avoid"


def test_links_are_numbered_with_their_addresses_and_paper_leaves_nothing_behind(paper):
    page, _ = paper("book/kitchen.html")
    assert page.evaluate(STATE)["theme"] == "light"
    hrefs = page.locator('.bim-text a[href^="http"]:not(.bim-links a)').evaluate_all("all => all.map((a) => a.href)")
    listed = page.locator(".bim-links li").all_inner_texts()
    assert len(hrefs) > len(set(hrefs)) > 1 and listed == list(dict.fromkeys(hrefs))
    numbers = page.locator(".bim-link-number").all_inner_texts()
    assert numbers == [f"[{listed.index(href) + 1}]" for href in hrefs]
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(STATE) == {"theme": "dark", "added": 0}


def test_a_chart_on_paper_is_light_and_fits(paper):
    page, _ = paper("notebooks/kitchen.html")
    assert page.locator(".bim-chart svg.main-svg").first.bounding_box()["width"] <= PAPER
    light = page.locator(".bim-chart .xtitle").get_attribute("style")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    until(page, "said => document.querySelector('.bim-chart .xtitle').getAttribute('style') !== said", arg=light)


def test_the_keys_that_print_wait_for_what_is_not_drawn_yet(address, open_page):
    page, _ = open_page(address("sample"), "book/kitchen.html", height=300)
    page.evaluate(
        "() => { window.print = () => { window.missing = document.querySelectorAll('.bim-mount:not([data-mounted])').length; }; }"
    )
    assert page.locator(".bim-mount:not([data-mounted])").count() > 0
    page.keyboard.press("Control+p")
    until(page, "() => window.missing === 0")
