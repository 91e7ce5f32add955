"""make check: what has changed is what git tells, and the tests that it runs are those near it."""

import subprocess
import sys

import pytest

from tools import check
from tools.floors import floor_of


@pytest.fixture
def clone(tmp_path):
    """A repository of two commits, in a folder with a space; clone(*words) runs git in it."""
    here = tmp_path / "a house"
    here.mkdir()
    who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]

    def git(*words: str) -> None:
        subprocess.run(["git", *who, *words], cwd=here, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for name in ("first.py", "second.py"):
        (here / name).write_text("")
        git("add", "-A")
        git("commit", "-q", "-m", name)
    return here, git


def test_on_main_it_is_the_last_commit_and_what_is_not_committed(clone):
    here, _ = clone
    (here / "third.py").write_text("")
    assert check.changed(here) == ["second.py", "third.py"]
    (here / "first.py").write_text("1")
    (here / "second.py").unlink()
    assert check.changed(here) == ["first.py", "third.py"], "what is gone cannot be tested"


def test_on_a_branch_it_is_everything_since_it_left_main(clone):
    here, git = clone
    git("switch", "-q", "-c", "mine")
    for name in ("third.py", "fourth.py"):
        (here / name).write_text("")
        git("add", "-A")
        git("commit", "-q", "-m", name)
    assert check.changed(here) == ["fourth.py", "third.py"]


def test_without_a_commit_before_it_is_everything(clone):
    here, git = clone
    git("switch", "-q", "--orphan", "new")
    git("commit", "-q", "--allow-empty", "-m", "empty")
    git("branch", "-q", "-D", "main")
    (here / "only.py").write_text("")
    git("add", "-A")
    assert check.changed(here) == ["only.py"]


def test_floors_are_asked_for_changed_modules_alone():
    asked = check.floors(
        ["helpers/ranks/__init__.py", "helpers/units.py", "helpers/ranks/__main__.py", "tools/check.py"]
    )
    assert [name.split("[")[1] for name in asked] == ["helpers.ranks]", "helpers.units]"]


def test_tests_of_the_lower_floors_are_those_of_the_changed_packages(root):
    def folders(*paths):
        return [test for test in check.near(list(paths), root) if test not in check.QUICK]

    assert folders("helpers/collectives/price.py", "helpers/units.py") == ["tests/units", "tests/collectives"]
    assert folders("tests/memory/test_trace.py") == ["tests/memory"]
    assert folders("helpers/ranks/worker.py", "book/ring.md", "Makefile") == []
    assert all((root / test).exists() for test in check.near([], root)) and check.near([], root)


def test_every_room_on_paper_that_has_tests_is_checked(root):
    on_paper = [room for room, floor in floor_of(root).items() if floor <= 2 and (root / "tests" / room).is_dir()]
    assert len(on_paper) > 10
    assert [room for room in on_paper if f"tests/{room}" not in check.near([f"helpers/{room}/any.py"], root)] == []


def test_a_planted_room_that_is_broken_is_found(tmp_path):
    """A line of the map and a folder of tests, as for any new room: nothing else knows of it."""
    for folder in ("helpers/planted", "tests/planted"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "helpers/README.md").write_text(
        "| floor | room | |\n|---|---|---|\n| 2 | `planted` | a planted room |\n"
    )
    (tmp_path / "tests/planted/test_planted.py").write_text("def test_broken():\n    assert False\n")
    folder, *_ = check.near(["helpers/planted/__init__.py"], tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder], cwd=tmp_path, check=False
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED


def test_a_step_that_fails_stops_no_other_and_is_the_exit_status(monkeypatch, capsys, tmp_path):
    ran = []
    monkeypatch.setattr(check, "changed", lambda: ["helpers/units.py"])
    monkeypatch.setattr(check, "steps", lambda paths: [("json.tool", "/nowhere"), ("this",), ("timeit", "-n1", "ran")])
    run = subprocess.run
    monkeypatch.setattr(check.subprocess, "run", lambda command, **how: ran.append(command[2]) or run(command, **how))
    assert check.main([]) == 1 and ran == ["json.tool", "this", "timeit"]
    assert "1 changed files" in (said := capsys.readouterr().out) and said.strip().endswith("failed: json.tool, timeit")
    monkeypatch.setattr(check, "steps", lambda paths: [("this",)])
    assert check.main([]) == 0
