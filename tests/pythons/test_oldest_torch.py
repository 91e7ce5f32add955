"""What README and setup promise of torch: the oldest one runs ranks, their collectives and faults, FSDP2, the tracker and gpu-check."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from fake_cuda import environment

from tools import others

ROOT = Path(__file__).resolve().parent.parent.parent
TESTED = [
    *("tests/ranks/test_run.py", "tests/ranks/test_primitives.py", "tests/ranks/test_reducer.py"),
    *("tests/parallel/test_counting.py", "tests/parallel/test_zero.py", "tests/parallel/test_predict_fsdp2.py"),
    *("tests/measure/test_predict.py", "tests/measure/test_tracker_classes.py", "tests/scripts/test_too_big_script.py"),
]
CHECKED = ["ranks start", "ten primitives", "a rank is killed", "a collective is skipped"]
CHECKED += ["operator by operator", "memory, predicted", "stages"]


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of that torch."""
    if (found := others.interpreter(others.TORCH)) is None:
        pytest.skip(f"{others.TORCH} is not installed: python -m tools.others, which make test-all runs, says why")
    return found


def run(python: Path, *arguments: str, **env: str) -> str:
    """What it prints; AssertionError with that where it fails."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    clean["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, *filter(None, [env.pop("PYTHONPATH", "")]))))
    command = [python, "-m", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=clean | env)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.matrix("the oldest torch")
def test_it_runs_what_the_promise_stands_on(python):
    found = run(python, "pytest", "-q", "-p", "no:cacheprovider", *TESTED)
    assert int(re.search(r"(\d+) passed", found)[1]) > 100


@pytest.mark.matrix("the oldest torch")
def test_gpu_check_runs_there_on_a_played_gpu(python, tmp_path):
    found = run(python, "tools.gpu_check", "--out", str(tmp_path), "--only", *CHECKED, **environment(1, tmp_path))
    assert found.splitlines()[-1] == f"{len(CHECKED)} passed, 0 failed, 0 skipped, 0 not run"
