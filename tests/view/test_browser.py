"""The player in Chromium, alone on a page from a file: every control pressed, by mouse and by keyboard, and what it says read back."""

from __future__ import annotations

import re
from itertools import pairwise

import harness
import pytest
import widget_harness
from hands import copied, figure, press, said
from lanes import some
from playwright.sync_api import Page, expect

from helpers.collectives import CATALOGUE, Schedule, price
from helpers.facts import LINKS
from helpers.units import seconds_text
from helpers.view.player.widget import player_spec, resolve
from helpers.view.shared.schedules.traces import as_data, build

RING = CATALOGUE["all_reduce", "ring"]
BROKEN = Schedule("all_reduce", "mine", 4, 4, RING(4).steps[:-1])
DOUBLED = Schedule("all_reduce", "mine", 4, 4, (*RING(4).steps[:3], RING(4).steps[2], *RING(4).steps[3:]))


@pytest.fixture
def open_player(open_alone, tmp_path):
    """open_player(spec, ..., theme=, width=, motion=) -> a page whose clock only `tick` moves; errors and requests fail the test.

    Every choice is open, unless folded.
    """

    def open_(*specs, theme="light", width=1280, motion="no-preference", clock="manual", hash_="", **more):
        address = harness.write(tmp_path / "player.html", list(specs), theme=theme, live=more.get("live", False))
        page = open_alone(f"{address}?{clock}{hash_}", width, motion)
        page.locator(".bim-sentence").first.wait_for()
        if not more.get("folded"):
            harness.unfold(page)
        return page

    return open_


def tick(page: Page, ms: float, nth: int = 0) -> None:
    page.evaluate("([nth, ms]) => document.querySelectorAll('.bim-player')[nth].player.tick(ms)", [nth, ms])


def position(page: Page) -> float:
    return page.evaluate("document.querySelector('.bim-player').player.position()")


def lead(page: Page) -> str:
    return page.locator(".bim-sentence strong").first.inner_text()


NVLINK = LINKS["nvlink-4"].name


def choices(page: Page) -> list[str]:
    """What can be chosen."""
    return page.locator(".bim-controls select").evaluate_all("all => all.map((one) => one.ariaLabel)")


def words(page: Page) -> list[str]:
    """What is told and cannot be chosen."""
    return page.locator(".bim-controls strong").all_inner_texts()


def test_at_first_sight_a_player_offers_its_ranks_and_size(open_player):
    page = open_player(player_spec(RING(4)), folded=True)
    assert (choices(page), words(page)) == (["Number of ranks", "Size"], ["all_reduce", "ring", NVLINK])
    press(page, "More choices")
    fewer = page.get_by_role("button", name="Fewer choices", expanded=True)
    assert fewer.evaluate("one => one === document.activeElement")
    all_ = ["Collective", "Algorithm", "Number of ranks", "Nodes", "Size", "Network", "Compared with"]
    assert (choices(page), words(page)) == (all_, [])
    page.get_by_role("combobox", name="Algorithm").select_option("flat")
    harness.answered(page)
    assert choices(page) == all_, "they stay open with another schedule"
    press(page, "Fewer choices")
    assert words(page) == ["all_reduce", "flat", NVLINK], "what was chosen is still told"
    widget_harness.assert_on_one_screen(page)


def test_the_first_frame_is_complete_and_still(open_player):
    page = open_player(player_spec(RING(4)))
    assert lead(page) == "Start."
    assert page.locator(".bim-memory .bim-cell").count() == 16
    assert page.locator(".bim-memory .bim-full").count() == 16
    assert page.locator(".bim-topology .bim-badge").count() == 4
    assert page.locator(".bim-topology .bim-carry").count() == 0
    assert page.locator(".bim-time .bim-bytes").count() == 6 * 4
    tick(page, 5000)
    assert position(page) == 0


def test_it_never_starts_by_itself(open_player):
    page = open_player(player_spec(RING(4)), clock="real")
    page.wait_for_timeout(700)
    assert position(page) == 0


