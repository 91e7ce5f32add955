"""Who came by a link stays at its place until he goes on by himself; and the room of what is not alive yet."""

import pytest
from landing import OFF, assert_landed, watch_landings
from lanes import some
from pages import read_through

from website.heights import mounts, with_rooms

LINK = "book/ring.html#exercises"
OFF_NOW = "landings.still(decodeURI(location.hash))"
GROW = """(px) => {
    document.documentElement.style.overflowAnchor = "none"; // not every browser keeps what is read in its place
    document.querySelector(".bim-card").style.height = `${px}px`;
}"""
PARTLY = f"""(px) => {{
    document.documentElement.style.overflowAnchor = "auto";
    document.querySelector(".bim-card").style.marginTop = "200px";
    document.body.getBoundingClientRect(); // lays the page out: the browser makes this part good
    ({GROW})(px);
}}"""

UNDER_WAY = """() => new Promise((done) => {
    // Behind the page's own listener, so that the way has begun; at the first scroll a busy machine may have it behind itself.
    addEventListener("hashchange", () => {
        const left = document.documentElement.scrollHeight - innerHeight - scrollY;
        GROW;
        done(left);
    }, { once: true });
    [...document.querySelectorAll(".bim-contents a")].at(-1).click();
})"""


@pytest.fixture
def landed(address, open_page):
    """The page, opened by the link."""
    page, watch = open_page(address("site"), LINK, reduced_motion="reduce")
    assert_landed(page, LINK)
    yield page
    watch.assert_clean(LINK)


def test_what_grows_above_does_not_carry_the_reader_away(landed):
    for px in (900, 1400, 300):
        landed.evaluate(GROW, px)
        assert landed.evaluate(OFF_NOW) <= OFF
    landed.evaluate(PARTLY, 900)
    assert landed.evaluate(OFF_NOW) <= OFF, "late letters moved the page in the same frame"


LENGTHEN = """(px) => {
    const last = document.querySelector("main").appendChild(document.createElement("div"));
    last.style.height = `${px}px`;
    return scrollY;
}"""


def test_a_last_section_rises_to_its_place_when_the_page_grows_under_it(address, open_page):
    page, _ = open_page(address("site"), "book/ring.html#sources", reduced_motion="reduce")
    assert_landed(page, "#sources")
    short = page.evaluate(LENGTHEN, 2000)
    assert page.evaluate(OFF_NOW) <= OFF
    assert page.evaluate("scrollY") > short + 100, "it had stopped at the page's end"
    page.evaluate("scrollBy({ top: 300, behavior: 'instant' })")
    page.evaluate(OFF_NOW)
    page.evaluate(LENGTHEN, 100)
    assert page.evaluate(OFF_NOW) > 200, "who went on is let go"


@pytest.mark.parametrize("deed", some(["wheel", "key", "bar"], ["wheel"], "other ways to go on reading"))
def test_a_reader_who_goes_on_is_let_go(landed, deed):
    if deed == "wheel":
        landed.mouse.wheel(0, 40)
    elif deed == "key":
        landed.keyboard.press("ArrowDown")
    else:
        landed.evaluate("scrollBy({ top: -400, behavior: 'instant' })")  # no event but this
    landed.evaluate(OFF_NOW)
    landed.evaluate(GROW, 1400)
    assert landed.evaluate(OFF_NOW) > 500


def test_what_grows_on_a_smooth_way_does_not_spoil_its_end(address, open_page):
    page, _ = open_page(address("site"), LINK.partition("#")[0])
    # What comes alive on the way would hold up its frames, until there is none of them between its ends
    read_through(page)
    watch_landings(page)
    grow = f"({GROW})(900)"
    left = page.evaluate(UNDER_WAY.replace("GROW", grow))
    assert left > 1000, "pixels that were left to go"
    for px in (1400, 300):
        page.wait_for_function(f"{OFF_NOW}.then((off) => off <= {OFF})")
        page.evaluate(GROW, px)
    page.wait_for_function(f"{OFF_NOW}.then((off) => off <= {OFF})")


def test_back_leads_to_where_the_reader_was(address, open_page):
    page, _ = open_page(address("site"), "book/ring.html#player-1--", reduced_motion="reduce")
    assert_landed(page, "player-1")
    page.mouse.wheel(0, -600)
    page.wait_for_function(f"{OFF_NOW}.then((off) => off > 500)")
    left = page.evaluate("scrollY")
    page.get_by_role("navigation", name="On this page").get_by_role("link").first.click()
    assert page.evaluate(OFF_NOW) <= OFF
    page.go_back()
    page.wait_for_function("left => Math.abs(scrollY - left) < 2", arg=left)


FOLD = """() => {
    const folded = document.createElement("details");
    const mount = document.querySelectorAll(".bim-mount[data-kind=player]")[3];
    mount.before(folded);
    folded.append(mount);
}"""


def test_a_link_opens_what_its_widget_is_folded_in(landed):
    landed.evaluate(FOLD)
    assert landed.evaluate("landings.follow('#player-3--')") <= OFF
    landed.locator("details[open] .bim-player").wait_for()


def test_the_same_link_leads_there_again(landed):
    link = landed.get_by_role("navigation", name="On this page").locator('a[href="#exercises"]')
    landed.mouse.wheel(0, -600)
    landed.wait_for_function(f"{OFF_NOW}.then((off) => off > 500)")
    link.click()
    assert landed.evaluate(OFF_NOW) <= OFF
    landed.evaluate(GROW, 900)
    assert landed.evaluate(OFF_NOW) <= OFF


def test_mounts_carry_their_heights_in_order():
    body = "".join(
        f'<div class="bim-mount" data-kind="{kind}" data-spec="{{}}">a</div>' for kind in ("player", "chart", "player")
    )
    assert mounts(body) == ["player-0", "chart-0", "player-1"]
    roomy = with_rooms(body, {"player-1": [700, 600], "chart-0": [410, 400]})
    assert roomy.count("style=") == 2
    assert '<div class="bim-mount" data-kind="chart" style="--h0:410px;--h1:400px" data-spec="{}">' in roomy
    assert roomy.endswith('data-kind="player" style="--h0:700px;--h1:600px" data-spec="{}">a</div>')
    assert with_rooms(body, {}) == body
