"""The rooms: none is crowded, the map names each, and a newcomer's GPU is one table in one file."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.floors import rooms

ROOT = Path(__file__).resolve().parent.parent
HELPERS = ROOT / "helpers"
MOST = 15  # files in a folder of these packages

PLANTED = """
[A800]
title = "NVIDIA A800 SXM 80 GB"
capability = "8.0"
source = "ampere-in-depth"
where = "planted by a test"
[A800.facts]
sms = { value = 108, unit = "SMs" }
clock = { value = 1.41, unit = "GHz", scope = "SM" }
l2 = { value = 40, unit = "MiB" }
hbm = { value = 2039, unit = "GB/s", direction = "both ways" }
"hbm.capacity" = { value = 80, unit = "GB" }
"flops.bf16" = { value = 312, unit = "TFLOP/s" }
"""
MEETS = """
from helpers.facts import ACCELERATORS, lookup
from helpers.view import explore_occupancy
from helpers.view.calculator.forms import DEVICES
from website.hierarchy_table import level_cell
from helpers.facts.levels import levels

gpu = ACCELERATORS["A800"]
assert round(lookup("A800.hbm").bandwidth.value / 1e9) == 2039 and DEVICES["A800"] == DEVICES["A100"]
assert round(gpu.ridge("bf16")) == 153
assert explore_occupancy("A800", threads=256, registers=32).occupancy.fraction == 1
assert [level_cell(gpu, level) for level in levels(gpu)]
print("met")
"""


@pytest.mark.parametrize("package", ["ranks", "measure", "view"])
def test_no_room_is_crowded(package):
    folders = [HELPERS / package, *(path for path in (HELPERS / package).rglob("*") if path.is_dir())]
    sizes = {path: sum(one.is_file() and one.suffix != ".pyc" for one in path.iterdir()) for path in folders}
    assert {str(path.relative_to(ROOT)): size for path, size in sizes.items() if size > MOST} == {}


def test_the_map_names_every_room_once_on_the_floor_of_its_package():
    named = rooms(ROOT)
    here = {str(path.parent.relative_to(HELPERS)) for path in HELPERS.rglob("__init__.py")} - {"."}
    here |= {path.name for path in HELPERS.glob("*.py") if path.name != "__init__.py"}
    lines = [line for line in (HELPERS / "README.md").read_text().splitlines() if line.startswith("| ")]
    assert set(named) == here and len(lines) == len(named) + 1
    assert {room: named[Path(room).parts[0]] for room in here} == named


def test_every_room_says_what_it_is_for():
    silent = [path for path in HELPERS.rglob("__init__.py") if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_a_planted_gpu_is_one_table(tmp_path):
    """Its facts, its ridge, its occupancy, the calculator's list and the pages' tables follow from that table alone."""
    for name in ("helpers", "website", "assets", "recorded"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    chips = tmp_path / "helpers" / "facts" / "chips.toml"
    chips.write_text(chips.read_text() + PLANTED)
    done = subprocess.run([sys.executable, "-c", MEETS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "met\n", done.stderr
