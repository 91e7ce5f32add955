"""README, intro, setup and guesses: what their sentences say of commands, packages, labs and machines is what is there."""

import ast
import json
import re
from inspect import signature
from pathlib import Path

import pytest
import yaml

from helpers.ranks import Ranks, world
from helpers.ranks.machine import devices, gpus
from tools import gpu_check, pythons, torch_build

ROOT = Path(__file__).parents[1]
README, INTRO, SETUP = ((ROOT / path).read_text() for path in ("README.md", "book/intro.md", "book/setup.md"))
LABS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SMI = re.compile(r"`nvidia-smi`\?\n.*?```text\n(.*?)```\n\n(.*?)\n\n\*\*GPU-Util", re.S)


def code(lab: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(lab.read_text())["cells"] if cell["cell_type"] == "code"]


def chapters() -> list[str]:
    """All pages but the first, in the order of the table of contents."""
    return re.findall(r"^ +- file: (book/\S+)$", (ROOT / "_toc.yml").read_text(), re.M)


def test_every_page_is_linked_from_the_front_page_and_the_readme():
    assert [page for page in chapters() if f"({Path(page).name}.md" not in INTRO] == []
    assert [page for page in chapters() if f"({page}.md)" not in README] == []
    assert [lab.name for lab in LABS if f"(notebooks/{lab.name})" not in README] == []


@pytest.mark.parametrize("text", [README, SETUP, (ROOT / "Makefile").read_text()], ids=["README", "setup", "Makefile"])
def test_the_torch_that_can_be_kept_is_said(text):
    (major, oldest), (_, before) = torch_build.OLDEST, torch_build.BEFORE
    assert f"{major}.{oldest} to {major}.{before - 1}" in text


@pytest.mark.parametrize("text", [README, SETUP], ids=["README", "setup"])
def test_the_pythons_that_serve_are_said(text):
    first, *others = (f"{major}.{minor}" for major, minor in pythons.SUPPORTED)
    assert re.search(rf"Python {first} \((?:or )?{others[0]}(?: and|,) {others[1]}", text)


def test_the_packages_of_gpu_check_are_said():
    told = re.search(r"no more than (.*?), takes less", SETUP)[1]
    assert re.findall(r"[\w-]+", told.replace("PyTorch", "torch").replace(" and", "")) == list(
        gpu_check.NEEDED.values()
    )


def calls(cells: list[str], name: str) -> list[list[str]]:
    """The arguments of every call of `name` that say how many ranks there are."""
    nodes = [node for cell in cells for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Call)]
    named = [node for node in nodes if isinstance(node.func, ast.Name) and node.func.id == name]
    placing = signature(world).parameters.keys() - {"backend"}
    return [[ast.unparse(arg) for arg in (*n.args, *(k for k in n.keywords if k.arg in placing))] for n in named]


@pytest.mark.parametrize("lab", LABS, ids=lambda p: p.stem)
def test_a_lab_with_ranks_begins_with_world_as_its_ranks_are_made(lab):
    cells = code(lab)
    begins, made = calls(cells[:3], "world"), calls(cells, "Ranks")
    assert bool(begins) == bool(made or calls(cells, "world"))
    assert not made or begins[0] in made


@pytest.mark.parametrize("here", [2, 3, 4, 8])
def test_labs_that_ask_for_four_ranks_take_four_gpus_or_share_what_is_there(here, monkeypatch):
    found = gpus.Gpus(tuple(gpus.Gpu("NVIDIA H100 80GB HBM3", f"GPU-{i}") for i in range(here)))
    monkeypatch.setattr(devices, "find_gpus", lambda: found)
    label = re.search(r"```text\n(4 ranks, .*)\n```", SETUP)[1]
    world = devices.plan(4)
    assert world.label == (label if here >= 4 else label.replace("4 x", f"{here} x") + ", shares a GPU: not timed")
    assert bool(devices.plan(4, timed=True).note) == (here < 4), "where GPUs are here and not used, it says why"
    assert devices.plan().nranks == here


def test_a_stuck_rank_is_named_after_ten_seconds_unless_told_otherwise():
    assert "after ten seconds, or after the `timeout`" in SETUP
    assert signature(Ranks).parameters["timeout"].default == 10


def test_the_machines_that_tests_run_on_are_said():
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]
    assert [job["runs-on"] for job in jobs.values()] == ["ubuntu-24.04"]
    assert "Ubuntu 24.04 in CI" in SETUP and "Ubuntu 24.04 in CI" in README


def test_every_field_of_nvidia_smi_has_its_row():
    """The words of the table's head, and no row that is not in it."""
    printed, table = SMI.search(SETUP).groups()
    head = printed[: printed.index("====")]
    rows = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    fields = [field.strip() for row in rows for field in row.split(",")]
    assert [field for field in fields if field.removesuffix(" Version") not in head] == []
    words = re.findall(r"[A-Z][\w.:/-]*[\w.]", head.replace("NVIDIA-SMI", ""))
    said = " ".join(rows) + " GPU Name Version"
    assert [word for word in words if word not in said] == []
