"""The playground in Chromium, alone on a page from a file: drawn by mouse and by keyboard, typed, checked, broken, linked."""

from __future__ import annotations

import re
from functools import partial

import pytest
import widget_harness
from hands import choose, copied, figure, press, said, sentence
from lanes import some
from playwright.sync_api import Page, expect

from helpers.collectives import CATALOGUE, Schedule, ScheduleError, check
from helpers.view.playground.widget import SIZES, begun, empty, playground_spec, targets
from helpers.view.shared.schedules.traces import as_data

RING = CATALOGUE["all_reduce", "ring"](4)
DOUBLED = Schedule("all_reduce", "mine", 4, 4, (*RING.steps[:3], RING.steps[2], *RING.steps[3:]))
BROADCAST = playground_spec(empty("broadcast", 4))


@pytest.fixture
def open_playground(open_widget):
    """open_playground(spec, ..., theme=, width=, live=, ...) -> a page whose clock only `tick` moves; errors on it fail the test."""
    return partial(open_widget, "playground", clock="manual")


def tick(page: Page, ms: float = 450) -> None:
    page.evaluate("ms => document.querySelector('.bim-playground').playground.tick(ms)", ms)


def position(page: Page) -> float:
    return page.evaluate("document.querySelector('.bim-playground').playground.position()")


def spot(page: Page, rank: int, chunk: int = 0):
    return page.locator(f'[data-at="{rank},{chunk}"]')


def draw(page: Page, chunk: int, src: int, dst: int) -> None:
    spot(page, src, chunk).click()
    spot(page, dst, chunk).click()


def forward(page: Page) -> None:
    press(page, "Step forward")
    tick(page)


def written(page: Page) -> str:
    return page.get_by_role("textbox").input_value()


def verdict(page: Page) -> str:
    return page.locator(".bim-verdict").inner_text()


def test_the_first_frame_is_complete_and_silent(open_playground):
    page = open_playground(BROADCAST)
    assert page.locator(".bim-spot").count() == 4
    assert [spot(page, r).inner_text() for r in range(4)][1:] == [f"rank {r}, chunk 0: nothing" for r in (1, 2, 3)]
    assert "rank 0, chunk 0: 0" in spot(page, 0).inner_text()
    assert sentence(page).startswith("Step 1, new. Only the root holds data; at the end every rank must hold it.")
    assert page.locator(".bim-missing").count() == 0  # nothing is called wrong before somebody asks
    assert verdict(page) == "Not checked yet."
    assert said(page) == ""


def test_a_broadcast_drawn_with_the_mouse(open_playground):
    page = open_playground(BROADCAST)
    spot(page, 0).click()
    assert said(page) == "Step 1, new: Chunk 0 of rank 0 is picked: now press the rank that receives it."
    assert page.locator(".bim-can").count() == 3
    spot(page, 1).click()
    assert written(page) == "0:0→1"
    assert said(page) == "Step 1 of 1: Rank 0 sends its whole buffer to rank 1, which keeps it."
    assert page.locator(".bim-thread").count() == 1
    assert page.locator(".bim-topology .bim-packet").count() == 1
    forward(page)
    assert "rank 1, chunk 0: 0" in spot(page, 1).inner_text()
    draw(page, 0, 0, 2)
    draw(page, 0, 1, 3)
    assert written(page) == "0:0→1\n0:0→2 0:1→3"
    press(page, "Check")
    assert verdict(page).startswith("Kept. It takes 2 steps, and the busiest rank moves 2 N: ")
    assert said(page) == verdict(page)
    assert [figure(page, name) for name in ("Steps", "The busiest rank moves", "The least possible")] == [
        "2",
        "2 N",
        "N",
    ]


@pytest.mark.parametrize("where", ["th[data-rank='2']", ".bim-topology [data-rank='2']"])
def test_the_receiver_is_pressed_by_its_name_or_in_the_picture(open_playground, where):
    page = open_playground(BROADCAST)
    page.locator(where).click()
    assert (page.locator(".bim-picked").count(), written(page)) == (0, ""), "nothing is picked yet"
    spot(page, 0).click()
    page.locator(where).click()
    assert written(page) == "0:0→2"


