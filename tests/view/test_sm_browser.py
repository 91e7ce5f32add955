"""The widgets `occupancy` and `warp` in Chromium, alone on a page from a file: every control pressed, by keyboard, and read out."""

from __future__ import annotations

from dataclasses import replace

import pytest
import widget_harness
from lanes import some
from playwright.sync_api import Page, expect

from helpers.view.occupancy.widget import found, occupancy_sentence, occupancy_spec
from helpers.view.warp.widget import BRANCHES, VIEWS, counts, warp_sentence, warp_spec

A100 = occupancy_spec("A100", 256, 64, 16 * 1024)


def sentence(page: Page, nth: int = 0) -> str:
    return page.locator(".bim-sentence").nth(nth).inner_text()


def press(page: Page, slider: str, key: str, times: int = 1) -> None:
    knob = page.get_by_role("slider", name=slider, exact=True)
    knob.focus()
    for _ in range(times):
        knob.press(key)


def test_the_sm_is_filled_as_python_fills_it(open_widget):
    page = open_widget("occupancy", A100)
    assert sentence(page) == f"{occupancy_sentence(A100)}."
    assert page.locator(".bim-partition .bim-rank").count() == found(A100).warps
    assert page.locator(".bim-slot").count() == 64 - found(A100).warps
    assert page.locator(".bim-decides th").inner_text() == "registers first to run out"


def test_every_slider_moves_what_stands_there_and_says_so(open_widget):
    page = open_widget("occupancy", A100)
    press(page, "Threads per block", "ArrowRight", 2)
    press(page, "Registers per thread", "ArrowLeft", 8)
    press(page, "Shared memory per block", "End")
    spec = occupancy_spec("A100", 320, 56, 163 * 1024)
    assert sentence(page) == f"{occupancy_sentence(spec)}."
    expect(page.locator("[aria-live=polite]")).to_have_text(f"{occupancy_sentence(spec)}.")
    slider = page.get_by_role("slider", name="Shared memory per block")
    assert slider.get_attribute("aria-valuetext") == "163 KiB"


@pytest.mark.matrix("more of one widget in the browser")
def test_another_accelerator_keeps_what_it_can_give(open_widget):
    page = open_widget("occupancy", occupancy_spec("H100", 128, 32, 227 * 1024))
    page.get_by_role("combobox", name="Accelerator").select_option("T4")
    spec = occupancy_spec("T4", 128, 32, 64 * 1024)
    assert sentence(page) == f"{occupancy_sentence(spec)}."
    assert page.locator(".bim-slot").count() + page.locator(".bim-partition .bim-rank").count() == 32


@pytest.mark.matrix("more of one widget in the browser")
def test_a_block_that_cannot_launch_leaves_the_sm_empty(open_widget):
    page = open_widget("occupancy", occupancy_spec("A100", 1024, 128))
    assert page.locator(".bim-partition .bim-rank").count() == 0
    assert "no block launches" in sentence(page)


def test_the_table_under_the_curve_has_every_block(open_widget):
    page = open_widget("occupancy", A100)
    page.get_by_text("Occupancy for every size of a block").click()
    rows = page.locator(".bim-details tbody tr")
    assert rows.count() == 32
    assert rows.nth(7).inner_text().split("\t") == ["256", "32", "50"]


@pytest.mark.matrix("more of one widget in the browser")
def test_a_table_stands_before_its_fold_opens(open_widget):
    page = open_widget("occupancy", A100)
    press_and_count = "one => { one.click(); return one.parentElement.querySelectorAll('tbody tr').length; }"
    assert page.locator("summary").evaluate(press_and_count) == 32  # in one task: no frame shows an empty fold


def test_a_fold_that_opens_without_a_press_is_filled_and_a_closed_one_is_empty(open_widget):
    page = open_widget("occupancy", A100)
    rows = page.locator(".bim-details tbody tr")
    page.locator("details").evaluate("one => { one.open = true; }")  # as a search in the page does
    expect(rows).to_have_count(32)
    page.locator("details").evaluate("one => { one.open = false; }")
    expect(rows).to_have_count(0)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_drawn_and_counted(view, open_widget):
    spec = warp_spec(view, stride=4, branch="quarters")
    page = open_widget("warp", spec)
    assert sentence(page) == f"{warp_sentence(spec)}."
    shown = [int(text.replace(",", "")) for text in page.locator(".bim-readout strong").all_inner_texts()]
    assert shown == list(counts(spec).values())
    drawn = {"branch": (".bim-rank", "useful"), "memory": (".bim-moves", "sectors"), "banks": (".bim-asked", "words")}
    mark, what = drawn[view]
    assert page.locator(f".bim-lanes {mark}").count() == counts(spec)[what]


def test_views_branches_and_sliders_are_pressed(open_widget):
    page = open_widget("warp", warp_spec("memory"))
    press(page, "Stride", "ArrowRight", 7)
    press(page, "Offset", "ArrowRight", 1)
    page.get_by_role("combobox", name="Bytes of an element").select_option("2")
    spec = warp_spec("memory", stride=8, offset=4, nbytes=2)
    assert sentence(page) == f"{warp_sentence(spec)}."
    page.get_by_role("combobox", name="What the warp does").select_option("branch")
    for branch in BRANCHES:
        page.get_by_role("combobox", name="Branch", exact=True).select_option(branch)
        press(page, "Steps in odd arms", "Home")
        assert sentence(page) == f"{warp_sentence(replace(spec, view='branch', branch=branch, other=1))}."
    page.get_by_role("combobox", name="What the warp does").select_option("banks")
    press(page, "Stride", "End")
    assert sentence(page) == f"{warp_sentence(replace(spec, view='banks', stride=33))}."
    expect(page.locator("[aria-live=polite]")).to_have_text(sentence(page))


def test_a_kernel_hears_of_a_change_and_may_change_it(open_widget):
    page = open_widget("warp", warp_spec("banks"), live=True)
    press(page, "Stride", "ArrowRight")
    assert page.evaluate("[models[0].saved, models[0].get('spec').stride]") == [1, 2]
    page.evaluate("models[0].set('spec', {...models[0].get('spec'), stride: 32})")
    assert "32-way conflict" in sentence(page)
    assert page.get_by_role("button", name="Copy link").count() == 0


@pytest.mark.parametrize(
    ("kind", "spec", "hash_", "words"),
    [
        (
            "occupancy",
            A100,
            "#occupancy-1--gpu-RTX-4090--threads-512--registers-40--shared-0",
            "On RTX-4090, 512 threads",
        ),
        (
            "warp",
            warp_spec(),
            "#warp-1--view-banks--branch-0--taken-1--other-1--stride-16--offset-0--nbytes-4",
            "Stride 16 in shared memory",
        ),
    ],
)
def test_a_link_opens_the_second_widget_as_it_was(kind, spec, hash_, words, open_widget):
    page = open_widget(kind, spec, spec, hash_=hash_)
    assert sentence(page, 1).startswith(words)
    assert not sentence(page, 0).startswith(words)


@pytest.mark.parametrize("width", some([375, 1280], [375], "axe, in another shape of a widget"))
def test_no_violations_and_no_sideways_scroll(width, open_widget):
    for kind, specs in (("occupancy", [A100]), ("warp", [warp_spec(view, stride=3) for view in VIEWS])):
        page = open_widget(kind, *specs, width=width)
        assert widget_harness.violations_in_both_themes(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
