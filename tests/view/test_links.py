"""Saved links: an address that stands in somebody's mail opens to the state that it was saved in, whatever moved since."""

from __future__ import annotations

import tomllib
from pathlib import Path

import harness
import pytest
from hands import copied
from playwright.sync_api import expect

from helpers.collectives import CATALOGUE
from helpers.view.calculator.widget import calculator_spec
from helpers.view.choice.asked import choice_spec
from helpers.view.clock.widget import clock_spec
from helpers.view.holds.widget import holds_spec
from helpers.view.memory.spec import memory_spec
from helpers.view.mesh.widget import mesh_spec
from helpers.view.occupancy.widget import occupancy_spec
from helpers.view.overlap.asked import overlap_spec
from helpers.view.pipeline.spec import pipeline_spec
from helpers.view.player.widget import player_spec
from helpers.view.playground.widget import empty, playground_spec
from helpers.view.primitive.widget import primitive_spec
from helpers.view.published.widget import published_spec
from helpers.view.routing.asked import routing_spec
from helpers.view.segments.spec import segments_spec
from helpers.view.shared.recorded import recorded_set
from helpers.view.shared.widget import VIEW
from helpers.view.warp.widget import warp_spec
from helpers.view.yours.widget import yours_spec

SAVED = tomllib.loads(Path(__file__).with_name("links.toml").read_text(encoding="utf-8"))
# Of each widget, what stands on the page before the link is followed.
BEFORE = {
    "primitive": lambda: primitive_spec("all_reduce", 3, "1 2 3"),
    "playground": lambda: playground_spec(empty("broadcast", 4)),
    "memory": lambda: memory_spec(["article-cpu", "article-meta"]),
    "segments": lambda: segments_spec("a = 6 MiB; b = 3 MiB; del a; c = 30 MiB; del b"),
    "occupancy": lambda: occupancy_spec("A100", 256, 64, 16 * 1024),
    "warp": lambda: warp_spec("memory"),
    "clock": clock_spec,
    "choice": choice_spec,
    "pipeline": pipeline_spec,
    "holds": holds_spec,
    "mesh": lambda: mesh_spec(data=2, pipeline=2, tensor=2),
    "routing": routing_spec,
    "published": published_spec,
    "overlap": overlap_spec,
    "yours": yours_spec,
    "calculator": lambda: calculator_spec("Llama-2-7B", seq=4096),
}


@pytest.fixture
def open_at(open_alone, open_widget, tmp_path):
    """open_at(kind, address) -> the page with one widget of that kind, opened by the link."""

    def open_(kind: str, address: str = ""):
        if kind == "player":
            path = harness.write(tmp_path / "player.html", [player_spec(CATALOGUE["all_reduce", "ring"](4))])
            return open_alone(f"{path}?manual{address}")
        traits = {"trace": recorded_set("article-cpu")} if kind == "memory" else {}
        return open_widget(kind, BEFORE[kind](), clock="manual", hash_=address, **traits)

    return open_


@pytest.mark.parametrize("kind", SAVED)
def test_a_saved_link_opens_to_its_state(kind, open_at):
    saved = SAVED[kind]
    page = open_at(kind, saved["address"])
    expect(page.locator(".bim-sentence").first).to_have_text(saved["sentence"])
    chosen = page.locator("select").evaluate_all("all => all.map((one) => one.value)")
    assert chosen == saved["chosen"]
    assert copied(page, "link").endswith(saved["address"])


MARKS = ["constructor", "__proto__", "toString", "x%22y", "x'y", "x%5Cy", "x%0Ay", "x(y)"]
ADDED = {"pipeline": [f"--text-{mark}+nranks=1+nmicrobatches=1+nstages=1%0A0F0+0B0" for mark in MARKS]}
TELL = """hash => {
  location.hash = hash;
  dispatchEvent(new HashChangeEvent("hashchange"));
  return [...document.querySelectorAll(".bim-sentence")].map(one => one.textContent).join();
}"""


@pytest.mark.parametrize("kind", SAVED)
def test_a_link_with_another_word_in_a_place_of_it_changes_nothing(kind, open_at):
    address = SAVED[kind]["address"]
    page = open_at(kind, address)
    expect(page.locator(".bim-sentence").first).to_have_text(SAVED[kind]["sentence"])
    said = page.evaluate(TELL, address)
    assert {broken for broken in marked(kind, address) if page.evaluate(TELL, broken) != said} == set()


def marked(kind: str, address: str) -> list[str]:
    """The address with a mark in the place of each of its values."""
    head, *parts = address.split("--")
    found = []
    for i, part in enumerate(parts):
        key = part.partition("-")[0]
        found += ["--".join([head, *parts[:i], f"{key}-{mark}", *parts[i + 1 :]]) for mark in MARKS]
    names = [address.replace("-mine--", f"-{name}--") for name in ("-1", "_x", "+", "x" * 65)]  # none is a schedule's
    return [*found, *names, *(f"{address}{more}" for more in ADDED.get(kind, ()))]


UNFIT = {
    "choice": ("nranks-9", "nbytes-1000", "version-2.31.0", "machine-8xL40S"),
    "clock": ("link-pcie-5", "nbytes-9", "at-99999"),
    "holds": ("way-zero-4", "beside-zero-3", "at-34", "rank-4"),
    "mesh": ("rank-16", "axes-pipeline.2_data.99_shard.1_tensor.2", "expert-3", "gpus-7"),
    "overlap": ("share-55",),
    "routing": ("tokens-9",),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_a_link_that_cannot_be_drawn_says_so(kind, open_at):
    page, address = open_at(kind), SAVED[kind]["address"]
    why = "was not recorded" if kind == "holds" else "cannot be drawn"
    for wrong in UNFIT[kind]:
        name = wrong.partition("-")[0]
        parts = [wrong if one.startswith(f"{name}-") else one for one in address.split("--")]
        page.evaluate("hash => { location.hash = hash; }", "--".join(parts))
        expect(page.locator(".bim-notice")).to_have_text(f"This link asks for something that {why}.")
        page.evaluate("hash => { location.hash = hash; }", address)
        expect(page.locator(".bim-sentence").first).to_have_text(SAVED[kind]["sentence"])


def test_every_widget_that_has_links_has_one_saved():
    modules = [path for path in VIEW.rglob("*.mjs") if "export function decode(" in path.read_text(encoding="utf-8")]
    assert set(SAVED) == {path.relative_to(VIEW).parts[0] for path in modules}