def test_every_transport_button(open_player):
    page = open_player(player_spec(RING(4)))
    for name, ends in [("Step forward", 1), ("Step forward", 2), ("Step back", 1), ("Last step", 6), ("First step", 0)]:
        before = said(page)
        press(page, name)
        tick(page, 450)
        assert position(page) == ends
        assert said(page) != before
    press(page, "Play")
    tick(page, 3 * 1000)
    assert lead(page) == "Step 3 of 6, reduce-scatter."
    press(page, "Pause")
    tick(page, 10_000)
    assert position(page) == 3
    page.get_by_role("slider", name="Step").fill("5")
    assert lead(page) == "Step 5 of 6, all-gather."
    assert page.get_by_role("slider", name="Step").get_attribute("aria-valuetext") == "Step 5 of 6, all-gather"


@pytest.mark.matrix("more of one widget in the browser")
def test_playing_in_real_time_reaches_the_end(open_player):
    page = open_player(player_spec(RING(2)), clock="real")
    page.get_by_role("combobox", name="Speed").select_option("4")
    press(page, "Play")
    expect(page.locator(".bim-sentence em")).to_have_text("Done: the promise is kept.")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


@pytest.mark.matrix("more of one widget in the browser")
def test_speed_and_ease(open_player):
    page = open_player(player_spec(RING(4)))
    speed = page.get_by_role("combobox", name="Speed")
    assert speed.locator("option").all_text_contents() == ["¼×, 24 s", "½×, 12 s", "1×, 6 s", "2×, 3 s", "4×, 1.5 s"]
    speed.select_option("0.25")
    press(page, "Step forward")
    tick(page, 450)
    assert position(page) == 0.25


def test_chunks_travel_while_memory_waits(open_player):
    page = open_player(player_spec(RING(4)))
    press(page, "Step forward")
    places = set()
    for _ in range(4):
        tick(page, 100)
        places.add(page.locator(".bim-packet").first.get_attribute("transform"))
        assert page.locator(".bim-memory .bim-full").count() == 16
    tick(page, 50)
    assert len(places) == 4
    assert page.locator(".bim-memory .bim-full").count() == 20
    assert page.locator(".bim-topology .bim-carry").count() == 4


@pytest.mark.matrix("more of one widget in the browser")
def test_figures_are_the_models_own(open_player):
    page = open_player(player_spec(RING(4), "64 MiB", "pcie-4", 6))
    assert figure(page, "Time so far") == seconds_text(price(RING(4), 2**26, LINKS["pcie-4"]).seconds)
    assert figure(page, "Sent by the busiest rank") == "96 MiB"
    assert page.locator(".bim-sentence em").inner_text() == "Done: the promise is kept."


@pytest.mark.matrix("more of one widget in the browser")
def test_a_switch_is_not_counted_among_the_ranks(open_player):
    page = open_player(player_spec(CATALOGUE["all_reduce", "nvls"](nranks=4, slices=1), "64 MiB", "nvlink-4", 4))
    assert figure(page, "Sent by the busiest rank") == "80 MiB"
    assert "where only ranks add" in page.locator(".bim-readout").inner_text()


def test_every_control_of_the_sentence(open_player):
    page = open_player(player_spec(RING(4), step=3))

    def choose(name: str, option: str) -> None:
        page.get_by_role("combobox", name=name).focus()
        page.get_by_role("combobox", name=name).select_option(option)

    seen = {page.locator(".bim-panel-time").inner_html()}
    for name, option in [
        ("Network", "PCIe 4.0 x16"),
        ("Size", "1 GiB"),
        ("Number of ranks", "8"),
        ("Algorithm", "flat"),
    ]:
        choose(name, option)
        harness.answered(page)
        seen.add(page.locator(".bim-panel-time").inner_html())
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == name  # focus stays
    assert len(seen) == 5
    assert lead(page).startswith("Step 7 of 14")  # half way stays half way
    widget_harness.assert_on_one_screen(page)
    choose("Collective", "broadcast")
    harness.answered(page)
    choose("Algorithm", "ring")
    expect(page.get_by_role("combobox", name="Number of chunks")).to_have_value("4")
    choose("Number of chunks", "16")
    expect(page.locator(".bim-sentence strong")).to_contain_text("of 22")
    assert page.get_by_role("combobox", name="Root").count() == 0  # the page has root 0 only


