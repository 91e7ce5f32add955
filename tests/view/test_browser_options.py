"""The player's nodes, loads, comparisons and recorded runs in Chromium: every new control pressed, what it says read back."""

from __future__ import annotations

import harness
import pytest
import widget_harness
from hands import copied
from lanes import some
from playwright.sync_api import Page, expect
from test_browser import figure, lead, open_player, position, press, said, tick
from test_player_options import Run, traced

from helpers.collectives import CATALOGUE, Nodes, price
from helpers.facts import LINKS
from helpers.units import seconds_text
from helpers.view import player
from helpers.view.player.spec import PlayerSpec, prices, schedules, stops
from helpers.view.player.widget import player_spec, resolve

__all__ = ["open_player"]
NODES = {"gpus": 4, "across": "infiniband-ndr"}
RING = CATALOGUE["all_reduce", "ring"]


def spec(what: str, nranks: int = 4, **options: object) -> PlayerSpec:
    which = {key: options.pop(key) for key in ("nchunks", "slices", "root") if key in options}
    return player_spec(resolve(what, nranks, gpus=options.get("gpus"), **which), **options)


def choose(page: Page, name: str, option: str) -> None:
    page.get_by_role("combobox", name=name, exact=True).select_option(label=option)
    harness.answered(page)


def offers(page: Page, name: str) -> list[str]:
    return page.get_by_role("combobox", name=name, exact=True).locator("option").all_inner_texts()


def copied_python(page: Page) -> dict:
    """The spec of the player that the copied cell makes."""
    names: dict = {}
    exec(copied(page, "as Python").replace("\n\nplayer(", "\n\nmade = player("), names)
    return names["made"].spec


def reopened(page: Page) -> None:
    link = copied(page, "link")
    page.goto("about:blank")
    page.goto(link)
    page.locator(".bim-sentence strong").wait_for()
    harness.answered(page)
    harness.unfold(page)


def rows(page: Page, summary: str) -> list[list[list[str]]]:
    """The tables under a summary, row by row."""
    box = page.locator("details", has_text=summary)
    if not box.evaluate("one => one.open"):
        box.locator("summary").click()
        box.locator("table").first.wait_for()
    return [[row.split("\t") for row in t.locator("tbody tr").all_inner_texts()] for t in box.locator("table").all()]


def test_nodes_are_boxes_with_a_nic_for_every_rank(open_player):
    page = open_player(spec("all_reduce hierarchical", 8, step=4, **NODES), folded=True)
    widget_harness.assert_on_one_screen(page)
    assert page.locator(".bim-node").count() == 2
    assert page.locator(".bim-nic").count() == 8
    nodes = Nodes(4, LINKS["nvlink-4"], LINKS["infiniband-ndr"])
    cost = price(CATALOGUE["all_reduce", "hierarchical"](8, 4), 2**26, nodes)
    readout = page.locator(".bim-readout").inner_text()
    assert f"of {seconds_text(cost.seconds)} with {cost.protocol}, by" in readout
    choose(page, "NICs per node", "1 NIC")  # offered unasked: the author's nodes
    assert page.locator(".bim-nic").count() == 2
    harness.unfold(page)
    choose(page, "Nodes", "nodes of 2")
    assert page.locator(".bim-node").count() == 4
    choose(page, "Network between nodes", "the same")
    assert (page.locator(".bim-node").count(), page.locator(".bim-nic").count()) == (4, 0)
    assert page.get_by_role("combobox", name="NICs per node").count() == 0
    choose(page, "Algorithm", "ring")
    assert page.locator(".bim-node").count() == 0
    press(page, "Last step")
    expect(page.locator(".bim-sentence em")).to_have_text("Done: the promise is kept.")


