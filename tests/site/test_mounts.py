"""Widgets and charts on the page: alive without a kernel, from a server and from a folder, and only when a reader comes near."""

import re

import pytest
from pages import read_through
from tabs import until


def test_a_permalink_takes_the_reader_to_its_player(address, open_page):
    """The second player of the lab lies far below the window; the link shows another schedule and step in it."""
    state = "collective-broadcast--algorithm-binomial--link-pcie-5--nranks-8--nbytes-1024--step-2"
    page, watch = open_page(address("site"), f"notebooks/ring.html#player-1--{state}")
    player = page.locator('.bim-mount[data-kind="player"]').nth(1)
    player.locator(".bim-player").wait_for()
    assert player.evaluate("el => el.getBoundingClientRect().top < innerHeight")
    player.get_by_text("Step 2 of 3").first.wait_for()  # when its schedule has come
    assert player.locator("select").evaluate_all("all => all.map((s) => s.value)")[:3] == ["broadcast", "binomial", "8"]
    watch.assert_clean("notebooks/ring.html")


def test_a_permalink_compares_two_algorithms_in_nodes(address, open_page):
    """Only what is shown is loaded: the page's own ring is what the link asks for too, beside it nodes of two."""
    state = "algorithm-ring--link-nvlink-4--across-infiniband-ndr--versus-hierarchical--nranks-8--gpus-2--nbytes-1024"
    page, watch = open_page(address("sample"), f"book/kitchen.html#player-0--collective-all_reduce--{state}--step-2")
    page.locator(".bim-of-two").wait_for()
    assert page.locator(".bim-memory").count() == 2
    assert page.locator(".bim-node").count() == 8
    assert "of 8 steps" in page.locator(".bim-sentence").first.inner_text()
    page.get_by_role("combobox", name="Nodes", exact=True).select_option("4")
    page.locator(".bim-node").nth(4).wait_for(state="detached")
    asked = [url.partition("/schedules/")[2] for url in watch.asked if "/schedules/" in url]
    assert sorted(asked) == ["all_reduce/hierarchical.js", "all_reduce/ring.js"]
    watch.assert_clean("kitchen.html")


def test_a_permalink_fills_a_primitive(address, open_page):
    state = "primitive-gather--nranks-3--root-2--op-sum--values-4__m5__6p5"
    page, watch = open_page(address("sample"), f"book/kitchen.html#primitive-0--{state}")
    widget = page.locator('.bim-mount[data-kind="primitive"]')
    widget.locator(".bim-after button").first.wait_for()
    assert widget.evaluate("el => el.getBoundingClientRect().top < innerHeight")
    assert widget.locator(".bim-after button").all_inner_texts() == ["4", "-5", "6.5"]
    watch.assert_clean("kitchen.html")


def test_a_permalink_stands_at_an_event_of_another_trace(address, open_page):
    """Only the trace on show is loaded, and the one that is chosen."""
    state = "show-article-cuda-like--axis-events--rank-0--part-0--at-7"
    page, watch = open_page(address("sample"), f"book/kitchen.html#memory-0--{state}")
    widget = page.locator('.bim-mount[data-kind="memory"]')
    widget.get_by_text(re.compile("^Event 8 of")).first.wait_for()
    assert widget.get_by_role("combobox", name="Trace").input_value() == "article-cuda-like"
    widget.get_by_role("combobox", name="Trace").select_option("article-cpu")
    widget.locator(".bim-mt-badge", has_text="tracked (CPU tensors)").wait_for()
    asked = [url.partition("/_static/memory/")[2] for url in watch.asked if "/_static/memory/" in url]
    assert sorted(asked) == ["article-cpu.js", "article-cuda-like.js"]
    widget.get_by_role("button", name="More", exact=True).click()
    widget.get_by_role("combobox", name="Against").select_option("article-cuda-like")
    widget.locator(".bim-mt-ranks tbody tr").nth(1).get_by_text("article-cuda-like").wait_for()
    watch.assert_clean("kitchen.html")


def test_plotly_comes_once_and_only_near_a_chart(address, open_page):
    page, watch = open_page(address("sample"), "notebooks/kitchen.html", height=300)
    page.wait_for_load_state("networkidle")
    assert plotly(watch) == 0
    read_through(page)
    page.locator(".bim-chart svg.main-svg").first.wait_for()
    assert plotly(watch) == 1


RIGHT_EDGES = """(cells) => cells.map((cell) => {
    const text = document.createRange();
    text.selectNodeContents(cell);
    return text.getBoundingClientRect().right;
})"""


def plotly(watch) -> int:
    return sum("plotly" in url for url in watch.asked)


def test_chart_follows_the_theme(address, open_page):
    page, watch = open_page(address("sample"), "notebooks/kitchen.html", theme="light")
    read_through(page)
    line, title = page.locator(".bim-chart .scatterlayer path.js-line").first, page.locator(".bim-chart .xtitle")
    light = line.get_attribute("style"), title.get_attribute("style")
    page.get_by_role("button", name="Theme:").click()
    until(page, "said => document.querySelector('.bim-chart .xtitle').getAttribute('style') !== said", arg=light[1])
    assert line.get_attribute("style") != light[0], "a colour that the figure names follows too"
    page.get_by_role("button", name="Theme:").click()
    until(page, "said => document.querySelector('.bim-chart .xtitle').getAttribute('style') === said", arg=light[1])
    assert line.get_attribute("style") == light[0]
    watch.assert_clean("theme")


def test_chart_keeps_its_numbers(address, open_page):
    allowed = ["clipboard-read", "clipboard-write"]
    page, _ = open_page(address("sample"), "notebooks/kitchen.html", permissions=allowed)
    read_through(page)
    chart = page.locator('.bim-mount[data-kind="chart"]')
    assert chart.get_by_role("group", name="Twice the ranks, twice the steps").is_visible()
    assert chart.locator(".bim-finding").inner_text() == "Twice the ranks, twice the steps"
    chart.get_by_text("The numbers").click()
    assert chart.get_by_role("cell", name="4.5").is_visible()
    ends = chart.locator("tr > :nth-child(2)").evaluate_all(RIGHT_EDGES)
    assert len(ends) == 9 and max(ends) - min(ends) < 1, "numbers end where their header ends"
    chart.get_by_role("button", name="Copy as CSV").click()
    chart.get_by_text("CSV copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[:3] == ["line,ranks,ms", "model,1,1", "model,2,1.5"] and len(copied) == 9
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    chart.get_by_role("button", name="Copy as CSV").click()
    assert chart.locator("textarea").input_value().splitlines() == copied


def test_fallback_stays_where_a_widget_fails(address, open_page):
    page, _ = open_page(address("sample"), "book/plain.html")
    page.route("**/widgets/player.js", lambda route: route.abort())
    page.goto(f"{address('sample')}/book/kitchen.html")
    page.locator(".bim-mount[data-failed]").wait_for(state="attached")
    assert page.get_by_text("all_reduce by ring on 4 ranks, 64 MiB").is_visible()


@pytest.mark.parametrize(("motion", "at_once"), [("reduce", True), ("no-preference", False)])
def test_reduced_motion_jumps(motion, at_once, address, open_page):
    page, _ = open_page(address("sample"), "book/kitchen.html", reduced_motion=motion)
    read_through(page)
    said = page.locator(".bim-mount [aria-live]").first
    before = said.text_content()
    after = page.get_by_role("button", name="Step forward").evaluate(
        "button => { button.click(); return button.closest('.bim-mount').querySelector('[aria-live]').textContent; }"
    )
    assert (after != before) == at_once
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == (
        "auto" if at_once else "smooth"
    )
