"""The memory widget in Chromium, alone on a page from a file: every control pressed, by mouse and by keyboard; snapshots; live batches."""

from __future__ import annotations

import json
import pickle
import re
import threading
import time
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import pytest
import widget_harness
from hands import copied, press, said, sentence
from lanes import some
from memory_traces import step_trace
from playwright.sync_api import Page, expect
from snapshots import HOSTILE, lined_snapshot

from helpers.memory import Sample, unpack
from helpers.memory.snapshot import read
from helpers.view.memory.feed import Sender
from helpers.view.memory.spec import against, memory_spec, trace_set
from helpers.view.memory.text import amount
from helpers.view.shared.recorded import FOLDER, recorded_set, traces_of

STEP = step_trace(6, 4)
BACKLOG = 2.0  # seconds: a guard, far above what benchmarks/live_memory.py prints


@pytest.fixture
def open_memory(open_widget):
    """open_memory(traces, width=, ...) -> a page with one widget whose clock only `tick` moves; errors fail the test."""

    def open_(traces=(STEP,), width=1280, motion="no-preference", hash_="", found=None, stream=False, **spec):
        found = found or (trace_set(list(traces)) if traces else {})
        how = {"width": width, "motion": motion, "hash_": hash_, "clock": "manual"}
        return open_widget("memory", memory_spec(**spec), live=stream, stream=stream, trace=found, **how)

    return open_


def state(page: Page, expression: str) -> object:
    return page.evaluate(f"(() => {{ const m = document.querySelector('.bim-mt').memory; return {expression}; }})()")


def keys(page: Page) -> dict[str, str]:
    rows = page.locator(".bim-mt-keys > li").all_inner_texts()
    return dict(row.split("\n") for row in rows)


def total(page: Page) -> list[str]:
    return [cell.strip() for cell in page.locator(".bim-alive tfoot tr").inner_text().split("\t")]


def pixels(page: Page) -> dict[str, int]:
    """How many pixels of the picture have each class's colour."""
    return page.evaluate(
        """() => {
        const canvas = document.querySelector(".bim-mt-picture"), root = document.querySelector(".bim-mt"), style = getComputedStyle(root);
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, found = {};
        for (const name of ["parameters", "gradients", "optimizer", "input", "activations", "temporary"]) {
          const hex = style.getPropertyValue(`--bim-memory-${name}`).trim(), want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
          found[name] = 0;
          for (let p = 0; p < data.length; p += 4) if (want.every((value, i) => data[p + i] === value)) found[name] += 1;
        }
        return found;
      }"""
    )


def reds(page: Page) -> int:
    """How many pixels of the picture have the one red."""
    return page.evaluate(
        """() => {
        const canvas = document.querySelector(".bim-mt-picture"), hex = getComputedStyle(canvas).getPropertyValue("--bim-wrong").trim();
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        const want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
        let found = 0;
        for (let p = 0; p < data.length; p += 4) if (want.every((value, i) => data[p + i] === value)) found += 1;
        return found;
      }"""
    )


def tip(page: Page) -> list[str]:
    return page.locator(".bim-mt-tip > *").all_inner_texts()


COMMAS = """() => [...document.querySelectorAll(".bim-controls :has(> select)")]
    .map((one) => [one.querySelector("option:checked").text, one.lastChild.data])
    .filter(([, behind]) => behind)"""


def test_the_first_frame_stands_at_the_peak_and_is_silent(open_memory):
    page = open_memory()
    peak = STEP.peak
    assert state(page, "m.ui.at") == peak.index
    assert sentence(page).startswith(f"Event {peak.index + 1:,} of {len(STEP):,}")
    assert sentence(page).endswith("alive: the peak.")
    assert said(page) == ""
    shown = keys(page)
    assert shown["in all, MiB"] == amount(peak.nbytes, "MiB")
    assert shown["activation"] == amount(peak.by_class["activation"], "MiB")
    assert page.locator(".bim-mt-badge").inner_text() == "tracked (CPU tensors) · torch 2.13.0"
    assert all(count > 50 for name, count in pixels(page).items() if name not in ("input", "temporary"))
    assert page.evaluate(COMMAS) == [["everything", ","]], "a comma stays with the word before it"


