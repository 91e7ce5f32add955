"""The suite divides into lanes and shards without losing a test, goes on after a failure, and says what it left out."""

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import lanes
import pytest
import yaml

from tools import suite

FILES = {"tests/a.py": 3, "tests/b.py": 10, "notebooks/c.ipynb": 2, "tests/site/test_pages.py": 4}
NODEIDS = [f"{file}::test[{i}]" for file, number in FILES.items() for i in range(number)]
KNOWN = {"tests/b.py": 7.0, "tests/site/test_pages.py": 8.0, "tests/gone.py": 99.0}


def test_a_file_is_one_group_and_a_spread_file_one_for_each_test():
    weights = lanes.weigh(NODEIDS, KNOWN)
    assert next(iter(weights)) == "tests/b.py" and weights["tests/b.py"] == 7.0
    pages = [group for group in weights if group.startswith("tests/site")]
    assert len(pages) == 4 and {weights[page] for page in pages} == {2.0}
    assert (weights["tests/a.py"], weights["notebooks/c.ipynb"]) == (3 * lanes.LIGHT, 2 * lanes.LIGHT)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 20])
def test_shards_are_disjoint_complete_and_even(n):
    weights = lanes.weigh(NODEIDS, KNOWN)
    found = lanes.shares(weights, n)
    assert len(found) == n and sorted(itertools.chain(*found)) == sorted(weights)
    sums = [sum(weights[group] for group in share) for share in found]
    assert max(sums) - min(sums) <= max(weights.values())
    assert found == lanes.shares(lanes.weigh(reversed(NODEIDS), KNOWN), n), "whatever the order of collection"


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/2"])
def test_a_shard_that_is_none_is_refused(text):
    with pytest.raises(pytest.UsageError, match="a shard is I/N"):
        lanes.read_shard(text)


def collected(root, *options: str) -> set[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:nbval",
        *options,
    ]
    done = subprocess.run(
        [*command, "tests/units", "tests/facts"], cwd=root, capture_output=True, text=True, check=True
    )
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_the_shards_of_real_tests_are_the_whole(root):
    whole, parts = collected(root), [collected(root, "--shard", f"{i}/2") for i in (1, 2)]
    assert len(whole) > 100 and parts[0] | parts[1] == whole and not parts[0] & parts[1] and all(parts)


def test_every_lane_is_the_rest_of_the_others():
    for name, more in (("test", " and not matrix"), ("all", "")):
        marks = [lane.pytest[lane.pytest.index("-m") + 1] for lane in suite.lanes(name, "2/4") if not lane.nranks]
        assert marks == [f"not faults and not alone{more}", f"faults{more}", f"alone{more}"]
        assert all("2/4" in lane.pytest for lane in suite.lanes(name, "2/4"))


def test_a_lane_is_given_the_files_that_name_its_marker(tmp_path):
    for name, text in (
        ("test_a.py", "pytest.mark.alone"),
        ("test_b.py", "pytest.mark.faults"),
        ("c.py", "pytest.mark.alone"),
    ):
        (tmp_path / "tests" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "tests" / name).write_text(text)
    assert suite.marked("alone", tmp_path) == ["tests/test_a.py"]
    assert suite.marked("faults", tmp_path) == ["tests/test_b.py"]
    assert all(
        set(suite.marked(lane)) <= set(suite.lanes("test", "1/1")[1 + at].pytest)
        for at, lane in enumerate(lanes.OWN_LANE)
    )


def test_labs_run_on_every_number_of_ranks(monkeypatch):
    asked = {lane.nranks: lane.pytest[-1] for lane in suite.lanes("all", "1/1") if lane.nranks}
    assert asked == {1: "notebooks/", 2: "notebooks/", 8: "notebooks/"}
    given = []
    monkeypatch.setenv("NRANKS", "5")
    monkeypatch.setattr(
        suite.subprocess, "run", lambda *_, env, **__: given.append(env.get("NRANKS")) or SimpleNamespace(returncode=0)
    )
    for lane in (suite.Lane("as stored", ()), suite.Lane("on two", (), None, 2)):
        suite.run_lane(lane)
    assert given == [None, "2"], "what the caller's shell says goes into no lane"