CHOSEN = """(choices) => {
    for (const [name, option] of choices) {
        const select = document.querySelector(`select[aria-label="${name}"]`);
        select.value = option;
        select.dispatchEvent(new Event("change"));
    }
    return models[0].open;
}"""


@pytest.mark.matrix("more of one widget in the browser")
def test_who_chooses_faster_than_schedules_come_loses_no_choice(open_player):
    page = open_player(player_spec(RING(4)))
    choices = {"Algorithm": "halving-doubling", "Number of ranks": "8", "Size": "1073741824", "Network": "pcie-4"}
    choices |= {"Compared with": "flat"}
    assert page.evaluate(CHOSEN, list(choices.items())) == len(choices), "nothing was answered in between"
    harness.answered(page)
    values = {name: page.get_by_role("combobox", name=name, exact=True).input_value() for name in choices}
    assert values == choices
    assert page.locator(".bim-readout dt").all_inner_texts()[1:3] == ["halving-doubling", "flat"]


@pytest.mark.parametrize("nranks", some([2, 8, 16], [8], "every schedule on other numbers of ranks"))
def test_every_schedule_of_the_catalogue_is_drawn_to_its_end(open_player, nranks):
    page = open_player(player_spec(RING(nranks)))
    press(page, "Last step")
    for collective, algorithm in CATALOGUE:
        if collective != page.get_by_role("combobox", name="Collective").input_value():
            page.get_by_role("combobox", name="Collective").select_option(collective)
            harness.answered(page)
        page.get_by_role("combobox", name="Algorithm").select_option(algorithm)
        harness.answered(page)  # who was at the end stays at the end
        switches = CATALOGUE[collective, algorithm](nranks=nranks).nswitches
        assert page.locator(".bim-topology .bim-badge").count() == nranks + switches
        assert re.match(r"Step (\d+) of \1\b", lead(page))
        assert page.locator(".bim-sentence em").inner_text() == "Done: the promise is kept."