def test_keys_and_buttons_step_and_say_so(open_memory):
    page = open_memory()
    last = len(STEP) - 1
    for name, at in [
        ("First event", 0),
        ("Event forward", 1),
        ("Event forward", 2),
        ("Event back", 1),
        ("Last event", last),
        ("To the peak", STEP.peak.index),
    ]:
        press(page, name)
        assert state(page, "m.ui.at") == at
        assert said(page) == sentence(page)
        assert keys(page)["in all, MiB"] == amount(int(STEP.total[at]), "MiB")
        assert total(page)[1] == amount(int(STEP.total[at]), "MiB")
    page.locator(".bim-mt-stage").focus()
    for key, at in [("Home", 0), ("ArrowRight", 1), ("End", last), ("ArrowLeft", last - 1)]:
        page.keyboard.press(key)
        assert state(page, "m.ui.at") == at
    page.get_by_role("slider", name="Event").fill("40")
    assert state(page, "m.ui.at") == 40
    assert page.get_by_role("slider", name="Event").get_attribute("aria-valuetext") == sentence(page)


def test_it_never_starts_by_itself_and_plays_from_the_start(open_memory):
    page = open_memory()
    state(page, "m.tick(5000)")
    assert state(page, "m.ui.at") == STEP.peak.index
    press(page, "Play")
    state(page, "m.tick(3000)")
    at = state(page, "m.ui.at")
    assert at == pytest.approx(len(STEP) / 4, abs=2)  # everything in twelve seconds
    page.get_by_role("combobox", name="Speed").select_option("4")
    state(page, "m.tick(1000)")
    assert state(page, "m.ui.at") == pytest.approx(len(STEP) * 7 / 12, abs=2)
    assert said(page) == ""
    page.locator(".bim-mt-stage").press(" ")
    assert said(page) == sentence(page)
    stopped = state(page, "m.ui.at")
    state(page, "m.tick(1000)")
    assert state(page, "m.ui.at") == stopped
    press(page, "Play")
    state(page, "m.tick(12000)")
    assert state(page, "m.ui.at") == len(STEP) - 1
    assert page.get_by_role("button", name="Play", exact=True).count() == 1


@pytest.mark.matrix("more of one widget in the browser")
def test_reduced_motion_jumps(open_memory):
    page = open_memory(motion="reduce")
    press(page, "Play")
    assert state(page, "m.ui.at") == len(STEP) - 1


def test_a_click_freezes_a_time_whose_list_sums_to_the_curve(open_memory):
    page = open_memory()
    box = page.locator(".bim-mt-picture").first.bounding_box()
    for share in (0.2, 0.5, 0.9):
        page.mouse.click(box["x"] + 52 + share * (box["width"] - 62), box["y"] + 150)
        at = state(page, "m.ui.at")
        assert at == pytest.approx(share * len(STEP), abs=2)
        nbytes = int(STEP.total[at])
        assert (total(page)[1], total(page)[-1]) == (amount(nbytes, "MiB"), f"{nbytes:,}")
        cells = page.locator(".bim-alive tbody tr td:last-child").all_inner_texts()
        assert sum(int(cell.replace(",", "")) for cell in cells) == nbytes
        assert said(page) == sentence(page)


@pytest.mark.matrix("more of one widget in the browser")
def test_blocks_one_by_one_and_only_those_of_a_name(open_memory):
    page = open_memory([step_trace(12, 30)])
    whole = total(page)
    page.get_by_role("combobox", name="Rows").select_option("blocks")
    assert page.locator(".bim-alive tbody tr").count() == 200
    press(page, "Show more")
    assert page.locator(".bim-alive tbody tr").count() == int(whole[2].replace(",", ""))
    assert total(page) == whole
    page.get_by_role("searchbox").fill("layers.11 activation")
    rows = page.locator(".bim-alive tbody tr").all_inner_texts()
    assert rows and all("layers.11" in row and "activation" in row for row in rows)
    assert "blocks of" in page.locator(".bim-tools .bim-mt-note").inner_text()


def test_a_part_and_the_axis_in_seconds(open_memory):
    page = open_memory()
    page.get_by_role("combobox", name="Part").select_option(label="backward 2")
    first = next(i for i, e in enumerate(STEP.events) if e.phase == "backward" and i > STEP.peak.index - 3)
    assert state(page, "m.ui.at") == first
    press(page, "Last event")
    assert STEP.events[state(page, "m.ui.at")].phase == "backward"
    press(page, "First event")
    assert state(page, "m.ui.at") == first
    page.get_by_role("combobox", name="Axis").select_option("seconds")
    assert state(page, "m.ui.axis.mode") == "seconds"
    press(page, "To the peak")
    assert state(page, "m.ui.at") == STEP.peak.index


@pytest.mark.matrix("more of one widget in the browser")
def test_a_trace_without_times_has_only_events(open_memory):
    page = open_memory([step_trace(2, 2, tick=0, source="predicted (meta)")])
    assert page.get_by_role("combobox", name="Axis").count() == 0
    assert "bim-mt-predicted" in page.locator(".bim-mt-badge").get_attribute("class")


