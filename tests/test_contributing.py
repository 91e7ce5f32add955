"""CONTRIBUTING.md: its words, commands, files and numbers are what is there."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import yaml
from test_commands import commands

from benchmarks.launchers import PEERS
from helpers.nccl.corrected import SHARED
from tools.suite import BREAKING

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
IN_WORDS = {3: "three", 4: "four", 5: "five", 6: "six"}
MADE = {
    "recorded/from/8xh200",
    "recorded/run-8xh200.json.gz",
    "_build/bytes-in-motion.pdf",
    "helpers/view/NAME/",
}  # on somebody's machine


def test_its_words_are_those_of_make():
    listed = subprocess.run(
        ["make", "-C", ROOT, "--no-print-directory"], capture_output=True, text=True, check=True
    ).stdout
    words = set(re.findall(r"^  (\S+) +\w", listed, re.M)) - {"help"}
    assert set(re.findall(r"^\| `make (\S+)` \|", TEXT, re.M)) == words


def test_its_benchmarks_are_those_that_run():
    named = set(re.findall(r"^\| `(benchmarks\.\w+)", TEXT, re.M))
    assert named == {name for name in commands() if name.startswith("benchmarks.")}


def test_its_files_are_there():
    named = {
        word
        for word in re.findall(r"`([\w./-]+/[\w./-]*)`", TEXT)
        if word.split("/")[0] in {path.name for path in ROOT.iterdir()}
    }
    assert len(named) > 30
    assert {name for name in named - MADE if not list(ROOT.glob(f"{name.rstrip('/')}*"))} == set()
    assert re.findall(r"-m (helpers[\w.]*)", TEXT) and set(re.findall(r"-m (helpers[\w.]*)", TEXT)) <= set(commands())


def test_ci_runs_what_it_says():
    flows = {
        name: yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())
        for name in ("test", "pages", "weekly")
    }
    on = {name: flow[True] for name, flow in flows.items()}  # yaml reads the key `on` so
    runs = {name: re.findall(r"make [\w-]+", json.dumps(flow["jobs"])) for name, flow in flows.items()}
    assert (
        "CI runs it on every change, `make book` for the site on every push to `main`, and `make test-all` once a week."
        in TEXT
    )
    assert set(on["test"]) == {"push", "pull_request"} and "make test" in runs["test"]
    assert on["pages"]["push"]["branches"] == ["main"] and "make book" in runs["pages"]
    assert len(on["weekly"]["schedule"][0]["cron"].split()) == 5 and on["weekly"]["schedule"][0]["cron"][-1] == "1"
    assert "make test-all" in runs["weekly"]


def test_its_numbers_are_those_of_the_code():
    guards = dict(re.findall(r"^([A-Z_]+) = (\d+)", (ROOT / "tests/notebooks/guards.py").read_text(), re.M))
    for said in (
        f"imports (at most {IN_WORDS[int(guards['IMPORT_LINES'])]} lines)",
        f"A cell has at most {guards['CELL_LINES']} lines",
        f"none longer than {guards['WIDTH']} characters",
        f"then {IN_WORDS[BREAKING]} at a time those that break things",
        f"against {IN_WORDS[len(PEERS)]} other launchers",
        f"the {IN_WORDS[len(SHARED)]} shared numbers of",
    ):
        assert said in " ".join(TEXT.split()), said
