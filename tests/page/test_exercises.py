"""Checkers of exercises answer in a page as in the lab: their tests, run again without torch and numpy."""

import json
import subprocess
import sys

from helpers.exercises.puzzles import PUZZLES
from website.blocks import ROOT

PLAIN = ("-p", "no:nbval", "-p", "no:cacheprovider", "--noconftest", "-c", "/dev/null", "--rootdir", ".")
THREADS = ("test_ranks_exercise", "test_other_numbers", "test_hangs")  # ranks as threads and processes


def test_the_checkers_that_need_no_ranks_answer_in_a_page():
    asked = [f"--ignore-glob=*{name}*" for name in THREADS]
    command = [sys.executable, "-m", "pytest", "-q", *PLAIN, "-p", "tests.page.judged", *asked, "tests/exercises"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:]
    told = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert sum(name.startswith("puzzles.") and True in said for name, said in told.items()) == len(PUZZLES)
    assert sum(said == [False, True] for said in told.values()) >= 75, "of puzzles and exercises"