def test_several_ranks_on_one_clock(open_memory):
    ranks = [step_trace(4, 4, unit=2**20 * (rank + 1)) for rank in range(3)]
    page = open_memory(ranks)
    page.get_by_role("combobox", name="Rank", exact=True).select_option("2")
    assert state(page, "m.ui.at") == ranks[2].peak.index
    rows = page.locator(".bim-mt-ranks tbody tr").all_inner_texts()
    assert [row.split("\t")[:3] for row in rows] == [
        [
            f"rank {rank}",
            *[
                amount(int(ranks[rank].total[ranks[2].peak.index]), "MiB"),
                amount(ranks[rank].peak.nbytes, "MiB"),
            ],
        ]
        for rank in range(3)
    ]


@pytest.mark.matrix("more of one widget in the browser")
def test_over_the_limit_is_said(open_memory):
    limit = STEP.peak.nbytes - 2**20
    page = open_memory(limit=limit)
    assert "1.00 MiB more than the limit" in sentence(page)
    first = next(i for i, nbytes in enumerate(STEP.total) if nbytes > limit)
    page.get_by_role("slider", name="Event").fill(f"{first}")
    assert "Here memory runs out: " in sentence(page)
    press(page, "First event")
    assert "limit" not in sentence(page)
    marked = reds(page)
    press(page, "More")
    page.get_by_role("combobox", name="Limit").select_option(label="80.00 GiB, A100, H100, H100-PCIe")
    assert state(page, "m.ui.limit") == 80 * 2**30
    assert marked > 20 and reds(page) == 0


@pytest.mark.matrix("more of one widget in the browser")
def test_the_layers_are_told_under_the_pointer(open_memory):
    page = open_memory()
    assert page.locator(".bim-mt-panel .bim-mt-note").first.inner_text() == "Of no module: 0.50 MiB, input."
    box = page.locator(".bim-mt-bars").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 30, box["y"] + 60)
    assert page.locator(".bim-mt-panel .bim-mt-note").first.inner_text().startswith("layers.5 holds ")


def test_a_block_under_the_pointer_is_told_and_its_row_lit_and_back(open_memory):
    page = open_memory()
    box = page.locator(".bim-mt-picture").first.bounding_box()
    inside = box["x"] + 52 + (STEP.peak.index + 0.5) / len(STEP) * (box["width"] - 62)
    page.mouse.move(inside, box["y"] + box["height"] - 42)  # at the ground lies the oldest parameter
    assert tip(page) == ["3.00 MiB, parameter", "aten::empty", "in layers.0", "block 0, from event 1 to the end"]
    lit = page.locator(".bim-alive tbody tr.bim-lit")
    assert lit.inner_text().split("\t")[0].strip() == "parameter"
    assert state(page, "[...m.ui.lit.slots]") == [0]
    page.mouse.move(inside, box["y"] + 50)  # above the curve
    assert (tip(page) and page.locator(".bim-mt-tip").is_visible(), lit.count()) == (False, 0)
    whole = pixels(page)
    rows = page.locator(".bim-alive tbody tr")
    rows.filter(has_text="optimizer state").hover()
    page.wait_for_function("document.querySelector('.bim-mt').memory.ui.lit")
    blocks = state(page, "[...m.ui.lit.slots].map((slot) => m.ui.t.ids[slot])")
    held = {e.block for e in STEP.events[: STEP.peak.index + 1] if e.cls == "optimizer"}
    gone = {e.block for e in STEP.events[: STEP.peak.index + 1] if e.kind == "free"}
    assert set(blocks) == held - gone
    page.wait_for_function(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
    )
    veiled = pixels(page)
    assert veiled["activations"] == 0 < veiled["optimizer"] <= whole["optimizer"]
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    assert rows.nth(1).evaluate("row => row === document.activeElement && row.classList.contains('bim-lit')")
    assert tip(page)[0].split(", ")[1] == rows.nth(1).inner_text().split("\t")[1].strip() + " MiB"
    page.keyboard.press("Escape")
    assert state(page, "m.ui.lit") is None and not page.locator(".bim-mt-tip").is_visible()


def shown(page: Page) -> list[int]:
    return state(page, "[m.ui.axis.from, m.ui.axis.to]")


