"""Labs without Jupyter: each in a fresh process, its record when it has come to its end, one line about what fails."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import nbformat
import pytest
from fake_cuda import environment

from helpers.ranks import recorded
from helpers.ranks.machine import gpus
from helpers.records import lab_runs, lab_seconds, packed
from tools import labs

ASKS = """\
from helpers.ranks import Ranks
from helpers.view import keep
import torch.distributed as dist

def mine(n):
    return dist.get_rank() * n"""
RUNS = "with Ranks() as ranks:\n    found = ranks.run(mine, 10)\nkeep(found=str(found))\nfound"
NAMES = """\
from helpers.ranks import measured_or_recorded
with Ranks() as ranks:
    measured_or_recorded("planted-cpu", lambda: ranks.run(mine, 1), "4 ranks, gloo, CPU")"""
PLANTED = {
    "good": [ASKS, RUNS],
    "names": [ASKS, NAMES],
    "raises": ["print('as far as here')", "1 / 0"],
    "dies": ["import os", "os._exit(7)"],
}


@pytest.fixture
def planted(monkeypatch, tmp_path):
    """The labs are these four; their folder."""
    monkeypatch.setattr(labs, "NOTEBOOKS", tmp_path)
    for name, sources in PLANTED.items():
        cells = [nbformat.v4.new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(sources)]
        (tmp_path / f"{name}.ipynb").write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells)))
    return tmp_path


def test_it_records_what_came_to_its_end_on_two_gpus(planted, monkeypatch, capfd):
    for name, value in environment(2, planted).items():
        monkeypatch.setenv(name, value)
    before = {path: path.read_bytes() for path in planted.glob("*.ipynb")}
    assert labs.main(["all", "--out", str(planted / "labs")]) == 1
    said = capfd.readouterr().out.splitlines()
    assert said[-1] == "1 of 4 ran to their end, not: dies, names, raises", said
    assert {"dies: its process ended (7)", "as far as here", "raises: cell 2 failed"} <= set(said)
    assert any("says '4 ranks, gloo, CPU', but here ran: 2 ranks, nccl, 2 x NVIDIA Fake" in line for line in said)
    assert any("ZeroDivisionError" in line for line in said)
    ((key, run),) = lab_runs(planted).items()
    assert key == ("good", 2) and run.what == "2 ranks, nccl, 2 x NVIDIA Fake" and not run.on_cpu
    assert run.command == "python -m tools.labs good" and "nccl 2.28.9" in run.versions
    assert json.loads((planted / "labs" / "good-2.json").read_text())["data"]["cells"] == 2
    assert {path: path.read_bytes() for path in planted.glob("*.ipynb")} == before
    joins_the_packed_run(planted, monkeypatch)


def joins_the_packed_run(folder, monkeypatch):
    """What gpu-check has packed beside them then has the record, too, and unpacks with it."""
    both = gpus.Gpus(usable=(gpus.Gpu("NVIDIA Fake"),) * 2)
    monkeypatch.setattr(gpus, "find_gpus", lambda: both)
    recorded.record("gpu-check", {"ladder": {"outcome": "passed"}}, "x", "2 ranks, nccl", folder)
    run, labs_there = packed.pack([folder / "gpu-check.json"], folder, "2xfake"), [folder / "good.ipynb"]
    labs._join(labs_there, folder / "labs", time.time() + 60)
    before = run.read_bytes()
    labs._join(labs_there, folder / "labs", 0.0)
    assert run.read_bytes() != before, "of the records since then"
    there = packed.unpack(run, folder=folder)
    assert (there / "labs" / "good-2.json").read_bytes() == (folder / "labs" / "good-2.json").read_bytes()


@pytest.mark.matrix("labs on played GPUs")
def test_labs_that_the_played_machine_carries_come_to_their_end(monkeypatch, tmp_path, capfd):
    """DTensor under eight layouts, whose calls are counted where they are asked for; and a lab that stays on Gloo beside the GPUs."""
    for name, value in environment(8, tmp_path, BYTES_IN_MOTION="recorded").items():
        monkeypatch.setenv(name, value)
    assert labs.main(["annotations", "overlap", "--out", str(tmp_path / "labs")]) == 0, capfd.readouterr()
    ran = {lab: run.what for (lab, _), run in lab_runs(tmp_path).items()}
    assert ran["annotations"] == "8 ranks, nccl, 8 x NVIDIA Fake" and ", gloo, CPU" in ran["overlap"]


def test_by_ranks_it_records_how_long_a_lab_takes(planted, monkeypatch, capfd):
    monkeypatch.setenv("NRANKS", "2")
    monkeypatch.delenv("BYTES_IN_MOTION", raising=False)
    monkeypatch.setattr(labs, "CHILD", "from helpers.ranks import labs; labs.others = lambda: 0.1; " + labs.CHILD)
    assert labs.main(["good", "--out", str(planted / "labs")]) == 0
    assert "s, recorded as good-2ranks: 2 ranks, gloo, CPU" in capfd.readouterr().out
    ((lab, runs),) = lab_seconds(planted).items()
    assert (lab, list(runs)) == ("good", [2]) and runs[2]["data"]["seconds"] > 0 and lab_runs(planted) == {}
    assert runs[2]["command"] == "NRANKS=2 python -m tools.labs good"


def test_no_record_of_what_no_card_and_no_column_tells(monkeypatch, tmp_path):
    from helpers.ranks import labs as recording

    def said(label: str = "4 ranks, gloo, CPU", busy: float | None = 0.1) -> str:
        told = recording.record_lab("good", label, {"cells": 1, "seconds": 1.0}, "x", tmp_path, busy)
        return told.removeprefix("no record: ")

    monkeypatch.delenv("BYTES_IN_MOTION", raising=False)
    monkeypatch.setenv("NRANKS", "8")
    assert said(busy=0.431) == "other programs took 43% of the processors"
    assert said(busy=None) == "what this lab measures was cut short (python -m tools.labs measures all)"
    assert said("1 process, CPU") == "this lab starts no ranks, so its minutes are taken with NRANKS=4 alone"
    monkeypatch.setenv("NRANKS", "3")
    assert said() == "NRANKS is 3, and cards tell the minutes of 2, 4, 8 ranks"
    two = recording.find_gpus().__class__(usable=("a GPU",) * 2)
    monkeypatch.setattr(recording, "find_gpus", lambda: two)
    assert said() == "NRANKS is 3, and with GPUs a record is of what the machine has"
    monkeypatch.delenv("NRANKS")
    three = recording.find_gpus().__class__(usable=("a GPU",) * 3)
    monkeypatch.setattr(recording, "find_gpus", lambda: three)
    assert said() == "3 GPUs have no column (only 0, 1, 2, 4, 8; see CUDA_VISIBLE_DEVICES)"
    assert not list(tmp_path.iterdir())


def test_an_unknown_lab_and_missing_packages_are_one_line(root, planted, capsys):
    assert labs.main(["rings"]) == 2
    assert capsys.readouterr().err == "labs: no lab 'rings': expected all, or some of dies, good, names, raises\n"
    done = subprocess.run([sys.executable, "-S", "-m", "tools.labs", "ring"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith(
        "labs needs torch, numpy, cloudpickle, psutil, nvidia-ml-py, "
    )
    listed = (root / "Makefile").read_text()
    assert all(package in listed for package in labs.NEEDED.values())
