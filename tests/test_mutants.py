"""The tool that plants faults: the draw, the places, and the verdict on a strong and on a weak test."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tools import mutants
from tools.mutation import draw, operators, record, sandbox
from tools.mutation.points import Point, places, planted
from tools.mutation.reach import plain

SOURCE = '''
"""A small program with a place for every operator."""
LIMIT, SHARE, OPEN = 4, 0.5, True


def kept(values, *, least=1, order=None):
    """ä: bytes are not characters."""
    found = []
    for value in values:
        if not value:
            continue
        if value < least or least is None and order:
            raise ValueError(f"{value + 1} is less")
        found.append(max(value, -least))
        found[0] += 2
    values.sort(
        key=order,
    )
    self.left = values % 3
    return found
'''
ALL = {
    "comparison",
    "arithmetic",
    "minus dropped",
    "and/or",
    "not dropped",
    "constant",
    "arguments swapped",
    "argument dropped",
    "max/min",
    "condition turned round",
    "call dropped",
    "raise dropped",
    "statement dropped",
    "value dropped",
    "break/continue",
}


def test_every_operator_makes_another_program_on_as_many_lines():
    found, before = places(SOURCE), ast.dump(ast.parse(SOURCE))
    assert {place.point.operator for place in found} == ALL
    assert len({place.point for place in found}) == len(found)
    for place in found:
        after = planted(SOURCE, place)
        assert ast.dump(ast.parse(after)) != before and after.count("\n") == SOURCE.count("\n")
    assert not any("value + 1" in place.point.expression for place in found if place.point.operator == "arithmetic")


def faults(text):
    """What an expression may become."""
    return {(name, ast.unparse(other)) for name, other in operators.of_expression(ast.parse(text, mode="eval").body)}


def test_what_an_expression_becomes():
    assert faults("a < b") == {("comparison", "a <= b"), ("comparison", "a >= b")}
    assert faults("a == b == c") == {("comparison", "a != b == c"), ("comparison", "a == b != c")}
    assert faults("7") == {("constant", "8"), ("constant", "6")}
    assert faults("f(a, b, c=1)") == {("arguments swapped", "f(b, a, c=1)"), ("argument dropped", "f(a, b)")}
    assert faults("f(a, a)") == faults("'word'") == faults("None") == faults("f(*a, b)") == set()


def test_the_draw_is_the_same_every_time_and_follows_the_size(root):
    part = draw.Part("two", ("units.py", "facts"), 20, ("units",))
    first = draw.draw(root, part, seed=1)
    assert first == draw.draw(root, part, seed=1) and first != draw.draw(root, part, seed=2)
    assert len(set(first)) == 20 and {"helpers/units.py", "helpers/facts/fact.py"} <= {point.path for point in first}
    assert draw.shares({"a": 10, "b": 5, "c": 1}, 5) == {"a": 3, "b": 2, "c": 0}


def test_the_recorded_draw_has_all_its_mutants_and_names_are_plain():
    drawn = record.read_draw()
    for part in draw.PARTS:
        assert sum(of == part.name for of, _ in drawn.values()) == part.count
    assert set(record.equivalent()) <= set(drawn)
    assert plain("Pool.run.<locals>.loop.<locals>.<listcomp>") == "Pool.run.loop" and plain("<module>") == ""


@pytest.fixture
def house(tmp_path):
    """A repository with two functions, one tested well, and three faults in it."""
    tree, folder = tmp_path / "tree", tmp_path / "recorded"
    (tree / "helpers").mkdir(parents=True)
    (tree / "tests/units").mkdir(parents=True)
    (tree / "helpers/units.py").write_text(
        "def strong(a, b):\n    return a < b\n\n\ndef weak(a, b):\n    return a + b\n"
    )
    checks = (
        "from helpers.units import strong, weak\n\n\ndef test_strong():\n    assert strong(1, 2) and not strong(1, 1)\n"
    )
    (tree / "tests/units/test_two.py").write_text(f"{checks}\n\ndef test_weak():\n    assert weak(2, 0) == 2\n")
    at = "helpers/units.py"
    points = [
        Point(at, "strong", "return a < b", 0, "comparison", "a < b", "a <= b"),
        Point(at, "weak", "return a + b", 0, "arithmetic", "a + b", "a - b"),
        Point(at, "lost", "return 0", 0, "constant", "0", "1"),
    ]
    record.write_draw({"floors 1 and 2": points}, folder)
    return tree, folder


def beside(tree, out, command, file="", by="", **env):
    """A copy in place of the sandbox: these faults are harmless, and not everybody is root."""
    here = out / "copy"
    shutil.copytree(tree, here, ignore=shutil.ignore_patterns("_build"), dirs_exist_ok=True)
    if file:
        shutil.copy(by, here / file)
    env = {**os.environ, "PYTHONPATH": str(sandbox.INSIDE), "PYTEST_ADDOPTS": "", **sandbox.BARE, **env}
    if "BYTES_IN_MOTION_REACH_OF" in env:
        env["BYTES_IN_MOTION_REACH_OF"] = str(here / "helpers")
    with (out / "output.txt").open("w") as output:
        return subprocess.Popen(command, cwd=here, env=env, stdout=output, stderr=subprocess.STDOUT)


def test_a_strong_test_kills_a_weak_one_lets_live_and_a_run_goes_on_where_it_was(house, capsys):
    tree, folder = house
    assert mutants.reach(tree, "all", ["tests"], start=beside, python=sys.executable) == 0
    mutants.judge(tree, "before", mutants.Wanted(again=("2-001",)), folder, beside, sys.executable)
    mutants.judge(tree, "before", mutants.Wanted("2-"), folder, beside, sys.executable)
    found = record.judged("before", folder)
    assert [verdict.verdict for verdict in found.values()] == ["killed", "survived", "gone"]
    assert (found["2-001"].by, found["2-001"].how) == ("tests/units/test_two.py::test_strong", "failed")
    assert len((folder / "before.jsonl").read_text().splitlines()) == 3, "the first was not judged again"
    assert "| floors 1 and 2 | before | 3 | 1 | 1 | 0 | 1 | 0 | 50.0% |" in record.table(folder)
    (folder / "survivors.toml").write_text('[equivalent]\n2-002 = "b is 0"\n\n[mended]\n')
    assert "| floors 1 and 2 | before | 3 | 1 | 0 | 1 | 1 | 0 | 100.0% |" in record.table(folder)
    assert "equivalent: b is 0" in record.table(folder)


def test_a_place_is_found_after_a_move(house):
    tree, folder = house
    _, point = record.read_draw(folder)["2-001"]
    (tree / "helpers/rooms").mkdir()
    source = (tree / "helpers/units.py").read_text()
    (tree / "helpers/units.py").unlink()
    (tree / "helpers/rooms/bandwidth.py").write_text(f"import math\n\n\n{source.replace('a < b', '(a  < b)  # less')}")
    place = draw.Tree(tree).find(point)
    assert place.point.path == "helpers/rooms/bandwidth.py" and place.point.function == "strong"


def test_without_a_sandbox_nothing_is_planted(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    assert mutants.main(["--tree", str(tmp_path), "judge", "before"]) == 2
    assert "this needs Linux with unshare" in capsys.readouterr().err and list(tmp_path.iterdir()) == []


ENDED = """
import runpy, subprocess, sys
from tools.mutation import sandbox