@pytest.mark.matrix("more of one widget in the browser")
def test_a_transfer_is_dragged(open_playground):
    page = open_playground(playground_spec(empty("all_reduce", 3)))
    spot(page, 0, 2).hover()
    page.mouse.down()
    spot(page, 1, 2).hover()
    assert page.locator(".bim-picked").get_attribute("data-at") == "0,2"
    page.mouse.up()
    assert written(page) == "2:0⇒1"
    spot(page, 0, 1).hover()
    page.mouse.down()
    spot(page, 1, 1).hover()
    page.mouse.move(5, 5)
    page.mouse.up()  # let go outside: nothing is sent
    assert written(page) == "2:0⇒1"
    assert page.locator(".bim-picked").count() == 0


def test_a_broadcast_drawn_with_the_keyboard(open_playground):
    page = open_playground(BROADCAST)
    assert page.locator(".bim-board [tabindex='0']").count() == 1
    spot(page, 0).focus()
    for key in ("Enter", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    assert written(page) == "0:0→1"
    assert page.evaluate("document.activeElement.dataset.at") == "1,0"
    forward(page)
    spot(page, 1).focus()
    for key in (" ", "ArrowDown", "ArrowDown", " ", "ArrowUp", "Escape"):
        page.keyboard.press(key)
    assert written(page) == "0:0→1\n0:1→3"
    spot(page, 0).focus()
    for key in ("Enter", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Check").focus()
    page.keyboard.press("Enter")
    assert verdict(page).startswith("Kept. It takes 2 steps")


@pytest.mark.matrix("more of one widget in the browser")
def test_escape_and_a_second_press_let_go(open_playground):
    page = open_playground(BROADCAST)
    for let_go in (lambda: spot(page, 0).click(), lambda: page.keyboard.press("Escape")):
        spot(page, 0).click()
        assert page.locator(".bim-picked").count() == 1
        let_go()
        assert page.locator(".bim-picked").count() == 0
    assert written(page) == ""


@pytest.mark.matrix("more of one widget in the browser")
def test_a_second_writer_of_a_slot_is_not_added(open_playground):
    page = open_playground(playground_spec(empty("all_reduce", 3, 1)))
    draw(page, 0, 0, 2)
    draw(page, 0, 1, 2)
    assert written(page) == "0:0⇒2"
    assert page.locator(".bim-notice").inner_text() == (
        "Not added: step 1 writes chunk 0 of rank 2 twice (0:0⇒2 and 0:1⇒2): one writer per slot and step."
    )


@pytest.mark.matrix("more of one widget in the browser")
def test_what_arrives_is_added_or_overwrites(open_playground):
    page = open_playground(playground_spec(empty("all_reduce", 2, 1)))
    assert page.get_by_role("button", name="Adds ⇒").get_attribute("aria-pressed") == "true"
    draw(page, 0, 1, 0)
    forward(page)
    press(page, "Overwrites →")
    draw(page, 0, 0, 1)
    assert written(page) == "0:1⇒0\n0:0→1"
    press(page, "Check")
    assert verdict(page).startswith("Kept.")
    choose(page, "Collective", "broadcast")
    assert page.get_by_role("button", name="Overwrites →").get_attribute("aria-pressed") == "true"


def test_steps_are_made_doubled_and_removed_and_all_of_it_undone(open_playground):
    page = open_playground(playground_spec(empty("all_reduce", 3, 1)))
    assert page.get_by_role("button", name="Undo").is_disabled()
    draw(page, 0, 1, 0)
    draw(page, 0, 0, 2)
    press(page, "0:1⇒0, remove from step 1")
    assert said(page) == "Removed 0:1⇒0 from step 1."
    assert written(page) == "0:0⇒2"
    press(page, "Duplicate step")
    assert written(page) == "0:0⇒2\n0:0⇒2"
    assert position(page) == 1
    press(page, "New step")
    assert sentence(page).startswith("Step 2, new.")
    draw(page, 0, 0, 1)
    assert written(page) == "0:0⇒2\n0:0⇒1\n0:0⇒2"
    press(page, "Remove step")
    seen = [written(page)]
    while page.get_by_role("button", name="Undo").is_enabled():
        press(page, "Undo")
        seen.append(written(page))
    assert seen == ["0:0⇒2\n0:0⇒2", "0:0⇒2\n0:0⇒1\n0:0⇒2", "0:0⇒2\n0:0⇒2", "0:0⇒2", "0:1⇒0 0:0⇒2", "0:1⇒0", ""]
    for text in reversed(seen[:-1]):
        press(page, "Redo")
        assert written(page) == text
    assert page.get_by_role("button", name="Redo").is_disabled()
    spot(page, 0).focus()
    page.keyboard.press("Control+z")
    assert written(page) == seen[1]
    page.keyboard.press("Control+Shift+Z")
    assert written(page) == seen[0]


@pytest.mark.matrix("more of one widget in the browser")
def test_a_schedule_typed_with_plain_arrows(open_playground):
    page = open_playground(playground_spec(empty("all_reduce", 2, 2)))
    box = page.get_by_role("textbox")
    box.press_sequentially("0:1=>0 1:0=>1\n\n0:0->1 1:1->0 ")
    assert "0:0->1" in written(page)  # while it is typed nobody interferes
    assert page.locator(".bim-full").count() > 0
    box.blur()
    assert written(page) == "0:1⇒0 1:0⇒1\n0:0→1 1:1→0"
    press(page, "Check")
    assert verdict(page).startswith("Kept. It takes 2 steps, and the busiest rank moves N: ")
    press(page, "Undo")
    assert written(page) == ""  # what was typed in one go is undone in one go


LIGATURES = "one => getComputedStyle(one).fontVariantLigatures"
UNREADABLE = [
    (
        "0:0→1\n0:1",
        "Line 2, “0:1”: an arrow must stand between sender and receiver: ⇒ or => adds, → or -> overwrites.",
    ),
    ("0:0→1 0-1→2", "Line 1, “0-1→2”: there is no colon after the chunk."),
    ("a:0→1", "Line 1, “a:0→1”: the chunk before the colon must be a number, got “a”."),
    ("0:0→x", "Line 1, “0:0→x”: the receiver must be a rank's number, got “x”."),
    ("0:→1", "Line 1, “0:→1”: the sender must be a rank's number, got “”."),
    ("\n0:0→1\n\n0:7=>1", "Line 4, “0:7=>1”: there is no rank 7: ranks are 0 to 3."),
    ("1:0→1", "Line 1, “1:0→1”: there is no chunk 1: chunks are 0 to 0."),
    ("0:1→1", "Line 1, “0:1→1”: rank 1 sends chunk 0 to itself."),
    (
        "0:0→1 0:2→1",
        "Line 1, “0:2→1”: the step writes chunk 0 of rank 1 twice (0:0→1 and 0:2→1): one writer per slot and step.",
    ),
    ("broadcast mine nranks=9 nchunks=1 root=0", "The playground draws 2 to 8 ranks"),
    ("broadcast mine nranks=4 nchunks=1 root=-", "The playground draws 2 to 8 ranks"),
]


def test_what_cannot_be_read_is_named_by_line_and_word(open_playground):
    page = open_playground(BROADCAST)
    box, problem = page.get_by_role("textbox"), page.locator(".bim-editor [role=status]")
    assert page.locator(".bim-editor .bim-note").evaluate(LIGATURES) == "none"  # of which => would be an arrow
    for text, told in UNREADABLE:
        box.fill(text)
        assert verdict(page).startswith("No verdict: "), "the verdict before was on another text"
        assert box.get_attribute("aria-invalid") == "true"
        assert problem.inner_text().startswith(told)
        press(page, "Check")
        assert verdict(page).startswith(f"Not a schedule yet: {told}")
        box.fill("0:0→2")
        box.fill("0:0→1")
        assert box.get_attribute("aria-invalid") == "false"
        assert problem.inner_text() == ""
        assert sentence(page) == "Step 1 of 1. Rank 0 sends its whole buffer to rank 1, which keeps it."
        press(page, "Check")
        assert verdict(page).startswith("Broken: ")


@pytest.mark.matrix("more of one widget in the browser")
def test_a_pasted_schedule_brings_its_own_shape(open_playground):
    page = open_playground(BROADCAST)
    page.get_by_role("textbox").fill(str(RING))
    page.get_by_role("textbox").blur()
    assert page.get_by_role("combobox", name="Collective").input_value() == "all_reduce"
    assert page.get_by_role("combobox", name="Start from").input_value() == "ring"
    assert written(page) == "\n".join(str(RING).splitlines()[1:])
    press(page, "Check")
    assert verdict(page).startswith("Kept. It takes 6 steps, and the busiest rank moves 3/2 N: ")


def message(s: Schedule) -> str:
    with pytest.raises(ScheduleError) as raised:
        check(s)
    return str(raised.value)


def test_the_counterexample_moves_to_where_it_goes_wrong(open_playground):
    """A step made twice: the slot that holds too much is marked when the step that made it has moved."""
    page = open_playground(playground_spec(DOUBLED))
    press(page, "Check")
    assert verdict(page) == f"Broken: {message(DOUBLED)}."
    assert said(page) == verdict(page)
    assert position(page) == 3
    places = set()
    for _ in range(3):
        tick(page, 140)
        places.add(page.locator(".bim-packet").first.get_attribute("transform"))
        assert page.locator(".bim-fault").count() == 0
    assert len(places) == 3
    tick(page, 140)
    assert position(page) == 4
    assert page.locator(".bim-fault").get_attribute("data-at") == "0,0"
    assert spot(page, 0, 0).locator(".bim-double").count() == 3
    assert "0+1 (2 times)+2 (2 times)+3 (2 times), wrong" in spot(page, 0, 0).inner_text()
    assert sentence(page).startswith("Step 4 of 7.")  # what is drawn or removed now belongs to the step to blame
    press(page, "Remove step")
    assert page.locator(".bim-fault").count() == 0
    assert verdict(page) == "Not checked yet."
    press(page, "Check")
    assert verdict(page).startswith("Kept.")


@pytest.mark.matrix("more of one widget in the browser")
def test_what_is_sent_before_it_is_there_is_shown_on_its_way(open_playground):
    s = Schedule.parse("broadcast mine nranks=3 nchunks=1 root=0\n0:0→1 0:1→2")
    page = open_playground(playground_spec(s))
    press(page, "Check")
    assert verdict(page) == f"Broken: {message(s)}."
    assert page.locator(".bim-fault").get_attribute("data-at") == "1,0"
    tick(page)
    assert position(page) == 1
    assert page.locator(".bim-fault").get_attribute("data-at") == "1,0"


@pytest.mark.matrix("more of one widget in the browser")
def test_what_was_never_written_is_marked_at_the_end(open_playground):
    s = Schedule.parse("broadcast mine nranks=3 nchunks=1 root=0\n0:0→1")
    page = open_playground(playground_spec(s))
    press(page, "Check")
    tick(page)
    assert verdict(page) == f"Broken: {message(s)}."
    assert "(never written)" in verdict(page)
    assert page.locator(".bim-fault").get_attribute("data-at") == "2,0"
    assert page.locator(".bim-missing").count() == 1


@pytest.mark.matrix("more of one widget in the browser")
def test_a_broken_schedule_of_no_steps(open_playground):
    page = open_playground(BROADCAST)
    press(page, "Check")
    assert "rank 1 chunk 0 holds [nothing], should hold [0] (never written)" in verdict(page)
    assert page.locator(".bim-fault").get_attribute("data-at") == "1,0"


@pytest.mark.matrix("more of one widget in the browser")
def test_reduced_motion_jumps_to_the_fault(open_playground):
    page = open_playground(playground_spec(DOUBLED), motion="reduce")
    press(page, "Check")
    assert position(page) == 4
    assert page.locator(".bim-fault").count() == 1


@pytest.mark.matrix("more of one widget in the browser")
def test_it_moves_in_real_time_and_never_by_itself(open_playground):
    page = open_playground(playground_spec(DOUBLED), clock="real")
    page.wait_for_timeout(300)
    assert position(page) == 0
    press(page, "Check")
    expect(page.locator(".bim-fault")).to_have_count(1)
    assert position(page) == 4


def test_playing_goes_through_every_step(open_playground):
    page = open_playground(playground_spec(RING))
    press(page, "Play")
    tick(page, 3500)
    assert sentence(page).startswith("Step 4 of 6.")
    tick(page, 5000)
    assert position(page) == 6
    assert sentence(page).startswith("Step 7, new.")
    page.get_by_role("slider", name="Step").fill("2")
    assert sentence(page).startswith("Step 3 of 6.")


def test_a_target_brings_its_shape_and_its_figures(open_playground):
    page = open_playground(BROADCAST)
    for target in targets():
        choose(page, "Target", target["name"])
        assert target["text"] in page.locator(".bim-task").inner_text()
        wanted = begun(target["name"])
        assert page.get_by_role("combobox", name="Collective").input_value() == wanted.collective
        assert page.locator(".bim-spot").count() == wanted.nranks * wanted.nchunks
        assert f"target {target['steps']}" in page.locator(".bim-readout").inner_text()
    choose(page, "Number of ranks", "3")
    assert page.get_by_role("combobox", name="Target").input_value() == "null"  # another size is no longer the target


def test_reaching_a_target_missing_it_and_breaking_its_rules(open_playground):
    page = open_playground(playground_spec(begun("all_reduce_both"), target="all_reduce_both"))
    box = page.get_by_role("textbox")

    def judged(s: Schedule) -> str:
        box.fill("\n".join(str(s).splitlines()[1:]))
        press(page, "Check")
        return verdict(page)

    assert judged(RING).endswith("Not the target yet: 4 steps would do.")
    assert judged(CATALOGUE["all_reduce", "halving-doubling"](4)).endswith("That is the target.")
    several = Schedule.parse("all_reduce flat nranks=4 nchunks=1 root=-\n0:1⇒0\n0:2⇒0\n0:3⇒0\n0:0→1 0:0→2 0:0→3").cut(4)
    assert "step 4: rank 0 sends to rank 1 and to rank 2 at once" in judged(several)
    assert verdict(page).startswith("The promise is kept, but not by the target's rules: step ")


@pytest.mark.matrix("more of one widget in the browser")
def test_starting_from_a_schedule_of_the_catalogue(open_playground):
    page = open_playground(playground_spec(empty("all_reduce", 4)))
    options = page.get_by_role("combobox", name="Start from").locator("option").all_inner_texts()
    assert {"nothing", "ring", "binomial", "halving-doubling"} <= set(options)
    assert not {"nvls", "sharp"} & set(options)  # a switch has no row on the board
    choose(page, "Start from", "ring")
    asked = page.evaluate("models[0].get('spec')")
    assert (asked["collective"], asked["algorithm"], asked["nranks"]) == ("all_reduce", "ring", 4)
    page.evaluate("trace => models[0].set('trace', trace)", as_data(RING))
    assert written(page) == "\n".join(str(RING).splitlines()[1:])
    assert page.get_by_role("combobox", name="Start from").input_value() == "ring"
    draw(page, 1, 0, 1)
    assert page.get_by_role("combobox", name="Start from").input_value() == "mine"
    choose(page, "Start from", "nothing")
    assert written(page) == ""
    press(page, "Undo")
    press(page, "Undo")
    assert page.get_by_role("combobox", name="Start from").input_value() == "ring"


@pytest.mark.matrix("more of one widget in the browser")
def test_another_shape_keeps_what_fits(open_playground):
    page = open_playground(playground_spec(RING))
    choose(page, "Number of ranks", "3")
    assert page.evaluate("document.activeElement.ariaLabel") in ("Number of ranks", None)
    assert all(int(n) < 3 for n in re.findall(r"[:⇒→](\d)", written(page)))
    choose(page, "Collective", "all_to_all")
    assert page.locator(".bim-spot").count() == 27
    choose(page, "Collective", "broadcast")
    choose(page, "Root", "2")
    assert "rank 2, chunk 0: 2" in spot(page, 2).inner_text()
    choose(page, "Number of ranks", "2")
    assert page.get_by_role("combobox", name="Root").input_value() == "1"


@pytest.mark.matrix("more of one widget in the browser")
def test_another_size_or_network_changes_the_time_only(open_playground):
    page = open_playground(playground_spec(RING))
    before = figure(page, "Time")
    choose(page, "Size", "1073741824")
    middle = figure(page, "Time")
    choose(page, "Network", "pcie-5")
    assert len({before, middle, figure(page, "Time")}) == 3
    assert written(page) == "\n".join(str(RING).splitlines()[1:])
    assert page.get_by_role("button", name="Undo").is_disabled()  # the schedule is the same


def test_a_link_brings_everything_back(open_playground):
    page = open_playground(BROADCAST, BROADCAST)
    second = page.locator(".bim-playground").nth(1)
    second.get_by_role("combobox", name="Target").select_option("scatter_bytes")
    second.get_by_role("textbox").fill("4:0->4 5:0->4 6:0->4 7:0->4\n2:0->2 3:0->2 6:4->6 7:4->6")
    second.get_by_role("combobox", name="Network").select_option("pcie-5")
    second.get_by_role("combobox", name="Size").select_option("1024")
    second.get_by_role("slider", name="Step").fill("1")
    link = copied(second, "link")
    text = second.get_by_role("textbox").input_value()
    page.goto("about:blank")
    page.goto(link)
    again = page.locator(".bim-playground").nth(1)
    expect(again.get_by_role("textbox")).to_have_value(text)
    values = {name: again.get_by_role("combobox", name=name).input_value() for name in ("Target", "Network", "Size")}
    assert values == {"Target": "scatter_bytes", "Network": "pcie-5", "Size": "1024"}
    assert again.locator(".bim-sentence").inner_text().startswith("Step 2 of 2.")
    assert page.locator(".bim-playground").first.get_by_role("textbox").input_value() == ""  # the first is not meant


BAD_LINKS = [
    "#playground-0--broadcast-4-1-0-mine--64-nvlink-4--0--own--zzz",
    "#playground-0--broadcast-4-1-7-mine--64-nvlink-4--0--own--002",
    "#playground-0--broadcast-4-1-x-mine--64-nvlink-4--0--own--002",
    "#playground-0--all_sum-4-1-x-mine--64-nvlink-4--0--own--002",
    "#playground-0--all_to_all-4-4-x-mine--64-nvlink-4--0--own--002",
    "#playground-0--broadcast-9-1-0-mine--64-nvlink-4--0--own--002",
    "#playground-0--broadcast-4-1-0-mine--64-string--0--own--002",
    "#playground-0--broadcast-4-1-0-mine--64-nvlink-4--9--own--002",
    "#playground-0--broadcast-4-1-0-mine--64-nvlink-4--0--world_peace--002",
    "#playground-0--broadcast-4-1-0-mine--64-nvlink-4--0--own--002002",
    "#playground-0--broadcast-4-1-0-mine--64-nvlink-4--0--own--0021",
    "#playground-0--x",
]


def test_a_bad_link_is_refused_and_changes_nothing(open_playground):
    page = open_playground(BROADCAST, hash_="#a:b(c")
    notice = page.locator(".bim-notice")
    expect(notice).to_have_text("")
    for link in BAD_LINKS:
        page.evaluate("link => { location.hash = link; }", link)
        expect(notice, link).to_have_text("This link asks for something that cannot be drawn.")
        assert written(page) == ""
        notice.evaluate("node => node.replaceChildren()")
    # About something else, or nothing
    for link in ("#section-2", "#player-0--x", "#playground-1--x", "#playground-0--"):
        page.evaluate("link => { location.hash = link; }", link)
        assert notice.inner_text() == "", link
    page.evaluate("link => { location.hash = link; }", "#playground-0--broadcast-4-1-0-mine--64-nvlink-4--0--own--002")
    expect(page.get_by_role("textbox")).to_have_value("0:0→1")
    assert notice.inner_text() == ""


def test_python_of_what_is_drawn(open_playground):
    page = open_playground(playground_spec(DOUBLED))
    cell = copied(page, "as Python")
    with pytest.raises(ScheduleError, match=re.escape(message(DOUBLED))):
        exec(cell, {})


@pytest.mark.matrix("more of one widget in the browser")
def test_the_table_twin_says_who_holds_what(open_playground):
    page = open_playground(playground_spec(Schedule.parse("broadcast mine nranks=2 nchunks=1 root=0\n0:0→1"), "1 KiB"))
    page.get_by_text("This picture as a table").click()
    rows = page.locator("details tbody tr")
    assert [row.split("\t")[:2] for row in rows.all_inner_texts()] == [["rank 0", "0"], ["rank 1", "–"]]
    forward(page)
    assert [row.split("\t")[:2] for row in rows.all_inner_texts()] == [["rank 0", "0"], ["rank 1", "0"]]


def test_a_kernel_hears_what_is_drawn_and_is_heard(open_playground):
    page = open_playground(BROADCAST, live=True)
    assert page.evaluate("models[0].saved") == 0
    draw(page, 0, 0, 1)
    spec = page.evaluate("models[0].get('spec')")
    assert spec == {**BROADCAST.as_json(), "schedule": "broadcast mine nranks=4 nchunks=1 root=0\n0:0→1"}
    assert page.evaluate("models[0].saved") == 1
    page.evaluate("spec => models[0].set('spec', spec)", playground_spec(RING, step=2).as_json())
    assert written(page) == "\n".join(str(RING).splitlines()[1:])
    assert sentence(page).startswith("Step 3 of 6.")
    assert page.evaluate("models[0].saved") == 1  # what came from the kernel is not sent back
    assert page.get_by_role("button", name="Copy link").count() == 0
    page.evaluate("stops[0]()")
    page.evaluate("spec => models[0].set('spec', spec)", BROADCAST.as_json())
    assert written(page) != ""


SHAPES = [
    ("all_reduce", 1280),
    ("all_reduce", 375),
    ("broadcast_rounds", 375),
    ("all_reduce_six", 1280),
    ("all_to_all_pairs", 375),
    ("all_to_all", 1280),
]


@pytest.mark.parametrize(
    "shown",
    some(SHAPES, SHAPES[:1], "axe, in another shape of a widget"),
)
def test_nothing_overflows_and_axe_is_content(open_playground, shown):
    what, width = shown
    target = what if what in SIZES else None
    page = open_playground(playground_spec(begun(what, nranks=8), target=target), width=width)
    page.get_by_text("This picture as a table").click()
    draw(page, 0, 0, 1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert widget_harness.violations_in_both_themes(page) == []
    press(page, "Check")
    tick(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    boxes = page.eval_on_selector_all(
        ".bim-playground :is(button, select, summary)",
        "all => all.filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect())"
        ".map((box) => Math.min(box.width, box.height))",
    )
    assert min(boxes) >= 24
    assert widget_harness.violations_in_both_themes(page) == []


@pytest.mark.matrix("more of one widget in the browser")
def test_play_and_the_stage_are_in_view_together_memory_first_on_a_telephone(open_playground):
    page = open_playground(playground_spec(begun("all_reduce ring", nranks=8)), width=375)
    widget_harness.assert_on_one_screen(page)
    tops = [page.locator(f".bim-panel-{name}").bounding_box()["y"] for name in ("memory", "topology")]
    assert tops == sorted(tops)
