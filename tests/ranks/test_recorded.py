"""Recorded runs: what is written, what is read back, and when which is shown."""

from __future__ import annotations

import getpass
import json
import platform
from pathlib import Path

import pytest

from helpers.ranks import Timing, load, measured_or_recorded, record, recorded


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    monkeypatch.delenv(recorded.SWITCH, raising=False)
    return tmp_path


def test_a_run_is_read_back_as_it_was_written(folder):
    made = record(
        "ring-all-reduce", {"rows": [Timing(1.0, 2.0, 3)], "p": (1, 2)}, "make lab", label="4 ranks, gloo, CPU"
    )
    read = load("ring-all-reduce")
    assert read.data == made.data == {"rows": [{"min": 1.0, "median": 2.0, "reps": 3}], "p": [1, 2]}
    assert (read.machine, read.versions, read.date, read.command) == (
        made.machine,
        made.versions,
        made.date,
        "make lab",
    )
    assert (made.source, read.source) == ("live", "replay")
    assert str(read).startswith("4 ranks, gloo, CPU; ") and str(read).endswith(f"recorded {read.date}")


def test_it_says_what_it_ran_on_and_not_where_or_who():
    text = Path(recorded.FOLDER / "x.json")
    record("x", [1], "make lab", "L")
    held = json.loads(text.read_text())
    assert set(held) == {"name", "data", "label", "machine", "versions", "date", "command"}
    assert held["machine"]["cores"] >= 1 and held["versions"]["python"] == platform.python_version()
    for secret in (platform.node(), str(Path.home()), getpass.getuser(), str(Path.cwd())):
        assert secret not in json.dumps(held["machine"]) + json.dumps(held["versions"])


@pytest.mark.parametrize("name", ["../x", "A", "", "a b", 3])
def test_names_that_are_refused(name):
    with pytest.raises(ValueError, match="is named like"):
        record(name, [], "", "L")


def test_what_json_cannot_hold_is_refused(folder):
    for data, error in (({1, 2}, TypeError), (float("nan"), ValueError)):
        with pytest.raises(error):
            record("x", data, "", "L")
    assert list(folder.iterdir()) == []


def test_a_missing_run_names_those_that_exist():
    record("ring", [], "", "L")
    with pytest.raises(FileNotFoundError, match=r"no recorded run 'rings' \(there are: ring\)"):
        load("rings")


def test_a_live_reader_sees_their_own_run_and_a_rebuild_the_recorded_one(monkeypatch):
    runs = iter([10, 20, 30])
    live = measured_or_recorded("x", lambda: {"t": next(runs)}, "M")
    assert (live.data, live.fresh, live.source) == ({"t": 10}, {"t": 10}, "live")
    monkeypatch.setenv(recorded.SWITCH, "record")
    assert measured_or_recorded("x", lambda: {"t": next(runs)}, label="L", command="C").data == {"t": 20}
    monkeypatch.setenv(recorded.SWITCH, "recorded")
    shown = measured_or_recorded("x", lambda: {"t": next(runs)}, "M")
    assert (shown.data, shown.fresh, shown.source) == ({"t": 20}, {"t": 30}, "replay")
    assert (live.label, live.kind, shown.label, shown.kind, shown.command) == ("M", "measurement", "L", "recorded", "C")


def test_a_run_tells_on_how_many_ranks_it_was():
    labels = {"1 rank, gloo, CPU": 1, "4 ranks on 2 cores, gloo, CPU": 4, "8 ranks, nccl, 8 x NVIDIA H100": 8}
    assert {label: record("x", [], "", label).nranks for label in labels} == labels
    with pytest.raises(ValueError, match=r"begins like .* x has 'one core, fp32'"):
        _ = record("x", [], "", "one core, fp32").nranks


def test_a_run_is_not_written_over_with_one_of_other_ranks(monkeypatch):
    monkeypatch.setenv(recorded.SWITCH, "record")
    record("x", [1], "", "4 ranks, gloo, CPU")
    for label in ("8 ranks, gloo, CPU", "4 ranks, nccl, 4 x NVIDIA H100", "one core, fp32"):
        with pytest.raises(ValueError, match=f"x.json is a run of 4 ranks, gloo, CPU, these are {label}"):
            measured_or_recorded("x", lambda: pytest.fail("measured in vain"), label)
    monkeypatch.setitem(recorded.STARTED, "4 ranks, gloo, CPU", None)
    assert measured_or_recorded("x", lambda: [2], "4 ranks, gloo, CPU, emulated link").data == [2]


def test_a_run_that_names_a_backend_that_did_not_run_is_refused(monkeypatch):
    monkeypatch.setattr(recorded, "STARTED", {"4 ranks, gloo, CPU": None})
    assert measured_or_recorded("x", lambda: [1], "4 ranks, gloo, CPU, emulated link").label.endswith("link")
    for label in ("4 ranks, nccl, 4 x NVIDIA H100", "2 ranks, gloo, CPU"):
        with pytest.raises(
            ValueError, match=f"'x' says '{label}', but here ran: 4 ranks, gloo, CPU. Give it the `label`"
        ):
            measured_or_recorded("x", lambda: [1], label)


def test_an_unknown_mode_is_refused_and_a_missing_run_is_noticed_before_measuring(monkeypatch):
    monkeypatch.setenv(recorded.SWITCH, "recorded")
    with pytest.raises(FileNotFoundError, match="make it with BYTES_IN_MOTION=record"):
        measured_or_recorded("x", lambda: pytest.fail("measured in vain"), "L")
    monkeypatch.setenv(recorded.SWITCH, "yes")
    with pytest.raises(ValueError, match="BYTES_IN_MOTION is unset"):
        measured_or_recorded("x", dict, "L")
