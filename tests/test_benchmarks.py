"""The benchmarks run, with the smallest settings; they refuse bad ones, name what failed, and leave no process behind."""

from __future__ import annotations

import os
import sys

import leftovers
import pytest
from lanes import some, some_rows

from benchmarks import (
    algorithms,
    emulator,
    faults,
    live_memory,
    matrix,
    notes,
    overlap,
    peers,
    pipelines,
    ranks,
    samples,
    schedules,
    sessions,
)
from benchmarks.launchers import CELLS, OURS, PEERS, SPAWN, Launcher
from benchmarks.notebook import MARK, CellFailed
from helpers.collectives import CATALOGUE
from helpers.ranks import Timing

HANGING = Launcher("hangs", "", "", "import time; time.sleep(600)", "", "pass", "pass")
RAISING = Launcher("raises", "", "", "1 / 0", "", "pass", "pass")
ADMITTING = Launcher("admits", "", "", "print('❌ Error on Rank 3')", "", "pass", "pass")


def test_a_median_stands_between_the_bounds_that_hold_it_in_95_cases_of_100():
    found = samples.median_of(range(101))
    assert found == (40, 50, 61)
    assert f"{found:.0f}" == "50 (40 to 61)"
    assert samples.median_of([7]) == (7, 7, 7)
    with pytest.raises(ValueError, match="at least one value"):
        samples.median_of([])


@pytest.mark.parametrize(
    ("main", "given", "says"),
    [
        (ranks.main, {"nranks": 1}, "nranks must be at least 2, got 1"),
        (ranks.main, {"rounds": 0}, "rounds must be at least 1, got 0"),
        (overlap.main, {"alpha": 0}, "alpha must be more than 0, got 0"),
        (notes.main, {"npairs": 0}, "pairs must be at least 1, got 0"),
        (notes.main, {"calls": -1}, "calls must be at least 1, got -1"),
        (faults.main, {"rounds": 0}, "rounds must be at least 1, got 0"),
        (algorithms.main, {"collective": "all"}, "collective is one of all_reduce, .*, got 'all'"),
        (algorithms.main, {"reps": 0}, "reps must be at least 1, got 0"),
        (live_memory.main, {"rate": 0}, "rate must be at least 1, got 0"),
        (live_memory.main, {"rounds": 0}, "rounds must be at least 1, got 0"),
        (faults.main, {"only": "deaths,births"}, "--only takes deaths, .*leaks, got 'births'"),
    ],
)
def test_bad_settings_are_refused_before_anything_starts(main, given, says, capsys):
    with pytest.raises(ValueError, match=says):
        main(**given)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("benchmark", [ranks, notes, faults])
def test_settings_are_those_of_main_and_words_are_refused(benchmark, capsys):
    given = vars(benchmark.arguments(["--rounds", "7"]))
    assert given["rounds"] == 7 and set(given) <= set(benchmark.main.__annotations__)
    with pytest.raises(SystemExit):
        benchmark.arguments(["--rounds", "many"])
    assert "invalid int value: 'many'" in capsys.readouterr().err