class Waited(subprocess.Popen):
    told = False

    def wait(self, timeout=None):
        if not self.told:
            self.told = True
            print(self.pid, flush=True)
        return super().wait(timeout)

def start(tree, out, command, **env):
    return Waited([sys.executable, "-c", "import time; time.sleep(600)"])

sandbox.start, sandbox.trouble = start, lambda: ""
sys.argv = ["mutants", "--tree", sys.argv[1], "reach", "some", "tests/none"]
runpy.run_module("tools.mutants", run_name="__main__")
"""


def test_who_is_told_to_end_takes_the_sandbox_along(root, tmp_path):
    command = [sys.executable, "-c", ENDED, str(tmp_path)]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as mine:
        sleeper = psutil.Process(int(mine.stdout.readline()))
        mine.terminate()
    assert mine.returncode == 143 and not sleeper.is_running()


def test_in_a_sandbox_the_tree_and_the_neighbours_are_out_of_reach(tmp_path):
    """Where none can be had, the tool says why."""
    if why := sandbox.trouble():
        assert "this needs" in why or "no namespace" in why
        return
    tree, out = tmp_path / "tree", tmp_path / "out"
    tree.mkdir(), out.mkdir(), (tree / "file").write_text("kept"), (tmp_path / "by").write_text("a fault")
    mine = os.getpid()
    script = (
        f"cat file; rm file; rm -rf {Path(__file__)}; kill -9 {mine}; ls /proc | grep -c '^[0-9]'; touch {out}/answer"
    )
    process = sandbox.start(tree, out, ["sh", "-c", script], "file", tmp_path / "by")
    process.wait(60)
    said = (out / "output.txt").read_text()
    assert (
        said.startswith("a fault") and "Read-only file system" in said and f"({mine})" in said
    ) or "No such process" in said
    assert (tree / "file").read_text() == "kept" and Path(__file__).is_file() and (out / "answer").is_file()