def test_pytest_takes_the_lane_of_a_lab_by_itself(root):
    (lane,) = (lane for lane in suite.lanes("test", "1/1") if lane.nranks)
    command = [sys.executable, "-m", "pytest", *lane.pytest, "--tally", os.devnull, "--collect-only", "-q"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and lane.nranks == 2, done.stdout + done.stderr
    assert {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line} == {*lane.pytest[-2:]}


def test_a_marker_that_a_test_has_from_elsewhere_is_refused(played):
    hidden = "import pytest\ndef test_it(): pass\n@getattr(pytest.mark, 'alone')\n@pytest.mark.matrix('')\ndef test_more(): pass\n"
    assert played({"first": hidden})[0] == 1
    assert played({"first": f"{hidden}# pytest.mark.alone\n"})[0] == 0


@pytest.mark.parametrize(("workflow", "job", "word"), [("test", "test", "test"), ("weekly", "whole", "test-all")])
def test_the_workflows_run_every_part_and_fail_when_one_fails(root, workflow, job, word):
    done = yaml.safe_load((root / f".github/workflows/{workflow}.yml").read_text())["jobs"][job]
    shards = done["strategy"]["matrix"]["shard"]
    assert shards == list(range(1, len(shards) + 1)) and "continue-on-error" not in done
    assert done["steps"][-1]["run"].startswith(f"make {word} ")
    assert done["steps"][-1]["run"].endswith(f"SHARD=${{{{ matrix.shard }}}}/{len(shards)}")


def test_the_heavy_files_that_are_named_exist(root):
    known = lanes.tomllib.loads(lanes.WEIGHTS.read_text())["seconds"]
    assert [file for file in known if not (root / file).exists()] == []
    assert all((root / file).exists() for file in lanes.SPREAD)


@pytest.fixture
def played(monkeypatch, tmp_path, capsys):
    """played({lane: source of a test file}) -> (exit status, lines printed) of a whole suite on these files, style aside."""

    def play(sources: dict[str, str]) -> tuple[int, list[str]]:
        files = {name: tmp_path / f"test_{name}.py" for name in sources}
        for name, source in sources.items():
            files[name].write_text(source)
        told = ["-p", "no:cacheprovider", "-p", "no:nbval", "-c", str(suite.ROOT / "pyproject.toml"), "-p", "lanes"]
        monkeypatch.setenv("PYTHONPATH", str(suite.ROOT / "tests"))
        monkeypatch.setattr(suite, "run_style", lambda: suite.Ended("style", False, 1.0, {}))
        made = [suite.Lane(name, (*told, "-m", "not matrix", str(file))) for name, file in files.items()]
        monkeypatch.setattr(suite, "lanes", lambda *asked: made)
        status = suite.main(["test"])
        return status, capsys.readouterr().out.splitlines()

    return play


def test_what_wants_a_firefox_that_is_not_here_is_counted_in_the_table():
    told = [suite.Ended(name, False, 1.0, {"Firefox tests": [missing, 5]}) for name, missing in (("a", 3), ("b", 0))]
    lines = suite.table(told)
    assert lines[-2:] == ["left out", f"     3  Firefox that is not here: {suite.WHERE['Firefox']}"]


MORE = "import pytest\n@pytest.mark.matrix('every root')\ndef test_more(): assert False\n"


def test_a_lane_that_fails_stops_no_other_and_is_the_exit_status(played):
    status, lines = played({"first": "def test_it(): assert False\n", "second": MORE + "def test_it(): pass\n"})
    assert status == 1
    assert [line.split() for line in lines if line.startswith(("first ", "second "))] == [
        ["first", lines_of(lines, "first"), "1", "failed,", "FAILED"],
        ["second", lines_of(lines, "second"), "1", "passed"],
    ]
    assert "     1  every root: make test-all" in lines
    assert lines[-1].startswith("=== 1 passed, 1 failed, lanes that failed: first in ")


@pytest.mark.parametrize(
    ("asked", "ran"),
    [
        ([], {"test_it"}),
        (["--matrix"], {"test_it", "test_more"}),
        (["-m", "matrix"], {"test_more"}),
        (["::test_more"], {"test_more"}),
    ],
)
def test_pytest_by_itself_runs_what_make_test_does(tmp_path, root, asked, ran):
    file = tmp_path / "test_some.py"
    file.write_text(f"{MORE}def test_it(): pass\n")
    where, asked = (f"{file}{asked[0]}", []) if "::" in "".join(asked) else (str(file), asked)
    command = [sys.executable, "-m", "pytest", "--co", "-q", "-p", "no:cacheprovider", "-p", "no:nbval", "-p", "lanes"]
    command += ["-c", str(root / "pyproject.toml"), where, *asked]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(root / "tests")}, capture_output=True, text=True)
    assert {line.rpartition("::")[2] for line in done.stdout.splitlines() if "::" in line} == ran, (
        done.stdout + done.stderr
    )


