"""Saved links: an address that stands in somebody's mail opens to the state that it was saved in, whatever moved since."""

from __future__ import annotations

import tomllib
from pathlib import Path

import harness
import pytest
import widget_harness
from hands import copied
from playwright.sync_api import expect

from helpers.collectives import CATALOGUE
from helpers.view.calculator.forms import forms
from helpers.view.calculator.widget import calculator_spec
from helpers.view.choice.asked import choice_spec, published
from helpers.view.clock.widget import clock_spec, protocols
from helpers.view.holds.steps import known as holdings
from helpers.view.holds.widget import holds_spec
from helpers.view.memory.spec import memory_spec
from helpers.view.mesh.widget import mesh_spec
from helpers.view.occupancy.widget import gpus, occupancy_spec
from helpers.view.overlap.asked import overlap_spec
from helpers.view.overlap.jobs import known as overlaps
from helpers.view.pipeline.programs import known as pipelines
from helpers.view.pipeline.spec import pipeline_spec
from helpers.view.player.widget import player_spec
from helpers.view.playground.widget import empty, known, playground_spec
from helpers.view.primitive.widget import primitive_spec, primitives
from helpers.view.published.known import known as published_runs
from helpers.view.published.widget import published_spec
from helpers.view.routing.asked import routing_spec
from helpers.view.segments.spec import segments_spec
from helpers.view.shared.nccl import known as nccl_known
from helpers.view.shared.recorded import recorded_set
from helpers.view.shared.schedules.traces import catalogue, links
from helpers.view.shared.widget import VIEW
from helpers.view.warp.widget import warp_spec
from helpers.view.yours.page import KNOWS
from helpers.view.yours.widget import yours_spec

SAVED = tomllib.loads(Path(__file__).with_name("links.toml").read_text(encoding="utf-8"))
# Of each widget, what stands on the page before the link is followed: the traits that the page gives it.
TRAITS = {
    "primitive": lambda: {"primitives": primitives(), "spec": primitive_spec("all_reduce", 3, "1 2 3")},
    "playground": lambda: {
        "catalogue": catalogue(),
        "links": links(),
        "playground": known(),
        "spec": playground_spec(empty("broadcast", 4)),
    },
    "memory": lambda: {
        "spec": memory_spec(["article-cpu", "article-meta"]),
        "trace": recorded_set("article-cpu"),
    },
    "segments": lambda: {"spec": segments_spec("a = 6 MiB; b = 3 MiB; del a; c = 30 MiB; del b")},
    "occupancy": lambda: {"gpus": gpus(), "spec": occupancy_spec("A100", 256, 64, 16 * 1024)},
    "warp": lambda: {"spec": warp_spec("memory")},
    "clock": lambda: {"links": links(), "protocols": protocols(), "spec": clock_spec()},
    "choice": lambda: {"nccl": nccl_known(), "nccl_runs": published(), "spec": choice_spec()},
    "pipeline": lambda: {"pipelines": pipelines(), "spec": pipeline_spec()},
    "holds": lambda: {"holdings": holdings(), "spec": holds_spec()},
    "mesh": lambda: {"spec": mesh_spec(data=2, pipeline=2, tensor=2)},
    "routing": lambda: {"spec": routing_spec()},
    "published": lambda: {"published": published_runs(), "spec": published_spec()},
    "overlap": lambda: {"overlaps": overlaps(), "links": links(), "spec": overlap_spec()},
    "yours": lambda: {name: known() for name, known in KNOWS.items()} | {"spec": yours_spec()},
    "calculator": lambda: {"forms": forms(), "spec": calculator_spec("Llama-2-7B", seq=4096)},
}


def written(kind: str, path: Path) -> str:
    """The page with one widget of that kind, as a file; its address."""
    if kind == "player":
        return harness.write(path, [player_spec(CATALOGUE["all_reduce", "ring"](4))])
    return widget_harness.write(path, kind, [{"live": False} | TRAITS[kind]()])


@pytest.mark.parametrize("kind", SAVED)
def test_a_saved_link_opens_to_its_state(kind, open_alone, tmp_path):
    saved = SAVED[kind]
    page = open_alone(f"{written(kind, tmp_path / f'{kind}.html')}?manual{saved['address']}")
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
def test_a_link_with_another_word_in_a_place_of_it_changes_nothing(kind, open_alone, tmp_path):
    address = SAVED[kind]["address"]
    page = open_alone(f"{written(kind, tmp_path / f'{kind}.html')}?manual{address}")
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


def test_every_widget_that_has_links_has_one_saved():
    assert set(SAVED) == {path.relative_to(VIEW).parts[0] for path in VIEW.rglob("link.mjs")} - {"shared"}
