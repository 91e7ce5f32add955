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
from helpers.view.yours.known import CHAPTERS
from tools import distribution, gpu_check, pythons, torch_build

ROOT = Path(__file__).parents[1]
README, INTRO, SETUP, RENTING = (
    (ROOT / path).read_text() for path in ("README.md", "book/intro.md", "book/setup.md", "book/renting.md")
)
LABS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SMI = re.compile(r"`nvidia-smi`\?\n.*?```text\n(.*?)```\n\n(.*?)\n\n\*\*GPU-Util", re.S)


def code(lab: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(lab.read_text())["cells"] if cell["cell_type"] == "code"]


def chapters() -> list[str]:
    """All pages but the first, in the order of the table of contents."""
    return re.findall(r"^ +- file: (book/\S+)$", (ROOT / "_toc.yml").read_text(), re.M)


def test_every_page_is_linked_from_the_front_page_and_the_readme():
    assert "\n```{map}\n" in INTRO, "the map has a place for every page, or the book does not build"
    assert [page for page in chapters() if f"({page}.md)" not in README] == []
    assert [lab.name for lab in LABS if f"(notebooks/{lab.name})" not in README] == []


def test_a_chapter_has_one_name():
    """That of the table of contents, or else its title, which holds it: in the README, in verdicts and in its lab."""
    listed = yaml.safe_load((ROOT / "_toc.yml").read_text())["parts"]
    names = {one["file"]: one.get("title") for part in listed for one in part["chapters"]}
    for page, name in names.items():
        stem, title = page.removeprefix("book/"), re.search(r"^# (.*)", (ROOT / f"{page}.md").read_text(), re.M)[1]
        name = name or title
        assert name.casefold() in title.casefold() and ":" not in name
        assert CHAPTERS.get(stem, name) == name
        assert (lab := ROOT / "notebooks" / f"{stem}.ipynb") not in LABS or f"chapter [{name}](" in lab.read_text()
        assert (
            f" | [{stem}]({page}.md) | [" not in README or f"| {name} | [{stem}]" in README or stem == "recorded-runs"
        )


@pytest.mark.parametrize("text", [README, SETUP, (ROOT / "Makefile").read_text()], ids=["README", "setup", "Makefile"])
def test_the_torch_that_can_be_kept_is_said(text):
    """The oldest is run by tests/pythons/test_oldest_torch.py."""
    assert "{}.{} to {}.{}".format(*torch_build.OLDEST, *torch_build.NEWEST) in text


def test_the_torch_that_the_course_was_read_in_is_said():
    assert f"`make` brings PyTorch {torch_build.VERSION}, in whose source the course was read." in SETUP


@pytest.mark.parametrize("text", [README, SETUP, RENTING], ids=["README", "setup", "renting"])
def test_the_packages_of_the_distributions_are_said(text, monkeypatch, tmp_path):
    """One line serves Debian 12 and Ubuntu 24.04; Ubuntu 22.04 wants more."""
    monkeypatch.setenv("OS_RELEASE", str(tmp_path / "os-release"))
    brings = {}
    for codename in ("bookworm", "noble", "jammy"):
        (tmp_path / "os-release").write_text(f"VERSION_CODENAME={codename}\n")
        brings[codename] = distribution.python()
    assert brings["bookworm"] == brings["noble"] == "apt-get update && apt-get install -y python3-venv"
    assert "deadsnakes" in brings["jammy"]
    assert re.search(r"apt-get install (-y )?git make python3-venv", text) and "Ubuntu 22.04" in text


def test_the_room_that_an_install_takes_is_said():
    cuda = torch_build.plan("Linux", "x86_64", "580.1", None)
    kept = torch_build.plan("Linux", "x86_64", "580.1", torch_build.VERSION, "keep")
    said = re.search(r"CUDA build takes `(\d+) GB`.*?`TORCH=keep`\) `(\d+) GB`", RENTING).groups()
    assert said == (str(cuda.room), str(kept.room))


def test_the_hours_of_the_first_sentence_are_a_weekend():
    hours = int(re.search(r"Friday .* after `(\d+)` hours", RENTING)[1])
    assert hours == 7 + 2 * 24 + 9, "from five on Friday to nine on Monday"
    assert f"rent.cloud times {8 * hours}`" in RENTING and "an hour" in RENTING


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
    """The arguments of every call of `name` that say how many ranks there are, and on what."""
    nodes = [node for cell in cells for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Call)]
    named = [node for node in nodes if ast.unparse(node.func).rpartition(".")[2] == name]
    placing = signature(world).parameters
    return [[ast.unparse(arg) for arg in (*n.args, *(k for k in n.keywords if k.arg in placing))] for n in named]


@pytest.mark.parametrize("lab", LABS, ids=lambda p: p.stem)
def test_a_lab_with_ranks_begins_with_world_as_its_ranks_are_made(lab):
    cells = code(lab)
    begins, made = calls(cells[:3], "world"), calls(cells, "Ranks")
    assert bool(begins) == bool(made or calls(cells, "world"))
    assert not made or begins[0] in made


@pytest.mark.parametrize(
    ("here", "label"),
    [
        (0, "4 ranks, gloo, CPU"),
        (1, "4 ranks, nccl, 1 x NVIDIA H100 80GB HBM3, shares a GPU: not timed"),
        (2, "2 ranks, nccl, 2 x NVIDIA H100 80GB HBM3"),
        (8, re.search(r"```text\n(8 ranks, .*)\n```", SETUP)[1]),
        (16, "8 ranks, nccl, 8 x NVIDIA H100 80GB HBM3"),
    ],
)
def test_labs_take_all_gpus_up_to_eight_or_share_one(here, label, monkeypatch):
    found = gpus.Gpus(tuple(gpus.Gpu("NVIDIA H100 80GB HBM3", f"GPU-{i}") for i in range(here)))
    monkeypatch.setattr(devices, "find_gpus", lambda: found)
    monkeypatch.delenv("NRANKS", raising=False)
    assert devices.plan().label == label
    timed = devices.plan(timed=True)
    assert timed.label == (label if here != 1 else "4 ranks, gloo, CPU") and bool(timed.note) == (here == 1)
    monkeypatch.setenv("NRANKS", "2")
    assert devices.plan().nranks == 2
    assert devices.plan(any_of=(4, 8)).note.startswith("NRANKS=2, but what runs here is made for 4 or 8 ranks"), (
        "it says so"
    )
    monkeypatch.setenv("NRANKS", "65")
    with pytest.raises(ValueError, match=r"1\.\.64"):
        devices.plan()
    assert "another number, up to `64`" in SETUP


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
