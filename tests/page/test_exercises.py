"""Checkers answer in a page as in the lab, and charts are drawn alike: their tests, run again without torch, numpy and plotly."""

import json
import subprocess
import sys

from helpers.exercises.puzzles import PUZZLES
from website.blocks import ROOT

PLAIN = ("-p", "no:nbval", "-p", "no:cacheprovider", "--noconftest", "-c", "/dev/null", "--rootdir", ".")
THREADS = ("test_ranks_exercise", "test_other_numbers", "test_hangs")  # ranks as threads and processes
DRAWN = ("*figure*", "*choices", "*stages", "*waits")


def run_again(*paths: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", *PLAIN, "-p", "tests.page.judged", *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout.splitlines()


def test_the_checkers_that_need_no_ranks_answer_in_a_page():
    lines = run_again(*(f"--ignore-glob=*{name}*" for name in THREADS), "tests/exercises")
    told = json.loads(next(line for line in lines if line.startswith("{")))
    assert sum(name.startswith("puzzles.") and True in said for name, said in told.items()) == len(PUZZLES)
    assert sum(said == [False, True] for said in told.values()) >= 75, "of puzzles and exercises"


def test_figures_are_what_plotly_makes_of_them():
    found = [path for name in DRAWN for path in (ROOT / "tests" / "view").glob(f"test_{name}.py")]
    paths = [str(path) for path in found if "swept" not in path.name]  # of sweeps, which ranks make
    assert len(paths) >= 19
    run_again(*paths)
