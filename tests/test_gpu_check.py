"""make gpu-check: run for real over Gloo, so that its lines have run; and what it does with checks that fail, hang or end."""

from __future__ import annotations

import json
import subprocess
import sys

import planted_checks
import psutil
import pytest

from helpers.collectives import CATALOGUE
from helpers.memory import unpack
from helpers.ranks.machine.gpus import Gpus
from tools import gpu_check
from tools.gpu.checks import CHECKS
from tools.gpu.place import Place


@pytest.fixture(scope="module")
def checked(root, tmp_path_factory):
    """(the finished process, its records by name)."""
    out = tmp_path_factory.mktemp("recorded")
    command = [sys.executable, "-m", "tools.gpu_check", "--backend", "gloo", "--ranks", "2", "--out", str(out)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=500)
    return done, {path.stem: json.loads(path.read_text()) for path in out.rglob("*.json")}


def test_every_check_passes_on_the_cpu_or_says_what_it_needs(checked):
    done, records = checked
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = {name: answer["outcome"] for name, answer in records["gpu-check"]["data"].items()}
    assert list(outcomes) == [check.name for check in CHECKS]
    assert {name for name, outcome in outcomes.items() if outcome == "skipped"} == {
        c.name for c in CHECKS if c.nccl or c.cuda
    }
    assert set(outcomes.values()) == {"passed", "skipped"}


def test_it_prints_a_row_for_every_check_and_the_counts(checked):
    rows = checked[0].stdout.splitlines()
    assert rows[0] == "2 ranks, gloo, CPU" and len(rows) == len(CHECKS) + 2
    for check, row in zip(CHECKS, rows[1:], strict=False):
        assert row.startswith(check.name)
    skipped = sum(check.nccl or check.cuda for check in CHECKS)
    assert rows[-1] == f"{len(CHECKS) - skipped} passed, 0 failed, {skipped} skipped"


def test_it_records_figures_with_machine_versions_and_command(checked):
    records = checked[1]
    runs = {"gpu-check", "gpu-bandwidth", "gpu-trace-ring", "gpu-trace-binomial", "gpu-ladder", "gpu-roofline"}
    assert set(records) == {*runs, "gpu-memory-stages", "gpu-memory-optimizers", "gpu-article"}
    assert unpack(records.pop("gpu-article")["data"]["ranks"][0]).source == "tracked (CPU tensors)"
    for record in records.values():
        assert record["label"] == "2 ranks, gloo, CPU" and record["machine"]["cores"] and record["versions"]["torch"]
        assert record["command"] == "python -m tools.gpu_check --backend gloo --ranks 2"
    for lines in records["gpu-bandwidth"]["data"].values():
        assert [line["nbytes"] for line in lines] == sorted({line["nbytes"] for line in lines}) and len(lines) > 3
        assert all(0 < line["min"] <= line["median"] and line["busbw"] > 0 for line in lines)
    assert len(records["gpu-trace-ring"]["data"]["messages"]) == 4 and records["gpu-trace-ring"]["data"]["seconds"] > 0
    figures = records["gpu-check"]["data"]
    assert figures["every schedule equals torch"]["figures"]["schedules"] > len(CATALOGUE)
    assert figures["ten primitives"]["figures"]["runs"] == 40
    assert figures["memory, the article's stages"]["figures"]["share"] == 0
    assert figures["optimizers' peaks"]["figures"]["peaks"]["adamw-foreach"]["tracked"] == pytest.approx(5, abs=0.01)
    assert figures["a rank is killed"]["figures"]["seconds"] < 5


def test_a_check_that_fails_hangs_or_ends_stops_no_other(monkeypatch, root, capsys):
    monkeypatch.setenv("PYTHONPATH", str(root / "tests"))
    place = Place("gloo", 2, 0)
    answers = gpu_check.run(place, planted_checks.CHECKS, "planted_checks")
    said = {name: (answer["outcome"], answer.get("why")) for name, answer in answers.items()}
    assert said == {
        "first": ("passed", None),
        "raises": ("failed", "AssertionError: planted <b>"),
        "hangs": ("failed", "hung: stopped after 6 s"),
        "after it": ("passed", None),
        "ends": ("failed", "its process ended (code 3)"),
        "needs GPUs": ("passed", None),
        "needs NCCL": ("skipped", "needs NCCL"),
        "last": ("passed", None),
    }
    assert len({answers[name]["figures"]["pid"] for name in ("first", "after it", "last")}) == 3, (
        "a new process each time"
    )
    assert not any(psutil.pid_exists(answers[name]["figures"]["pid"]) for name in ("first", "after it", "last"))
    assert len(capsys.readouterr().out.splitlines()) == len(planted_checks.CHECKS)


def test_a_failure_is_the_exit_code(monkeypatch, root, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(root / "tests"))
    monkeypatch.setattr(gpu_check, "CHECKS", planted_checks.CHECKS[:2])
    real = gpu_check.run
    monkeypatch.setattr(gpu_check, "run", lambda place, checks: real(place, checks, "planted_checks"))
    monkeypatch.setattr(gpu_check.recorded, "FOLDER", tmp_path)
    assert gpu_check.main(["--backend", "gloo", "--ranks", "2", "--out", str(tmp_path)]) == 1
    record = json.loads((tmp_path / "gpu-check.json").read_text())
    assert record["data"]["raises"]["outcome"] == "failed"
    assert gpu_check.main(["--backend", "gloo", "--ranks", "2", "--out", str(tmp_path), "--only", "first"]) == 0


def test_on_one_gpu_what_needs_two_is_skipped_by_name():
    place = Place("nccl", 2, 1)
    assert {c.name for c in CHECKS if c.skipped(place)} == {
        *("what a note costs", "bandwidth", "traces of real runs", "GPU to GPU")
    }
    assert {c.skipped(place) for c in CHECKS} == {"", "needs 2 GPUs"}
    assert not any(check.skipped(Place("nccl", 8, 8)) for check in CHECKS)


def test_when_time_is_over_the_rest_is_reported_as_not_run(monkeypatch, root):
    monkeypatch.setenv("PYTHONPATH", str(root / "tests"))
    monkeypatch.setattr(gpu_check, "BUDGET", 0.0)
    answers = gpu_check.run(
        Place("gloo", 2, 0), [planted_checks.CHECKS[0], planted_checks.CHECKS[-1]], "planted_checks"
    )
    assert [a["outcome"] for a in answers.values()] == ["passed", "failed"]
    assert answers["last"]["why"] == "not run: no time was left"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--backend", "gloo", "--ranks", "1"], "the checks need 2 ranks or more, got 1"),
        (["--backend", "gloo", "--ranks", "65"], "the number of ranks lies in 1..64, got 65"),
    ],
)
def test_bad_options_are_refused_before_anything_starts(arguments, said, capsys):
    assert gpu_check.main(arguments) == 2
    assert said in capsys.readouterr().err


def test_without_a_gpu_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(gpu_check, "find_gpus", Gpus)
    assert gpu_check.main([]) == 2
    assert "no usable GPU here. (--backend gloo runs the checks on the CPU)" in capsys.readouterr().err