def test_keyboard(open_player):
    page = open_player(player_spec(RING(4)))
    page.locator(".bim-stage").focus()
    for key, ends in [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", 6), ("Home", 0)]:
        page.keyboard.press(key)
        tick(page, 450)
        assert position(page) == ends, key
    page.keyboard.press("Space")
    tick(page, 2000)
    assert position(page) == 2
    page.keyboard.press("Space")
    tick(page, 10_000)
    assert position(page) == 2
    page.get_by_role("button", name="Step forward").focus()
    page.keyboard.press("Space")  # presses the button, does not play
    tick(page, 10_000)
    assert position(page) == 3
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("ArrowRight")
    assert position(page) == 4


HALF_SEEN = """() => {
    document.querySelector(".bim-player").style.marginTop = "600px";
    document.querySelector(".bim-play").click();
    const { top, bottom } = document.querySelector(".bim-deck").getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
}"""


def test_who_plays_sees_the_picture_and_arrows_need_no_focus_once_it_is_seen(open_player):
    page = open_player(player_spec(RING(4)), player_spec(RING(2)))
    page.set_viewport_size({"width": 1366, "height": 768})
    assert page.evaluate(HALF_SEEN)
    press(page, "Pause")
    page.evaluate("document.activeElement.blur()")
    for key, ends in [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("Shift+ArrowRight", 1), ("End", 1)]:
        page.keyboard.press(key)
        tick(page, 450)
        assert position(page) == ends, key
    assert page.locator(".bim-sentence strong").nth(1).inner_text() == "Start.", "one player at a time"
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("ArrowRight")
    tick(page, 450)
    assert position(page) == 1, "nobody would see it"


def test_focus_is_seen_and_targets_are_large(open_player):
    page = open_player(player_spec(RING(4)))
    boxes = page.eval_on_selector_all(
        ".bim-player :is(button, select, input, summary)",
        "all => all.map((one) => [one.ariaLabel || one.textContent, one.getBoundingClientRect()])"
        ".map(([name, box]) => [name, box.width, box.height])",
    )
    assert len(boxes) == 28
    assert [box for box in boxes if min(box[1:]) < 24] == []
    page.keyboard.press("Tab")
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid"


def test_screen_readers_are_not_flooded_while_playing(open_player):
    page = open_player(player_spec(RING(16)))
    press(page, "Play")
    heard = [said(page)]
    told = page.evaluate("""() => Array.from({ length: 60 }, () => {
      document.querySelector(".bim-player").player.tick(500);
      return document.querySelector(".bim-player [aria-live=polite]").textContent;
    })""")
    heard += [text for before, text in zip([heard[0], *told], told, strict=False) if text != before]
    assert position(page) == 30
    assert 10 <= len(heard) <= 17  # 30 s at one sentence every 2 s at most
    assert heard[-1].startswith("Step 30 of 30, all-gather: ")
    assert heard[-1].endswith("Done: the promise is kept.")
    widget_harness.assert_on_one_screen(page, narrow=".bim-panel-memory")
    idle = page.eval_on_selector_all(
        ".bim-time .bim-tight", "all => all.map((one) => one.getBoundingClientRect().toJSON())"
    )
    assert len(idle) == 16 and all(one["bottom"] <= other["top"] + 1 for one, other in pairwise(idle)), (
        "each on its lane"
    )


def test_reduced_motion_jumps(open_player):
    page = open_player(player_spec(RING(4)), motion="reduce")
    press(page, "Step forward")
    assert position(page) == 1
    press(page, "Play")
    for ms in (100, 200, 300, 400):
        tick(page, ms)
        assert position(page) == int(position(page))


@pytest.mark.matrix("more of one widget in the browser")
def test_dragging_the_time_view_scrubs(open_player):
    page = open_player(player_spec(RING(4)))
    page.locator(".bim-time").scroll_into_view_if_needed()
    box = page.locator(".bim-time").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
    assert 2 < position(page) < 4
    page.mouse.up()
    assert position(page) == 3
    page.mouse.move(box["x"] + 40, box["y"] + 30)
    assert position(page) == 3


def test_numbers_mode_and_tables(open_player):
    page = open_player(player_spec(RING(3), step=4))
    page.get_by_text("This picture as a table").click()
    page.get_by_text("What every rank received").click()
    expect(page.locator("details table")).to_have_count(2)
    state, log = page.locator("details table").all()
    assert state.locator("tbody tr").first.inner_text().split("\t") == [
        "rank 0",
        "0+1+2",
        "0+1+2",
        "0+1+2",
        "85.3",
        "85.3",
    ]
    assert state.locator("thead tr").inner_text().split("\t")[-2:] == ["sent (MiB)", "received (MiB)"]
    assert log.locator("tbody tr").count() == 12
    assert log.locator("tbody tr").last.inner_text().split("\t") == [
        "1",
        "rank 0",
        "chunk 1",
        "rank 2",
        "adds",
        "8 + 5 = 13",
    ]
    press(page, "Numbers")
    totals = [sum((3 * r + 5 * c + 2) % 9 + 1 for r in range(3)) for c in range(3)]
    assert page.locator(".bim-number").all_text_contents() == [str(t) for t in totals] * 3
    assert page.locator("details table").first.locator("tbody tr").last.inner_text().split("\t")[1:4] == [
        str(t) for t in totals
    ]
    press(page, "Step back")
    tick(page, 450)
    assert page.locator("details table").nth(1).locator("tbody tr").count() == 9


def test_a_link_brings_the_whole_state_back(open_player):
    page = open_player(player_spec(RING(4)), player_spec(RING(2)))
    second = page.locator(".bim-player").nth(1)
    second.get_by_role("combobox", name="Number of ranks").select_option("5")
    second.get_by_role("combobox", name="Size").select_option("4 KiB")
    second.get_by_role("button", name="Numbers").click()
    second.get_by_role("slider").fill("3")
    link = copied(second, "link")
    page.goto("about:blank")
    page.goto(link)
    again = page.locator(".bim-player").nth(1)
    expect(again.locator(".bim-sentence strong")).to_have_text("Step 3 of 8, reduce-scatter.")
    expect(again.get_by_role("combobox", name="Size")).to_have_value("4096")
    expect(again.get_by_role("button", name="Numbers")).to_have_attribute("aria-pressed", "true")
    assert lead(page) == "Start."  # the first player is not meant


BAD_LINKS = ["#player-0--collective-all_reduce--algorithm-psychic--nranks-4--step-1", "#player-0--x", "#a:b(c"]


@pytest.mark.parametrize("hash_", some(BAD_LINKS, BAD_LINKS[:1], "more bad links"))
def test_a_bad_link_leaves_the_page_as_it_was(open_player, hash_):
    page = open_player(player_spec(RING(4)), hash_=hash_)
    assert lead(page) == "Start."


def test_python_of_what_is_on_show(open_player):
    page = open_player(player_spec(RING(4), step=2))
    cell = copied(page, "as Python")
    names: dict = {}
    exec(cell.replace("\n\nplayer(", "\n\nmade = player("), names)
    assert names["made"].spec == player_spec(RING(4), step=2).as_json()


@pytest.mark.parametrize(
    ("schedule", "mark", "count", "words"),
    [
        (BROKEN, ".bim-missing", 4, r"Wrong: chunk \d of rank 0 lacks rank \d \(4 slots are wrong\)"),
        (DOUBLED, ".bim-cross", 4, r"Wrong: chunk \d of rank 0 has rank .* too often"),
    ],
)
def test_a_broken_schedule_shows_where(open_player, schedule, mark, count, words):
    page = open_player(player_spec(schedule))
    assert page.get_by_role("combobox", name="Algorithm").evaluate("one => one.selectedOptions[0].text") == "as given"
    press(page, "Last step")
    assert page.locator(f".bim-memory {mark}").count() >= count
    assert re.search(words, page.locator(".bim-sentence em").inner_text())
    page.get_by_role("combobox", name="Algorithm").select_option("ring")
    expect(page.locator(".bim-sentence em")).to_have_text("Done: the promise is kept.")
    page.get_by_role("combobox", name="Algorithm").select_option("as given")
    expect(page.locator(".bim-sentence em")).to_contain_text("Wrong")


def test_a_kernel_hears_the_step_and_the_choice(open_player):
    page = open_player(player_spec(CATALOGUE["broadcast", "flat"](4)), live=True)
    press(page, "Step forward")
    tick(page, 450)
    assert page.evaluate("models[0].get('step')") == 1
    page.get_by_role("combobox", name="Root").select_option("2")
    assert page.evaluate("models[0].get('spec').root") == 2
    assert "rank 0 sends" in page.locator(".bim-sentence").inner_text().lower()  # nobody has answered yet
    page.evaluate("trace => models[0].set('trace', trace)", as_data(build("broadcast", "flat", 4, root=2)))
    assert "rank 2 sends" in page.locator(".bim-sentence").inner_text().lower()
    page.evaluate("models[0].set('step', 3)")
    assert position(page) == 3
    assert page.get_by_role("button", name="Copy link").count() == 0


@pytest.mark.matrix("more of one widget in the browser")
def test_enlarge(open_player):
    page = open_player(player_spec(RING(4)))
    press(page, "Enlarge")
    page.wait_for_function("document.fullscreenElement?.className.startsWith('bim-player')")
    press(page, "Close")
    page.wait_for_function("!document.fullscreenElement")
    expect(page.get_by_role("button", name="Enlarge")).to_be_visible()


@pytest.mark.parametrize(
    "shown",
    some(
        [("all_reduce ring", 1280), ("all_reduce ring", 375), ("broadcast binomial", 375), ("all_to_all flat", 375)],
        [("all_reduce ring", 375)],
        "axe, in another shape of a widget",
    ),
)
def test_nothing_overflows_and_axe_is_content(open_player, shown):
    what, width = shown
    page = open_player(player_spec(resolve(what, 16), step=2), width=width)
    press(page, "Numbers")
    for name in ("This picture as a table", "What every rank received"):
        page.get_by_text(name).click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    order = page.eval_on_selector_all(".bim-panel", "all => all.map((one) => one.getBoundingClientRect().top)")
    assert (len(set(order)) == 3 and order[0] == min(order)) == (width == 375)  # stacked, memory first
    assert widget_harness.violations_in_both_themes(page) == []
