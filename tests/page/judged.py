"""A plugin of pytest: tests without what a page lacks. Those that need it are left out; checkers of exercises that answered are told."""

import importlib.machinery
import json
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ABSENT = ("helpers.ranks", "helpers.measure", "helpers.parallel", "helpers.patches", "torch", "numpy", "jax", "plotly")


class Without(importlib.machinery.PathFinder):
    """Finds nothing of what a page lacks."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.startswith(ABSENT) else super().find_spec(name, path, target)


sys.path[:0] = map(str, (ROOT, ROOT / "tests"))
sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter, Without]

from helpers.exercises import answer, puzzles_judge  # noqa: E402
from helpers.page.absent import AbsentError, stand_in  # noqa: E402

stand_in()
told: dict[str, set] = defaultdict(set)  # a checker and what it has said


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Tests of real ranks ask for a fixture of conftest.py, which is not loaded; rarer halves run natively alone."""
    for item in list(items):
        given = item._fixtureinfo
        if set(given.names_closure) - {"request", *given.name2fixturedefs} or item.get_closest_marker("matrix"):
            items.remove(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup():
    try:
        return (yield)
    except AbsentError as error:
        pytest.skip(str(error))


pytest_runtest_call = pytest_runtest_setup


def judge(cases, test, praise, judge=answer.judge):
    found = judge(cases, test, praise)
    if "which a page does not have" in found.message:
        pytest.skip(found.message)
    frame = sys._getframe(1)
    while frame.f_code.co_name.startswith(("_", "<")):
        frame = frame.f_back
    told[f"{frame.f_globals['__name__'].rpartition('.')[2]}.{frame.f_code.co_name}"].add(found.passed)
    return found


answer.judge = judge


def solved(puzzle, solution, call=puzzles_judge.Puzzle.__call__):
    found = call(puzzle, solution)
    told[f"puzzles.{puzzle.name}"].add(found.passed)
    return found


puzzles_judge.Puzzle.__call__ = solved


def pytest_terminal_summary(terminalreporter):
    """As the last line."""
    terminalreporter.write_line(json.dumps({name: sorted(said) for name, said in told.items()}))