@pytest.mark.matrix("more of one widget in the browser")
def test_nodes_are_offered_where_ranks_divide(open_player):
    page = open_player(spec("all_reduce ring", 12))
    assert offers(page, "Nodes") == ["one node", "nodes of 2", "nodes of 3", "nodes of 4", "nodes of 6"]
    choose(page, "Nodes", "nodes of 6")
    assert page.get_by_role("combobox", name="Network between nodes").input_value() == "infiniband-ndr"
    choose(page, "Number of ranks", "10")
    assert page.get_by_role("combobox", name="Nodes", exact=True).input_value() == "5"
    choose(page, "Number of ranks", "7")
    assert page.get_by_role("combobox", name="Nodes", exact=True).count() == 0
    choose(page, "Algorithm", "nvls")
    assert page.get_by_role("combobox", name="Nodes", exact=True).count() == 0
    assert offers(page, "Number of slices") == ["1", "2", "4", "6", "8"]
    assert_cut_edges_are_seen(page)
    choose(page, "Number of slices", "2")
    expect(page.locator(".bim-sentence strong")).to_contain_text("Start")
    press(page, "Last step")
    assert lead(page) == "Step 5 of 5."


def assert_cut_edges_are_seen(page: Page) -> None:
    """A memory that scrolls has a shadow where it is cut, and none at its end."""
    view = page.locator(".bim-panel-memory .bim-view")
    box = view.bounding_box()
    clip = {"x": box["x"] + box["width"] - 3, "y": box["y"] + 3, "width": 3, "height": 2}
    seen = [page.screenshot(clip=clip)]
    view.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
    seen += [page.screenshot(clip=clip), page.screenshot(clip=clip | {"x": box["x"]})]
    assert seen[0] != seen[1] != seen[2]


