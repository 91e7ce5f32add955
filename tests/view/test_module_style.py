"""The modules of `view`: formatted, linted, short lines and functions, small rooms, nothing taken from another room."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.view.shared.widget import VIEW

ROOT = Path(__file__).parents[2]
MODULES = sorted(VIEW.rglob("*.mjs"))
SCRIPTS = ["**/*.mjs", "assets/*.js", "!assets/vendor/**", "!tests/vendor/**"]
LINE, LONGEST, P90, FILES = 140, 60, 25, 15
IMPORT = re.compile(r'^(?:import|\}) [^"\n]*from "(\.[^"]+)"', re.MULTILINE)
OWN = re.compile(r"^\s*from helpers\.view\.(\w+)", re.MULTILINE)
ABOVE = {"__init__.py", "widgets.py"}  # what names every room


def tool(name: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [Path(sys.executable).with_name(name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT, check=False)


def test_modules_are_formatted():
    done = tool("oxfmt", "-c", ".oxfmtrc.json", "--list-different", *SCRIPTS)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_linter_has_nothing_to_say():
    done = tool("oxlint", "-c", ".oxlintrc.json", "--format=unix", "--deny-warnings", ".")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_linter_sees_a_name_that_nobody_gave(tmp_path):
    (tmp_path / "bad.mjs").write_text("export const told = () => nobody;\n", encoding="utf-8")
    assert "'nobody' is not defined" in tool("oxlint", "-c", ".oxlintrc.json", str(tmp_path)).stdout


def lengths(node: str, paths: list[Path]) -> dict[tuple[str, str], int]:
    """Lines of every named function, by file and name."""
    script = Path(__file__).with_name("lengths.mjs")
    done = subprocess.run(
        [node, "--expose-internals", script, *paths], capture_output=True, text=True, timeout=60, check=True
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        (Path(path).relative_to(VIEW).as_posix(), f"{i} {name}"): n
        for path, all_ in rows
        for i, (name, n) in enumerate(all_)
    }


def test_functions_are_short(node):
    found = lengths(node, MODULES)
    assert len(found) > 500
    assert sorted(found.values())[int(0.9 * len(found))] <= P90
    assert {where: n for where, n in found.items() if n > LONGEST} == {}


def test_lines_are_short():
    wide = [
        f"{path.relative_to(VIEW)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > LINE
    ]
    assert wide == []


def room(path: Path) -> str:
    return path.relative_to(VIEW).parts[0]


@pytest.mark.parametrize(
    "name", sorted({room(path) for path in VIEW.rglob("*.*") if "__pycache__" not in path.parts} - ABOVE)
)
def test_a_room_takes_from_itself_and_from_shared(name):
    taken = set()
    for path in (VIEW / name).rglob("*.mjs"):
        taken |= {room((path.parent / target).resolve()) for target in IMPORT.findall(path.read_text(encoding="utf-8"))}
    for path in (VIEW / name).rglob("*.py"):
        taken |= set(OWN.findall(path.read_text(encoding="utf-8")))
    assert taken - {name, "shared", "widgets"} == set()


def test_rooms_are_small():
    folders = {VIEW, *(path for path in VIEW.rglob("*") if path.is_dir() and path.name != "__pycache__")}
    counts = {f.relative_to(VIEW).as_posix(): sum(path.is_file() for path in f.iterdir()) for f in folders}
    assert {name: n for name, n in counts.items() if n > FILES} == {}