def test_notes_are_measured_in_turns(capsys):
    notes.main(rounds=2, npairs=3, calls=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("round 1 of 2: notes ") and lines[2].startswith("round 2 of 2: notes ")
    assert "median of 6 pairs of blocks of 1" in lines[6] and "of CPU an all_reduce" in lines[7]
    assert "% of a SUM" in lines[8] and "% of a MAX" in lines[9]
    assert lines[10].startswith("DETAIL costs ") and lines[10].endswith("median of 2 rounds")


def test_a_block_lasts_as_long_as_on_its_slowest_rank():
    fast, slow = notes.Block(1.0, 0.5), notes.Block(2.0, 0.1)
    assert notes.slowest([[(fast, slow)], [(slow, fast)]]) == [(slow, slow)]
    assert notes.Found([(slow, fast)] * 3, [], [], {}).cost == (100, 100, 100)


@pytest.mark.matrix("benchmarks, run for real")
def test_no_event_is_lost_in_jupyterlab_however_late_its_kernel(monkeypatch):
    def late(page, address, opened=live_memory.opened):
        page.route("**/api/sessions*", lambda route: (page.wait_for_timeout(8000), route.continue_()))
        opened(page, address)

    monkeypatch.setattr(live_memory, "opened", late)
    seen = live_memory.measure(rate=400, total=400)
    assert (seen.fed, seen.received) == (400, 400)


@pytest.fixture
def few(monkeypatch):
    """Every part of the faults, but little of each."""
    monkeypatch.setattr(faults, "FIFTY", matrix.FIFTY.replace("range(50)", "range(5)"))
    monkeypatch.setattr(faults, "LATE", ("another size", "another root"))
    monkeypatch.setattr(faults, "BY_DEFAULT", faults.BY_DEFAULT.replace("'gloo')", "'gloo', timeout=0.5)"))
    monkeypatch.setattr(faults, "STOPPED", ("in C++",))
    monkeypatch.setattr(faults, "SHOT", ("in C++",))
    monkeypatch.setattr(faults, "MATRIX", [s for s in matrix.MATRIX if s.name in ("SIGKILL", "all ranks raise")])
    monkeypatch.setattr(faults, "LAUNCHES_IN_ALL", 6)


@pytest.mark.matrix("benchmarks, run for real")
def test_every_promise_is_a_row_and_a_broken_one_says_so(few):
    found = list(faults.measured([*faults.PARTS], rounds=1))
    rows = [str(row) for row in found]
    wrong = [row for row in found if not row.right]
    assert [row.what for row in wrong] == [
        "death of a rank to the cell's error",
        "of these, exit code 0 before the work is done",
    ], "five deaths are not fifty"
    assert "5 of 50 named" in wrong[0].found and "1 of 10 named" in wrong[1].found
    assert all(str(row).endswith("   MISSED") for row in wrong)
    # A machine with others on it is slow, not wrong
    assert [row.what for row in found if row.took > 5 * row.limit] == []
    assert sum("1 of 1 word for word" in row for row in rows) == 2
    assert any("2 of 2" in row and "word for word" in row for row in rows)
    assert [row.split()[-1] for row in rows if row.startswith("  more") and "memory resident" not in row] == ["0"] * 6


def test_a_row_says_whether_its_promise_is_kept(few, capsys):
    assert faults.Row("a stop", "<= 2 s", "1.9 s", True, 1.9, 2).kept
    assert not faults.Row("a stop", "<= 2 s", "2.1 s", True, 2.1, 2).kept
    assert not faults.Row("a stop", "<= 2 s", "1.9 s", False, 1.9, 2).kept
    faults.main(rounds=1, only="deaths")
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("4 ranks, gloo, CPU, in a Jupyter kernel") and len(rows) == 2
    assert all(row.endswith("   MISSED") for row in rows)


def test_a_scenario_that_is_told_otherwise_is_named():
    cell = matrix.Cell(None, "")
    cell.error = "RankError: rank 3 died: SIGKILL"
    scenario = matrix.Scenario("SIGTERM", "", "RankError: rank 3 died: SIGTERM")
    assert not faults.told(cell, scenario)
    assert faults.told(cell, scenario._replace(says=cell.error))
    assert not faults.told(cell, scenario._replace(says=cell.error, prints="more"))


def marked() -> list[int]:
    """Processes below a kernel that a benchmark of this test session has started."""
    ours = leftovers.started_in(os.environ[leftovers.SESSION])
    return [process.pid for process in ours if MARK in (leftovers.environment(process) or {})]


def test_launchers_take_turns_and_a_row_that_failed_is_not_tried_again(monkeypatch, capsys):
    """Sessions that only say what they were told."""

    class Told:
        def __init__(self, python, launcher, nranks, known):
            self.what = launcher.name, nranks, dict(known)

        def times(self):
            told.append(self.what)
            return dict.fromkeys(sessions.ROWS, 1.0) | ({"used": "no answer"} if self.what[0] == "hangs" else {})

    told = []
    monkeypatch.setattr(ranks, "Session", Told)
    found = ranks.measure("", [OURS, HANGING], 3, 2)
    assert told == [("Ranks", 3, {}), ("hangs", 3, {}), ("Ranks", 3, {}), ("hangs", 3, {"used": "no answer"})]
    lines = capsys.readouterr().out.splitlines() + ranks.table(found).splitlines()
    assert lines[:2] == ["round 1 of 2: Ranks ...", "round 1 of 2: hangs ..."]
    assert lines[-2].split() == ["hangs", *["1", "s", "(1.0x)"] * 3, "-", *["1", "s", "(1.0x)"] * 3]
    assert lines[-1] == "hangs, used: no answer"


@pytest.mark.matrix("benchmarks, run for real")
def test_everybody_is_timed_in_real_kernels_and_who_fails_is_named_with_the_reason(monkeypatch, capsys):
    monkeypatch.setattr(sessions, "PREPARED", 0.0)
    monkeypatch.setattr(sessions, "RELAUNCHES", 1)
    monkeypatch.setattr(peers, "importable", lambda: ([SPAWN, RAISING], {"absent": "not installed"}))
    ranks.main(nranks=2, rounds=1)
    lines = capsys.readouterr().out.splitlines()
    ours, spawned = (next(line for line in lines if line.startswith(f"{name}  ")) for name in ("Ranks", "mp.spawn"))
    assert "-" not in ours.split() and "(" not in ours
    assert spawned.count("x)") == len(sessions.ROWS)
    assert float(spawned.rpartition("(")[2].removesuffix("x)").replace(",", "")) > 10, "a launch against a call"
    assert f"raises, {', '.join(sessions.ROWS)}: ZeroDivisionError: division by zero" in lines
    assert "absent: not installed" in lines and any(line.startswith("mp.spawn keeps no ranks") for line in lines)
    assert marked() == []


@pytest.mark.parametrize(
    ("launcher", "says"),
    some_rows(
        [
            (RAISING, "ZeroDivisionError: division by zero"),
            (ADMITTING, "❌ Error on Rank 3"),
            (HANGING, "no answer within 2 s"),
        ],
        [(RAISING, "ZeroDivisionError: division by zero")],
        "launchers that fail in other ways",
    ),
)
def test_a_start_that_fails_in_any_way_is_told(monkeypatch, launcher, says):
    monkeypatch.setattr(sessions, "LIMIT", 2.0)
    session = sessions.Session(sys.executable, launcher, 2, {})
    assert session._or_why(("used",), lambda: session._started("", launcher.start)) == {"used": says}
    again = sessions.Session(sys.executable, launcher, 2, {"used": says})
    assert again._or_why(("used",), lambda: pytest.fail("it is not waited for again")) == {"used": says}
    assert marked() == []


def test_a_kernel_takes_with_it_what_has_left_its_process_group():
    with sessions.kernel(sys.executable) as notebook:
        notebook.run("import subprocess, sys")
        notebook.run(
            "left = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)"
        )
        assert len(marked()) == 2
    assert marked() == []


def test_no_time_in_one_round_is_no_time(monkeypatch):
    rounds = [{"cold": 2.0}, {"cold": 4.0}, {"cold": 9.0}]
    assert ranks.cell("cold", rounds, rounds) == "4 s"
    assert ranks.cell("cold", rounds, [{"cold": 1.0}, {"cold": 4.0}, {"cold": 0.01}]) == "4 s (2.0x)"
    assert ranks.cell("cold", [{"cold": "no answer"}, *rounds], [*rounds, {"cold": 1.0}]) == "-"
    assert [ranks.ratio(r) for r in (0.42, 9.96, 1890.6)] == ["0.4x", "10.0x", "1,891x"]


@pytest.mark.matrix("benchmarks, run for real")
def test_the_others_get_an_environment_that_sees_torch_and_is_gone_afterwards(monkeypatch, capsys):
    absent = Launcher("absent", "/nowhere/absent-1.0-py3-none-any.whl", *[""] * 5)
    monkeypatch.setattr(peers, "PEERS", (SPAWN, absent))
    with peers.environment() as (python, there, missing):
        assert there == [SPAWN]
        assert list(missing) == ["absent"] and "/nowhere/absent-1.0-py3-none-any.whl" in missing["absent"]
        with sessions.kernel(python) as notebook:
            _, text = notebook.run("import sys, torch, helpers.ranks; print(sys.prefix, torch.__version__)")
        prefix = text.split()[0]
        assert python.startswith(prefix) and prefix != sys.prefix
    with pytest.raises((FileNotFoundError, CellFailed, RuntimeError)), sessions.kernel(python):
        pass


def test_only_the_version_that_was_tried_is_timed(monkeypatch):
    monkeypatch.setattr(peers, "version", {"accelerate": "1.14.0", "ipyparallel": "9.2.0"}.__getitem__)
    monkeypatch.setattr(peers, "PackageNotFoundError", KeyError)
    there, missing = peers.importable()
    assert [peer.name for peer in there] == ["mp.spawn", "ipyparallel"]
    assert missing["notebook_launcher"] == "1.14.0 installed: --with-peers times accelerate==1.15.0"
    assert missing["nbdistributed"] == "not installed: --with-peers times nbdistributed==0.1.0"


def test_every_launcher_pins_its_version_and_every_cell_takes_the_number_of_ranks():
    assert all("==" in peer.requirement for peer in PEERS if peer is not SPAWN)
    for launcher in (OURS, *PEERS):
        for filled in (launcher.cells(4), launcher.cells(4, product=True)):
            assert [compile(getattr(filled, name), launcher.name, "exec") for name in CELLS]
            assert not any("{n}" in getattr(filled, name) for name in CELLS)


def test_every_entry_is_built_proved_and_priced(capsys):
    schedules.main(6)
    head, *rows, slowest = capsys.readouterr().out.splitlines()
    assert head.startswith("6 ranks; seconds") and slowest.startswith("slowest: ")
    assert [tuple(row.split()[:2]) for row in rows] == list(CATALOGUE)
    assert rows[0].split()[-1] == "60"  # 2(P-1) steps of P transfers


@pytest.mark.parametrize(
    "collective",
    some(["all_reduce", "all_gather", "scatter", "all_to_all"], ["all_gather"], "benchmarks, run for real"),
)
def test_every_schedule_is_paired_with_torchs_own_call(collective, capsys):
    algorithms.main(collective, begin=1024, end=4096, ranks=2, backend="gloo", reps=2)
    first, *sizes = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{collective} on 2 ranks, gloo, CPU; torch ")
    assert [line.split(":")[0] for line in sizes[:2]] == ["1 KiB", "4 KiB"]
    rows = [line.split() for line in sizes[3:]]
    names = [name for kind, name in CATALOGUE if kind == collective]
    assert [row[0].rstrip("*") for row in rows] == names and all(len(row) == 5 for row in rows)
    switched = {name + "*" for name in names if CATALOGUE[collective, name](nranks=2).nswitches}
    assert {row[0] for row in rows if row[0].endswith("*")} == switched
    assert all(float(cell.strip("()")) > 0 for row in rows for cell in row[1:])


@pytest.mark.matrix("benchmarks, run for real")
def test_the_emulator_is_compared_with_the_model_for_every_algorithm(monkeypatch, capsys):
    monkeypatch.setattr(emulator, "SIZES", (1024, 4 * 2**20))
    monkeypatch.setattr(emulator, "REPS", 1)
    emulator.main(1, 1000)
    head, sizes, *rows, fitted = capsys.readouterr().out.splitlines()
    assert head.startswith("4 ranks, gloo, CPU, emulated link: 1 ms, 1 GB/s") and sizes.split() == [
        "1",
        "KiB",
        "4",
        "MiB",
    ]
    assert [row.split()[0] for row in rows] == ["message", "dist.all_reduce", *emulator.schedules()]
    assert {"ring", "binomial", "double-tree"} < set(emulator.schedules()) and fitted.startswith(
        "fit_link / set: alpha "
    )


@pytest.mark.matrix("benchmarks, run for real")
def test_exposed_time_stands_beside_the_model_for_every_bucket(capsys):
    overlap.main(2, 1, 100, 1)
    head, columns, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("4 ranks, gloo, CPU, emulated link: 1 ms") and "measured" in columns
    sizes = [96 * 1024 * n for n in (1, 2, 3, 4, 8)]
    layers, link = [overlap.Layer(0.0004, 0.002, sizes[0])] * 8, overlap.linked(1, 100)
    models = [overlap.predicted("overlapped", layers, link, 4, nbytes).exposed for nbytes in sizes]
    assert [row.split("  ")[0] for row in rows] == ["96 KiB", "192 KiB", "288 KiB", "384 KiB", "768 KiB"]
    assert [f"{1e3 * model:.1f}" in row for model, row in zip(models, rows, strict=True)] == [True] * 5


@pytest.mark.matrix("benchmarks, run for real")
def test_the_bubble_of_every_schedule_stands_beside_its_closed_form(monkeypatch, capsys):
    monkeypatch.setattr(pipelines, "REPS", 1)
    pipelines.main(2, 4)
    head, columns, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("4 ranks, gloo, CPU; ") and head.endswith("forward 2 ms") and "measured" in columns
    found = {row.split()[0]: row.split()[1:] for row in rows}
    closed = {name: (one[0], one[-1]) for name, one in found.items()}
    assert closed == {
        "gpipe": ("0.429", "0.750"),
        "1f1b": ("0.429", "0.750"),
        "interleaved": ("0.273", "0.375"),
        "zb-h1": ("0.200", "0.250"),
    }
    assert all(float(one[0]) < float(one[1]) < 1 for one in found.values()), "messages only add to the wait"


def test_a_ratio_is_torchs_time_over_ours():
    torchs, ours = Timing(min=2.0, median=3.0, reps=5), Timing(min=4.0, median=2.0, reps=5)
    assert algorithms.ratios([{"torch": torchs, "ring": ours}], "ring") == ["1.50 (0.50)"]
    text = algorithms.table({"": ["1 KiB"], "ring": ["1.50 (0.50)"]})
    assert text.splitlines() == ["             1 KiB", "ring   1.50 (0.50)"]