@pytest.mark.matrix("more of one widget in the browser")
def test_nearer_farther_and_along(open_memory):
    page = open_memory()
    whole, peak = [0, len(STEP)], STEP.peak.index
    press(page, "Nearer")
    low, high = shown(page)
    assert high - low == pytest.approx(len(STEP) / 2, abs=1) and low <= peak < high
    stage = page.locator(".bim-mt-stage")
    for key, wanted in [("+", 4), ("-", 2), ("-", 1)]:
        stage.press(key)
        assert shown(page)[1] - shown(page)[0] == pytest.approx(len(STEP) / wanted, abs=2)
    assert shown(page) == whole
    page.get_by_role("button", name="Farther", disabled=True).wait_for()  # the next frame draws it so
    box = page.locator(".bim-mt-picture").first.bounding_box()
    assert not page.evaluate(WHEEL, {"deltaY": 120}) and shown(page) == whole, "the page scrolls"
    assert page.evaluate(WHEEL, {"deltaY": -120, "ctrlKey": True})
    low, high = shown(page)
    assert high - low < len(STEP) * 0.8 and abs((low + high) - len(STEP)) < 3
    page.mouse.move(box["x"] + 52 + 0.5 * (box["width"] - 62), box["y"] + 150)
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(box["x"] + 52 + 0.25 * (box["width"] - 62), box["y"] + 150)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert shown(page)[0] - low == pytest.approx((high - low) / 4, abs=1)
    press(page, "Last event")
    assert state(page, "m.ui.at") == shown(page)[1] - 1
    press(page, "To the peak")
    assert shown(page)[0] <= peak < shown(page)[1], "it follows who stands in it"
    stage.press("0")
    assert shown(page) == whole


# A turn of the wheel in the middle of the picture; whether the page leaves it to the picture.
WHEEL = """(turn) => {
    const picture = document.querySelector(".bim-mt-picture"), { left, top, width } = picture.getBoundingClientRect();
    const place = { clientX: left + 52 + 0.5 * (width - 62), clientY: top + 90 };
    return !picture.dispatchEvent(new WheelEvent("wheel", { ...place, ...turn, cancelable: true }));
}"""


def test_the_numbers_as_a_table(open_memory):
    page = open_memory()
    page.get_by_text("The numbers").click()
    rows = page.locator("details table").first.locator("tbody tr").all_inner_texts()
    marks = [row.split("\t") for row in rows if row.startswith("after forward")]
    wanted = [[f"{i + 1:,}", amount(n, "MiB")] for i, name, n in STEP.marks if name.startswith("after forward")]
    assert [[row[1], row[-1]] for row in marks] == wanted
    assert page.locator("details table").nth(1).locator("tbody tr").count() == 7


def test_a_link_brings_the_whole_state_back(open_memory):
    page = open_memory()
    page.get_by_role("combobox", name="Axis").select_option("seconds")
    page.get_by_role("slider", name="Event").fill("17")
    press(page, "More")
    page.get_by_role("combobox", name="Limit").select_option("17179869184")
    page.get_by_role("combobox", name="Colour").select_option("block")
    press(page, "Nearer")
    seen = shown(page)
    link = copied(page, "link")
    page.goto("about:blank")
    page.goto(link)
    assert state(page, "[m.ui.at, m.ui.axis.mode, m.ui.limit, m.ui.colour]") == [17, "seconds", 2**34, "block"]
    assert shown(page) == seen != [0, len(STEP)]
    assert page.get_by_role("combobox", name="Colour").input_value() == "block"


@pytest.mark.parametrize(
    "hash_",
    some(
        ["#memory-0--x", "#memory-0--at-999999--part-99--rank-7", "#memory-9--at-1"],
        ["#memory-0--at-999999--part-99--rank-7"],
        "more bad links",
    ),
)
def test_a_bad_link_breaks_nothing(open_memory, hash_):
    page = open_memory(hash_=hash_)
    assert keys(page)["in all, MiB"]
    assert state(page, "m.ui.rank") == 0


def test_python_of_what_is_on_show(open_memory):
    page = open_memory((), found=recorded_set("article-cpu"), shown=["article-cpu", "article-meta"], limit=2**31)
    press(page, "Event back")
    names: dict = {}
    exec(copied(page, "as Python").replace("\nmemory(", "\nmade = memory("), names)
    assert (names["made"].spec["at"], names["made"].spec["limit"]) == (state(page, "m.ui.at"), 2**31)
    two_on_one_scale(page)


def two_on_one_scale(page):
    """A recorded trace against another, which the page brings when it is asked for."""
    own, other = (traces_of(recorded_set(name))[0] for name in ("article-cpu", "article-cuda-like"))
    press(page, "More")
    page.get_by_role("combobox", name="Against").select_option("article-meta")
    asked = page.evaluate("models[0].get('spec')")
    assert (asked["show"], asked["against"]) == ("article-cpu", "article-meta")
    both = {**recorded_set("article-cpu"), "against": recorded_set("article-cuda-like")}
    page.evaluate("found => models[0].set('trace', found)", both)
    rows = [row.split("\t")[:3] for row in page.locator(".bim-mt-ranks tbody tr").all_inner_texts()]
    at = state(page, "m.ui.at")
    assert rows == [
        [own.about["label"], amount(int(own.total[at]), "MiB"), amount(own.peak.nbytes, "MiB")],
        ["article-cuda-like", amount(int(other.total[at]), "MiB"), amount(other.peak.nbytes, "MiB")],
    ]
    assert f"article-cuda-like: {rows[1][1]} MiB here, {rows[1][2]} MiB at its peak." in sentence(page)
    assert state(page, "m.ui.axis.hi") == max(len(own), len(other))


