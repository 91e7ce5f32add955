"""The widget `mesh` in Chromium: one page on which every control is pressed, and every word follows."""

from __future__ import annotations

import widget_harness
from hands import press
from playwright.sync_api import expect

from helpers.view.mesh.axes import MeshSpec
from helpers.view.mesh.widget import mesh_sentence, mesh_spec

START = mesh_spec(data=2, pipeline=2, tensor=2)


def shows(page, spec: MeshSpec) -> None:
    expect(page.locator(".bim-sentence").first).to_have_text(mesh_sentence(spec))


def lit(page) -> list[int]:
    return [int(one) for one in page.locator(".bim-mesh-lit b").all_inner_texts()]


def test_every_control_changes_what_stands_there(open_widget):
    page = open_widget("mesh", START, live=True)
    shows(page, START)
    assert lit(page) == list(range(8)) and page.locator(".bim-mesh-node").count() == 1
    press(page, "pipeline")
    shows(page, mesh_spec(axis="pipeline", data=2, pipeline=2, tensor=2))
    assert page.locator(".bim-mesh-rank i").all_inner_texts() == ["A", "B", "A", "B", "C", "D", "C", "D"]
    page.locator("[data-rank='5']").click()
    spec = mesh_spec(axis="pipeline", rank=5, data=2, pipeline=2, tensor=2)
    shows(page, spec)
    expect(page.locator("[aria-live]")).to_have_text(mesh_sentence(spec))
    assert page.evaluate("models[0].get('spec')") == spec.as_json()
    assert lit(page) == [5, 7] and page.locator(".bim-mesh-met").count() == 3
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    shows(page, mesh_spec(axis="pipeline", rank=6, data=2, pipeline=2, tensor=2))
    press(page, "pipeline: one inwards")
    shows(page, mesh_spec(axis="pipeline", rank=6, data=2, shard=1, tensor=2, pipeline=2))
    assert lit(page) == [6, 7], "the innermost axis are neighbours"
    assert page.get_by_role("button", name="pipeline: one inwards").is_disabled()
    page.get_by_role("combobox", name="Ranks on data").select_option("8")
    page.get_by_role("combobox", name="GPUs of a node").select_option("4")
    page.get_by_role("combobox", name="Ranks on expert").select_option("4")
    spec = mesh_spec(axis="pipeline", rank=6, gpus=4, expert=4, data=8, shard=1, tensor=2, pipeline=2)
    shows(page, spec)
    assert page.locator(".bim-mesh-node").count() == 8
    page.get_by_role("combobox", name="Ranks on tensor").select_option("16")
    expect(page.locator(".bim-mesh-refused")).to_have_text(
        "data 8 × tensor 16 × pipeline 2 are 256 ranks, and 64 can be drawn: with the others as they are, tensor may be at most 4."
    )
    assert page.get_by_role("combobox", name="Ranks on tensor").input_value() == "2"
    page.get_by_role("combobox", name="Ranks on expert").select_option("3")
    expect(page.locator(".bim-mesh-refused")).to_contain_text("expert is one of 1, 2, 4, 8, not 3.")
    shows(page, spec)
    press(page, "expert")
    shows(page, mesh_spec(axis="expert", rank=6, gpus=4, expert=4, data=8, shard=1, tensor=2, pipeline=2))
    assert page.locator(".bim-mesh-refused").inner_text() == ""
    page.get_by_text("The groups of every axis").click()
    assert page.locator(".bim-details table").count() == 4
    page.evaluate("spec => models[0].set('spec', spec)", START.as_json())
    shows(page, START)
    widget_harness.narrow(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert widget_harness.violations_in_both_themes(page) == []
    assert page.get_by_role("button", name="Copy link").count() == 0


def test_64_ranks_fit_a_telephone(open_widget):
    spec = mesh_spec(shard=8, tensor=8, rank=9, axis="shard")
    page = open_widget("mesh", spec, width=375)
    shows(page, spec)
    assert page.locator(".bim-mesh-rank").count() == 64 and lit(page) == list(range(1, 64, 8))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert widget_harness.violations_in_both_themes(page) == []