@pytest.mark.parametrize("gpus", some([1, 2, 4, 8, 16], [8], "other sizes of a node"))
def test_an_algorithm_of_nodes_plays_with_every_size_of_node(open_player, gpus):
    page = open_player(spec("all_reduce hierarchical", 8))
    choose(page, "Number of ranks", "16")
    choose(page, "Nodes", f"nodes of {gpus}")
    assert page.locator(".bim-node").count() == (16 // gpus if 1 < gpus < 16 else 0)
    press(page, "Last step")
    assert lead(page).startswith(f"Step {2 * (gpus - 1) + 2 * (16 // gpus - 1)} of ")
    expect(page.locator(".bim-sentence em")).to_have_text("Done: the promise is kept.")


def test_what_links_and_nics_carried(open_player):
    page = open_player(spec("all_reduce ring", 8, nbytes="8 MiB", step=14, **NODES))
    nics, carried, idle = rows(page, "What every link carried")
    assert ["node 0, rank 3 to node 1, rank 4", "14"] in carried
    assert ["NIC 3 of node 0", "14", "0"] in nics
    assert (len(nics), len(carried)) == (4, 8)
    assert idle[3] == ["rank 3", "0"]
    assert 50 < float(idle[1][1]) < 95
    thick = page.eval_on_selector_all(".bim-topology .bim-carry", "all => all.map((one) => one.style.strokeWidth)")
    assert set(thick) == {""}
    press(page, "So far")
    expect(page.get_by_role("button", name="So far")).to_have_attribute("aria-pressed", "true")
    assert page.locator(".bim-panel-topology .bim-note").inner_text() == (
        "Most so far: 8 links, such as 0 to 1, carried 14 MiB each; a NIC sent 14 MiB."
    )
    assert page.locator(".bim-packet").count() == 0
    press(page, "First step")
    assert page.locator(".bim-topology .bim-carry").count() == 0
    reopened(page)
    expect(page.get_by_role("button", name="So far")).to_have_attribute("aria-pressed", "true")


@pytest.mark.matrix("more of one widget in the browser")
def test_links_grow_with_what_they_carried(open_player):
    page = open_player(spec("all_reduce binary-tree", 4, step=5))
    press(page, "So far")
    widths = page.eval_on_selector_all(
        ".bim-topology .bim-carry", "all => all.map((one) => parseFloat(one.style.strokeWidth))"
    )
    assert max(widths) == 7 and len(set(widths)) > 1
    assert page.locator(".bim-topology .bim-tag").count() == len(widths)


@pytest.mark.matrix("more of one widget in the browser")
def test_idle_ranks_are_named_and_dimmed(open_player):
    page = open_player(spec("broadcast binomial", 4, step=1))
    assert page.locator(".bim-time .bim-badge.bim-dim").count() == 2
    shares = page.locator(".bim-time .bim-end").all_text_contents()
    assert [share for share in shares if share.endswith("%")] == ["0 %", "0 %", "100 %", "100 %"]
    press(page, "Last step")
    shares = page.locator(".bim-time .bim-end").all_text_contents()
    assert [share for share in shares if share.endswith("%")] == ["0 %", "0 %", "50 %", "50 %"]


def test_two_algorithms_on_one_clock(open_player):
    given = spec("all_reduce ring", 4, versus="binomial")
    page = open_player(given)
    ends = stops(prices(given))
    ring, tree = schedules(given)
    assert page.locator(".bim-memory").count() == page.locator(".bim-topology").count() == 2
    assert page.locator(".bim-time").count() == 2
    assert "ring needs" in page.locator(".bim-sentence").inner_text()
    for stop in range(1, len(ends)):
        press(page, "Step forward")
        tick(page, 450)
        assert lead(page) == f"At {seconds_text(ends[stop])}."
        assert figure(page, "Time so far") == seconds_text(ends[stop])
    assert position(page) == len(ends) - 1
    expect(page.locator(".bim-sentence em")).to_contain_text(
        "Done: both promises are kept; ring was first, and binomial took"
    )
    assert said(page).startswith(f"At {seconds_text(ends[-1])}: ring is done, after")
    press(page, "Step back")
    tick(page, 450)
    assert "binomial has done 3 of 4 steps" in page.locator(".bim-sentence").inner_text()
    page.get_by_role("slider", name="Step").fill("2")
    assert lead(page) == f"At {seconds_text(ends[2])}."
    assert len(ring.steps) + len(tree.steps) >= len(ends) - 1
    tables = rows(page, "This picture as a table")
    assert len(tables) == 2
    captions = page.locator("details caption").all_inner_texts()
    assert captions[0].startswith("ring. After step 2 of 6") and captions[1].startswith("binomial. After step 0 of 4")


ALONG = """async () => {
    const [play, stage] = [document.querySelector(".bim-play"), document.querySelector(".bim-stage")];
    const ends = [];
    const told = document.querySelector(".bim-sentence");
    for (const share of [0, 0.3, 0.6, 1]) {
        const { top, height } = stage.getBoundingClientRect();
        scrollTo({ top: scrollY + top + share * (height - 200), behavior: "instant" });
        await new Promise(requestAnimationFrame);
        const { left, bottom } = play.getBoundingClientRect();
        const said = told.getBoundingClientRect();
        ends.push([document.elementFromPoint(left + 22, bottom - 18)?.closest("button") === play, bottom <= innerHeight]);
        ends.at(-1).push(document.elementFromPoint(said.left + 9, said.bottom - 9) === told && said.top >= 0);
    }
    return ends;
}"""


def test_the_comparison_is_chosen_linked_and_copied(open_player):
    page = open_player(spec("all_reduce ring", 8))
    assert "nvls" in offers(page, "Compared with") and "ring" not in offers(page, "Compared with")
    choose(page, "Compared with", "hierarchical")
    assert page.locator(".bim-memory").count() == 2
    widget_harness.assert_on_one_screen(page, narrow=".bim-panel-memory")
    widget_harness.narrow(page)
    assert page.evaluate(ALONG) == 4 * [[True, True, True]], (
        "Play and the sentence are on the screen wherever the stage is"
    )
    widget_harness.resized(page, {"width": 1280, "height": 900})
    choose(page, "Nodes", "nodes of 2")
    assert page.locator(".bim-topology .bim-node").count() == 8
    assert "nvls" not in offers(page, "Compared with")
    choose(page, "Size", "16 GiB")
    page.get_by_role("slider", name="Step").fill("3")
    told = page.locator(".bim-sentence").inner_text()
    want = spec("all_reduce ring", 8, nbytes="16 GiB", gpus=2, across="infiniband-ndr", versus="hierarchical", step=3)
    assert copied_python(page) == want.as_json()
    reopened(page)
    assert page.locator(".bim-sentence").inner_text() == told
    assert page.get_by_role("combobox", name="Compared with").input_value() == "hierarchical"
    choose(page, "Algorithm", "hierarchical")
    assert page.locator(".bim-memory").count() == 1
    choose(page, "Compared with", "ring")
    choose(page, "Compared with", "nothing")
    assert page.locator(".bim-memory").count() == 1


LEGEND = """() => {
    const box = (node) => { const all = document.createRange(); all.selectNodeContents(node); return all.getBoundingClientRect(); };
    const [note] = [...document.querySelectorAll(".bim-panel-time .bim-note")].filter((one) => one.checkVisibility()).map(box);
    const others = [...document.querySelectorAll(".bim-title, .bim-modes")];
    return others.filter((one) => {
        const { left, right, top, bottom } = box(one.matches(".bim-title") ? one.firstChild : one);
        return left < note.right && note.left < right && top < note.bottom && note.top < bottom;
    }).map((one) => one.textContent);
}"""


def test_the_legend_of_two_lies_on_no_heading_and_on_no_switch(open_player):
    page = open_player(spec("all_reduce ring", 8, versus="halving-doubling"))
    for width in (1366, 720, 375):  # on a wide screen, the narrowest with two schedules beside each other, a telephone
        widget_harness.narrow(page, width)
        assert page.evaluate(LEGEND) == [], width


@pytest.mark.matrix("more of one widget in the browser")
def test_dragging_either_time_view_moves_the_one_clock(open_player):
    page = open_player(spec("all_reduce ring", 4, versus="binomial"))
    for nth in (0, 1):
        view = page.locator(".bim-time").nth(nth)
        view.scroll_into_view_if_needed()
        box = view.bounding_box()
        press(page, "First step")
        view.scroll_into_view_if_needed()
        box = view.bounding_box()
        page.mouse.move(box["x"] + 60, box["y"] + 40)
        page.mouse.down()
        page.mouse.move(box["x"] + 34 + 0.2 * (box["width"] - 76), box["y"] + 40)
        page.mouse.up()
        assert 0 < position(page) < page.evaluate("+document.querySelector('.bim-range').max")
        assert position(page) == int(position(page))


@pytest.mark.matrix("more of one widget in the browser")
def test_a_schedule_of_ones_own_beside_the_catalogues(open_player):
    own = CATALOGUE["all_reduce", "ring"](4)
    page = open_player(player_spec(type(own)("all_reduce", "mine", 4, 4, own.steps[:-1]), versus="ring"))
    press(page, "Last step")
    expect(page.locator(".bim-sentence em")).to_contain_text("mine: Wrong: chunk")
    choose(page, "Compared with", "nothing")
    assert page.get_by_role("combobox", name="Algorithm").input_value() == "as given"


def late(step: int = 3) -> dict:
    """A ring of 1 ms a step by the run's link, in which one step took three times as long."""
    run = traced()
    for message in run["messages"]:
        shift = 2e-3 * (message["step"] > step)
        extra = 2e-3 * (message["step"] == step)
        message["send"] = [message["send"][0] + shift, message["send"][1] + shift + extra]
        message["recv"] = [message["recv"][0] + shift, message["recv"][1] + shift + extra]
    return run | {"seconds": run["seconds"] + 2e-3, "link": {"alpha": 1e-3 - 1e-9, "bandwidth": 1024 / 1e-9}}


def test_a_recorded_run_beside_the_model(open_player):
    page = open_player(player_spec(RING(4), recorded=Run(late())))
    assert page.locator(".bim-time").count() == 2
    real = page.locator(".bim-time").nth(1)
    assert (real.locator(".bim-ran").count(), real.locator(".bim-alpha").count()) == (24, 0)
    assert real.locator(".bim-dot").count() == 24
    widget_harness.assert_on_one_screen(page, narrow=".bim-view")
    widths = [
        float(w) for w in real.locator(".bim-ran").evaluate_all("all => all.map((one) => one.getAttribute('width'))")
    ]
    assert max(widths) / min(widths) == pytest.approx(3, rel=0.02)  # real proportions
    model = [
        float(w)
        for w in page.locator(".bim-time")
        .nth(0)
        .locator(".bim-alpha")
        .evaluate_all("all => all.map((one) => one.getAttribute('width'))")
    ]
    assert min(widths) == pytest.approx(model[0], rel=0.02)  # and one scale
    assert real.locator(".bim-late").count() == 4
    assert "step 3 late" in real.locator(".bim-tag").all_text_contents()
    note = page.locator(".bim-panel-time .bim-note").nth(1).inner_text()
    assert note.startswith("recorded 2026-01-02: 4 ranks, gloo, CPU; A CPU, 2 cores; torch 2.13.0 · ")
    page.get_by_role("slider", name="Step").fill("3")
    told = page.locator(".bim-sentence").inner_text()
    assert "By the model this step is over after 3 ms; in the run it was after 5 ms." in told
    assert "Late: it took 3 ms, 3.0 times the model's; last came what rank 0 sent to rank 1." in told
    _, idle = rows(page, "What every link carried")
    assert idle[0] == ["rank 0", "0", "0"]
    page.get_by_role("slider", name="Step").fill("4")
    assert "Late" not in page.locator(".bim-sentence").inner_text()


@pytest.mark.matrix("more of one widget in the browser")
def test_leaving_a_recorded_run_and_coming_back(open_player):
    page = open_player(player_spec(RING(4), recorded="trace-late-emulated"))
    chosen = "one => one.selectedOptions[0].text"
    assert page.get_by_role("combobox", name="Algorithm").evaluate(chosen) == "as recorded"
    assert page.get_by_role("combobox", name="Network", exact=True).evaluate(chosen) == "the run's own link"
    page.get_by_role("slider", name="Step").fill("3")
    assert copied_python(page) == player("all_reduce ring", recorded="trace-late-emulated", step=3).spec
    reopened(page)
    assert lead(page).startswith("Step 3 of 6")
    assert page.locator(".bim-time").count() == 2
    choose(page, "Size", "16 MiB")
    assert page.locator(".bim-time").count() == 1
    choose(page, "Algorithm", "as recorded")
    assert page.locator(".bim-time").count() == 2
    choose(page, "Compared with", "binomial")
    assert (page.locator(".bim-time").count(), page.locator(".bim-ran").count()) == (2, 0)


@pytest.mark.matrix("more of one widget in the browser")
def test_a_kernel_answers_for_two(open_player):
    page = open_player(spec("all_reduce ring", 4), live=True)
    choose(page, "Compared with", "binomial")
    assert page.evaluate("models[0].get('spec').rival.algorithm") == "binomial"
    assert page.locator(".bim-memory").count() == 2 or page.locator(".bim-memory").count() == 1
    widget = player("all_reduce ring")
    widget.spec = page.evaluate("models[0].get('spec')")
    page.evaluate("trace => models[0].set('trace', trace)", widget.trace)
    assert page.locator(".bim-memory").count() == 2


@pytest.mark.parametrize("nbytes", some(["1 B", "16 GiB"], ["16 GiB"], "more of one widget in the browser"))
def test_sizes_from_a_byte_to_sixteen_gibibytes(open_player, nbytes):
    page = open_player(spec("all_reduce ring", 16))
    assert (offers(page, "Size")[0], offers(page, "Size")[-1]) == ("1 B", "16 GiB")
    choose(page, "Size", nbytes)
    press(page, "Last step")
    seconds = price(RING(16), 1 if nbytes == "1 B" else 2**34, LINKS["nvlink-4"]).seconds
    assert figure(page, "Time so far") == seconds_text(seconds)


@pytest.mark.matrix("more of one widget in the browser")
@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_reduced_motion_jumps_on_one_clock_too(open_player, motion):
    page = open_player(spec("all_reduce ring", 4, versus="binomial"), motion=motion)
    press(page, "Step forward")
    assert (position(page) == 1) == (motion == "reduce")
    page.locator(".bim-stage").focus()
    page.keyboard.press("End")
    assert "both promises are kept" in page.locator(".bim-sentence em").inner_text()


OPTIONS = {
    "two": lambda: spec("all_reduce ring", 16, versus="hierarchical", step=5, gpus=4, across="infiniband-ndr", nics=2),
    "recorded": lambda: player_spec(RING(4), recorded="trace-late-emulated", step=3),
}


@pytest.mark.parametrize("shown", some(["two", "recorded"], ["recorded"], "axe, in another shape of a widget"))
def test_nothing_overflows_and_axe_is_content_with_options(open_player, shown):
    page = open_player(OPTIONS[shown]())
    widget_harness.assert_on_one_screen(page, ".bim-panel-memory")
    page.get_by_role("button", name="So far").first.click()
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert widget_harness.violations_in_both_themes(page) == []
    widget_harness.narrow(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert widget_harness.violations(page, widget_harness.OF_WIDTHS) == []