SNAPSHOT = {
    "segments": [{"device": 0, "address": 4096, "total_size": 2**21, "segment_type": "small", "blocks": [
        {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated"}]}],
    "device_traces": [[
        {"action": "segment_alloc", "addr": 4096, "size": 2**21, "time_us": 5, "frames": []},
        {"action": "alloc", "addr": 8192, "size": 2**20, "time_us": 9, "frames": [
            {"filename": "/x/torch/nn/linear.py", "line": 7, "name": "linear"}, {"filename": "/x/train.py", "line": 3, "name": "step"}]},
        {"action": "oom", "size": 2**23, "device_free": 2**19, "time_us": 10, "frames": []},
    ]],
}  # fmt: skip


def test_a_snapshot_of_pytorch_is_opened_and_left(open_memory, tmp_path):
    page = open_memory()
    path = tmp_path / "mine.pickle"
    path.write_bytes(pickle.dumps(SNAPSHOT))
    page.locator("input[type=file]").set_input_files(path)
    expect(page.locator(".bim-mt-heading strong")).to_have_text("mine.pickle")
    trace = read(SNAPSHOT).trace(0)
    assert page.locator(".bim-mt-badge").inner_text() == "measured (CUDA allocator)"
    peak = amount(trace.peak.nbytes, "MiB")
    assert {"train.py:3 (step)": peak, "in all, MiB": peak, "reserved, event 1": "2.00"}.items() <= keys(page).items()
    assert "train.py:3 (step)" in page.locator(".bim-alive").inner_text()
    page.locator(".bim-alive tbody tr").filter(has_text="train.py").hover()
    assert tip(page)[1:3] == ["linear linear.py:7", "step train.py:3"], "all of the stack"
    assert state(page, "m.ui.limit") == 2**21 + 2**19, "what it had and what was free"
    press(page, "Last event")
    assert "out of memory, 8.00 MiB asked for, 0.50 MiB free" in sentence(page)
    assert reds(page) > 0
    (tmp_path / "b").mkdir()
    twin = tmp_path / "b" / "mine.pickle"
    twin.write_bytes(pickle.dumps(lined_snapshot(*LINES[:2])))
    page.locator("input[type=file]").set_input_files(twin)  # of the same name: two, beside each other
    expect(page.locator(".bim-mt-ranks tbody tr")).to_have_text(
        [re.compile("^mine.pickle"), re.compile(r"^mine.pickle \(2\)")]
    )
    told = page.locator(".bim-mt-holders").inner_text()
    assert told.startswith(f"mine.pickle: at the peak, {peak} MiB, train.py:3 (step) holds ")
    assert state(page, "m.ui.top") >= 79 * 2**20, "one axis for both"
    second = page.locator(".bim-mt-stage figure").nth(1)
    assert second.locator("figcaption").inner_text() == "mine.pickle (2)"
    assert page.locator(".bim-mt-keys .bim-mt-sum strong").all_inner_texts() == [peak, "79.00"], (
        "of both, at the last event"
    )
    seen = second.locator("canvas").evaluate(COLOURS)
    for colour in list(swatches(page, ".bim-mt-keys").values())[-2:]:  # the fullest lines are the other file's
        assert seen.get(colour.partition(")")[0] + ")", 0) > 1000
    second.locator("canvas").click(position={"x": 60, "y": 100})
    assert state(page, "m.ui.at") == 0, "a moment is chosen on either"
    assert (
        "mine.pickle (2) holds 78.00 MiB more than mine.pickle at its peak: train.py:0 (step) 40.00 MiB more, " in told
    )
    assert widget_harness.violations_in_both_themes(page) == []
    page.get_by_text("How is one made?").click()
    assert "_dump_snapshot" in page.locator(".bim-mt-own pre").inner_text()
    press(page, "Back to the course's trace")
    assert keys(page)["in all, MiB"] == amount(STEP.peak.nbytes, "MiB")
    widget_harness.narrow(page, 320)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the lines scroll, not the page"


def test_a_file_that_would_run_something_is_refused_by_name(open_memory, tmp_path):
    page = open_memory()
    path = tmp_path / "bad.pickle"
    path.write_bytes(HOSTILE[2])
    page.locator("input[type=file]").set_input_files(path)
    told = page.locator(".bim-mt-own").get_by_role("status")  # where it was dropped
    expect(told).to_contain_text("bad.pickle cannot be opened: byte ")
    widget_harness.narrow(page)  # and to be seen on a telephone
    assert "only plain data is read" in told.inner_text() and "_dump_snapshot" in told.inner_text()
    mine = path.with_name("mine.pickle")
    mine.write_bytes(pickle.dumps({"segments": [], "device_traces": [[]]}))
    page.locator("input[type=file]").set_input_files(mine)
    expect(told).to_contain_text("mine.pickle cannot be opened: this snapshot has no history")
    assert "before the step" in told.inner_text() and "bad.pickle" not in told.inner_text()
    assert keys(page)["in all, MiB"] == amount(STEP.peak.nbytes, "MiB")


LINES = [("/srv/train.py", n, "step", (40 - n) * 2**20) for n in range(20)]
SWATCH = """all => all.map((one) => { const { backgroundColor: colour, backgroundImage: image } = getComputedStyle(one);
    return [one.parentElement.innerText.split("\\n")[0], colour + image]; })"""


# How many pixels of a canvas have each colour.
COLOURS = """(canvas) => {
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, found = {};
    for (let p = 0; p < data.length; p += 4) {
      const rgb = `rgb(${data.slice(p, p + 3).join(", ")})`;
      found[rgb] = (found[rgb] ?? 0) + 1;
    }
    return found;
}"""


def swatches(page: Page, where: str) -> dict[str, str]:
    """The colour, with its pattern, of each name; a key also has the number."""
    found = page.locator(f"{where} .bim-swatch").evaluate_all(SWATCH)
    return {re.sub(r"\d[\d,]*\.\d\d$", "", name): colour for name, colour in found}


def test_a_snapshot_is_coloured_by_line_and_who_holds_the_peak_is_said(open_memory, tmp_path):
    page = open_memory()
    path = tmp_path / "mine.pickle"
    path.write_bytes(pickle.dumps(lined_snapshot(*LINES)))
    page.locator("input[type=file]").set_input_files(path)
    named = [f"train.py:{n} (step)" for n in range(16)]
    key = swatches(page, ".bim-mt-keys")
    assert list(key) == ["other lines (4)", *reversed(named)]
    assert len(set(key.values())) == 17, "two lines never have one colour"
    rows = swatches(page, ".bim-alive")
    assert {name: rows[name] for name in named} == {name: key[name] for name in named}
    page.get_by_role("searchbox").fill("train.py:7 (step)")
    assert page.locator(".bim-alive tbody tr").all_inner_texts() == ["train.py:7 (step)\t33.00\t7\t34,603,008"]
    page.get_by_role("searchbox").fill("")
    assert ": train.py:19 (step) allocates 21.00 MiB. " in sentence(page)
    assert {rows[f"train.py:{n} (step)"] for n in range(16, 20)} == {key["other lines (4)"]}
    seen = page.locator(".bim-mt-picture").first.evaluate(COLOURS)
    assert all(seen.get(colour.partition(")")[0] + ")", 0) > 50 for colour in key.values()), "bands as the key"
    total = sum(size for *_, size in LINES)
    held = page.locator(".bim-mt-holders").inner_text()
    assert held.startswith(
        f"At the peak, {amount(total, 'MiB')} MiB, train.py:0 (step) holds 40.00 MiB, 7\xa0%; then train.py:1"
    )
    assert held.endswith(f"; 17 other lines {amount(sum(size for *_, size in LINES[3:]), 'MiB')} MiB, 81\xa0%.")
    assert said(page) == held


def test_a_folder_of_snapshots_of_one_name_tells_them_by_their_folders(open_memory, tmp_path):
    page = open_memory()
    for n, folder in enumerate(("before", "after"), 1):
        (tmp_path / "runs" / folder).mkdir(parents=True)
        (tmp_path / "runs" / folder / "snapshot.pickle").write_bytes(pickle.dumps(lined_snapshot(*LINES[:n])))
    (tmp_path / "runs" / "notes.txt").write_text("not to be opened")
    with page.expect_file_chooser() as chooser:
        press(page, "a folder")
    chooser.value.set_files(tmp_path / "runs")
    expect(page.locator(".bim-mt-ranks tbody th")).to_have_count(2)
    assert set(page.locator("figcaption").all_inner_texts()) == {"before/snapshot.pickle", "after/snapshot.pickle"}
    assert page.locator(".bim-mt-own").get_by_role("status").inner_text() == ""


def saved(page: Page, words: str, path: Path) -> str:
    with page.expect_download() as found:
        press(page, words)
    found.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_a_page_to_hand_on_shows_the_numbers_and_is_opened_again(open_memory, tmp_path):
    page, path, handed = open_memory(), tmp_path / "node7.pickle", tmp_path / "handed.html"
    path.write_bytes(pickle.dumps(lined_snapshot(*LINES, ("/srv/<b>.py", 1, "f", 2**20))))
    page.locator("input[type=file]").set_input_files(path)
    expect(page.locator(".bim-mt-handed")).to_be_visible()
    page.get_by_role("slider", name="Event").fill("5")
    press(page, "Nearer")
    held, view = page.locator(".bim-mt-holders").inner_text(), shown(page)
    html = saved(page, "Save as a page", handed)
    assert "node7" in html and "node7" not in saved(page, "Save without file names", tmp_path / "nameless.html")
    stored = json.loads(re.search('<script type="application/json" id="bim-memory">(.*?)</script>', html)[1])
    assert [unpack(one) for one in stored["files"][0]["ranks"]] == [read(path).trace(0)]
    page.locator("input[type=file]").set_input_files(handed)
    expect(page.locator(".bim-mt-heading strong")).to_have_text("node7.pickle (2)")
    assert (state(page, "m.ui.at"), shown(page)) == (5, view) and page.locator(".bim-mt-holders").inner_text() == held
    page.locator("input[type=file]").set_input_files(FOLDER / "article-cpu.json")  # as recorded: by class
    expect(page.locator(".bim-mt-ranks tbody tr").nth(1)).to_contain_text("article-cpu.json")
    for whole, broken in (('"alloc"', '"run"'), ('"sizes":[', '"sizes":[-1,'), ('"files"', '"other"')):
        handed.with_name("broken.html").write_text(html.replace(whole, broken), encoding="utf-8")
        page.locator("input[type=file]").set_input_files(handed.with_name("broken.html"))
        told = page.locator(".bim-mt-own").get_by_role("status")
        expect(told).to_contain_text("broken.html cannot be opened: no trace is in it that this widget saved.")
        page.locator("input[type=file]").set_input_files(path)
        expect(told).to_have_text("")
    page.goto(handed.as_uri())
    assert page.locator("p").first.inner_text() == held
    rows = dict(row.split("\t")[::2] for row in page.locator("tr").all_inner_texts())
    assert rows["train.py:0 (step)"] == "40.00" and rows["In all"] == amount(read(path).trace(0).peak.nbytes, "MiB")
    assert (
        page.locator("img").evaluate("img => img.naturalWidth") > 1000 and page.locator("script[src], b").count() == 0
    )


def test_a_link_of_ones_own_file_stands_again_where_it_is_opened(open_memory, tmp_path):
    page, path = open_memory(), tmp_path / "mine.pickle"
    path.write_bytes(pickle.dumps(lined_snapshot(*LINES)))
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("slider", name="Event").fill("5")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("combobox", name="Colour").select_option("block")
    link = copied(page, "link")
    assert "mine" not in link.partition("#")[2]
    page.goto("about:blank")
    page.goto(link)
    assert "which no link carries" in page.locator(".bim-mt-own").get_by_role("status").inner_text()
    assert keys(page)["in all, MiB"] == amount(STEP.peak.nbytes, "MiB")
    page.locator("input[type=file]").set_input_files(path)
    expect(page.locator(".bim-mt-heading strong")).to_have_text("mine.pickle")
    assert state(page, "[m.ui.at, m.ui.colour]") == [5, "block"]
    names: dict = {}
    exec(copied(page, "as Python").replace("mine.pickle", str(path)).replace("\nmemory(", "\nmade = memory("), names)
    assert names["made"].traces == [read(path).trace(0)]


@pytest.mark.alone  # a time is asserted
def test_live_events_lose_nothing_and_leave_no_backlog(open_memory):
    """The recorded step of the article at 1,000 events a second, batches as a kernel sends them."""
    trace = traces_of(recorded_set("article-cpu"))[0]
    page, queue, ended = open_memory((), stream=True), SimpleQueue(), []
    sender = Sender(queue.put)

    def feed() -> None:
        start = time.monotonic()
        for n, event in enumerate(trace.events):
            sender.take(event, 0)
            time.sleep(max(0.0, start + (n + 1) / 1000 - time.monotonic()))
        sender.flush()
        ended.append(time.monotonic())
        queue.put({"over": True})

    thread = threading.Thread(target=feed)
    thread.start()
    message = {}
    while "over" not in message:
        message = queue.get(timeout=30)
        page.evaluate("message => models[0].hear(message)", message)
    page.wait_for_function(f"document.querySelector('.bim-mt').memory.ui.t.n === {len(trace)}")
    assert time.monotonic() - ended[0] < BACKLOG
    thread.join()
    assert state(page, "[m.feed.received, m.feed.asked, m.feed.over]") == [len(trace), 0, True]
    assert state(page, "m.ui.t.total") == trace.total.tolist()
    assert 5 < state(page, "m.frames()") < len(trace) / 2  # drawn at the screen's pace, not at the events'
    assert page.evaluate("models[0].sent") == [{"ask": "all"}]


def test_a_gap_is_asked_for(open_memory):
    page, told = open_memory((), stream=True), []
    sender = Sender(told.append)
    for start in (0, 20, 40):
        sender.take(STEP.events[start : start + 20], 0)
        sender.flush()
    for message in (told[0], told[2]):
        page.evaluate("message => models[0].hear(message)", message)
    assert page.evaluate("models[0].sent.at(-1)") == {"ask": {"rank": 0, "from": 20, "named": len(told[0]["what"])}}
    assert state(page, "m.feed.received") == 20
    sender.answer(page.evaluate("models[0].sent.at(-1).ask"))
    page.evaluate("message => models[0].hear(message)", told[3])
    assert state(page, "m.feed.received") == 60
    expect(page.locator(".bim-mt-sum strong")).to_have_text(amount(int(STEP.total[59]), "MiB"))
    page.get_by_role("slider", name="Event").fill("7")  # the reader looks back while events arrive
    press(page, "Follow")
    expect(page.locator(".bim-sentence")).to_contain_text("Event 60 of 60")


def test_what_an_allocator_says_stands_beside_what_is_alive(open_memory):
    """Live, on two ranks and beside a prediction: the keys, the ranks' table, and in the end what was counted."""
    held = {"peak_allocated": 2**25, "peak_reserved": 2**26, "retries": 1, "reserved": 2**26, "segments": 3}
    held |= {"cached": 2**24, "largest": 2**23, "stuck": 2**22}
    seen = replace(STEP, source="tracked (CUDA tensors)", about={**STEP.about, "gpu": "a GPU", "allocator": held})
    page, told = open_memory((), stream=True, found=against(replace(STEP, source="predicted (meta)"))), []
    sender = Sender(told.append)
    for rank in (0, 1):
        sender.take([*STEP.events[:60], Sample(40, 3 * 2**20, 2**23), Sample(59, 2**22, 2**24 * (rank + 1))], rank)
    sender.flush()
    for message in told:
        page.evaluate("message => models[0].hear(message)", message)
    expect(page.locator(".bim-mt-keys")).to_contain_text("reserved")
    assert (keys(page)["in blocks"], keys(page)["reserved"]) == ("4.00", "16.00")
    here, peak = (f"{amount(int(n), 'MiB')} MiB" for n in (STEP.total[59], STEP.peak.nbytes))
    assert sentence(page).endswith(f"predicted: {here} here, {peak} at its peak.")
    page.get_by_role("combobox", name="Rank").select_option(label="rank 1")  # while it runs
    assert keys(page)["reserved"] == "32.00" and page.locator(".bim-mt-ranks").inner_text().count("predicted") == 1
    page.evaluate("found => models[0].set('trace', found)", trace_set([seen]))
    expect(page.locator(".bim-mt-badge")).to_have_text("tracked (CUDA tensors) · a GPU · torch 2.13.0")
    expect(page.locator(".bim-sentence + .bim-mt-note")).to_have_text(
        "The allocator: at most 32.00 MiB in blocks and 64.00 MiB reserved; retries: 1. In the end 64.00 MiB reserved in 3 segments, "
        "16.00 MiB of it free: the largest block 8.00 MiB, and 4.00 MiB between tensors, which no empty_cache() gives back."
    )


@pytest.mark.parametrize("width", some([375, 1280], [375], "axe, in another shape of a widget"))
def test_nothing_overflows_and_axe_is_content(open_memory, width):
    ranks = [step_trace(12, 6, unit=2**24 * (rank + 1)) for rank in range(2)]
    page = open_memory(ranks, width=width, limit=2**31)
    page.get_by_text("The numbers").click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    small = page.eval_on_selector_all(
        "button, select, input:not(.bim-sr)",
        "all => all.filter((e) => e.offsetParent && e.getBoundingClientRect().height < 24).map((e) => e.outerHTML)",
    )
    assert small == []
    assert widget_harness.violations_in_both_themes(page) == []


def test_the_theme_repaints_the_picture(open_memory):
    page = open_memory()
    light = page.evaluate("document.querySelector('.bim-mt-picture').toDataURL()")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function("was => document.querySelector('.bim-mt-picture').toDataURL() !== was", arg=light)
    assert all(count > 50 for name, count in pixels(page).items() if name not in ("input", "temporary"))
