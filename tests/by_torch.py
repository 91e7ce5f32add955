"""Labs under another torch than the pin: a cell that helpers/torch_versions.toml names is compared with what that torch gave, and counted.

What it gave stands in recorded/torches. `--cells-of-torch FILE` writes it anew, of the named cells alone: any other that differs, and any
that raises, fails all the same.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from helpers import torch_versions

FOLDER = Path(__file__).resolve().parent.parent / "recorded" / "torches"
DIFFERS = "Cell outputs differ"
# What a line of torch says of this machine, not of its version: where it is installed, and when.
PLACES = re.compile(r"(?<![\w.])/\S*?(?=site-packages/)")
NO_GPU = re.compile(r"^W\d{4} .*No CUDA runtime is found.*\n?", re.M)  # of a CUDA build


def pytest_addoption(parser):
    parser.getgroup("suite").addoption(
        "--cells-of-torch", metavar="FILE", help="write what cells give here that torch's version changes"
    )


def file_of(installed: str, folder: Path = FOLDER) -> Path:
    """What is recorded of that release, or of another with the same first two numbers."""
    return folder / "torch-{}-{}.json".format(*torch_versions.numbers(installed))


def pytest_collection_modifyitems(config, items):
    labs = [item for item in items if item.path.suffix == ".ipynb"]
    if not labs or torch_versions.numbers(installed := version("torch")) == torch_versions.PIN:
        return
    named, path = torch_versions.cells(installed), file_of(installed)
    told = json.loads(path.read_text())["data"]["cells"] if path.exists() else {}
    for item in labs:
        item.of_torch = item.cell.id in named and config.getoption("--cells-of-torch") is not None
        item.compare_outputs = _plainly(item)
        if item.cell.id in told and not item.of_torch:
            from nbformat import from_dict

            item.cell.outputs = from_dict(told[item.cell.id])
            config.tally["by torch"] += 1


def _plainly(item):
    """nbval's comparison, of what says nothing of the machine."""
    compare = item.compare_outputs
    return lambda test, ref, skip_compare=None: compare(plain(test), plain(ref), skip_compare)


def plain(outputs: list) -> list:
    """Without paths of this machine, and without torch's word that a CUDA build has no GPU."""
    found = []
    for one in outputs:
        if "text" in one:
            one = type(one)(one, text=NO_GPU.sub("", PLACES.sub("", one["text"])))
        if one.get("text") != "":
            found.append(one)
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if getattr(item, "of_torch", False) and report.failed and DIFFERS in str(call.excinfo and call.excinfo.value):
        report.outcome = "passed"
        report.user_properties = [*report.user_properties, (item.cell.id, json.dumps(kept(item)))]
    return report


def kept(item) -> list[dict]:
    """A cell's outputs, as far as nbval compares them."""
    skipped = item.parent.skip_compare
    found = []
    for one in plain(item.test_outputs):
        one = {key: value for key, value in one.items() if key not in ("metadata", "execution_count")}
        if "data" in one:
            one["data"] = {key: value for key, value in one["data"].items() if key not in skipped}
        found.append(one | {"metadata": {}} if "data" in one else one)
    return found


def pytest_terminal_summary(terminalreporter, config):
    if count := config.tally["by torch"]:
        terminalreporter.write_line(f"cells of labs as torch {version('torch')} has them: {count}")
    if path := config.getoption("--cells-of-torch"):
        passed = terminalreporter.stats.get("passed", [])
        told = dict(
            one
            for report in passed
            for one in report.user_properties
            if report.nodeid.split("::")[0].endswith(".ipynb")
        )
        Path(path).write_text(json.dumps({name: json.loads(text) for name, text in sorted(told.items())}, indent=1))