def lines_of(lines: list[str], lane: str) -> str:
    """The seconds that a lane took, as printed."""
    return next(line.split()[1] for line in lines if line.startswith(f"{lane} "))


def test_lanes_that_pass_are_the_exit_status_and_one_that_cannot_start_is_none(played):
    assert played({"first": "def test_it(): pass\n"})[0] == 0
    assert played({"first": "import nothing_of_that_name\n"})[0] == 1
    assert played({"first": MORE})[0] == 1, "nothing ran, and not for other shards' sake"


def test_a_suite_in_the_background_hears_interrupts_in_its_tests(played):
    """A shell's background job, as CI may be, ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status, _ = played({"first": "import signal\ndef test_it(): assert signal.getsignal(2) != signal.SIG_IGN\n"})
    finally:
        signal.signal(signal.SIGINT, before)
    assert status == 0


@pytest.mark.parametrize(("elsewhere", "failed"), [(3, False), (0, True)])
def test_a_lane_of_which_all_is_in_other_shards_has_not_failed(monkeypatch, elsewhere, failed):
    def run(command, **options):
        Path(command[command.index("--tally") + 1]).write_text(json.dumps({"other shards": elsewhere}))
        return subprocess.CompletedProcess(command, suite.NO_TESTS)

    monkeypatch.setattr(suite.subprocess, "run", run)
    assert suite.run_lane(suite.Lane("few", ())).failed is failed


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="this system has no such policy")
def test_what_workers_share_takes_long_turns_and_tests_of_time_do_not():
    begins = {lane.name: lane.begins for lane in suite.lanes("test", "1/1") if not lane.nranks}
    assert begins == {"together": suite.in_long_turns, "faults": None, "alone": None}
    asked = [sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"]
    said = subprocess.run(asked, capture_output=True, preexec_fn=suite.in_long_turns, check=True).stdout
    assert int(said) == os.SCHED_BATCH


def test_some_of_the_rows_too():
    first, other = lanes.some_rows([(1, "a"), (2, "b")], [(1, "a")], "more rows")
    assert (first, other.values, [mark.args for mark in other.marks]) == ((1, "a"), (2, "b"), [("more rows",)])


def test_some_of_the_values_are_for_make_test_and_none_is_lost():
    first, *rest = lanes.some([1, 2, 3], [1], "more numbers")
    assert first == 1 and [param.values for param in rest] == [(2,), (3,)]
    assert {mark.args for param in rest for mark in param.marks} == {("more numbers",)}
    for kept in ([], [4]):
        with pytest.raises(AssertionError):
            lanes.some([1, 2, 3], kept, "more numbers")
