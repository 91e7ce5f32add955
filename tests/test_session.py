"""The guards of conftest.py, seen to work: a process left behind fails the session, a missing GPU or Firefox is named and counted."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import leftovers
import pytest

HERE = Path(__file__).parent
SHARED = [
    HERE / name for name in ("by_torch.py", "lanes.py", "leftovers.py", "warm.py", "warm_kernels.py", "weights.toml")
]
SETTINGS = "[pytest]\npythonpath = tests\naddopts = --strict-markers -ra\nmarkers =\n  gpus(n): needs n GPUs\n"
SETTINGS += "  firefox: needs Firefox\n  matrix(why): more\n"


@pytest.fixture
def session(tmp_path):
    """session(source, *options) -> exit status and output of a pytest session of its own on one file, with our guards."""
    (tmp_path / "tests").mkdir()
    shutil.copy(HERE.parent / "conftest.py", tmp_path)
    for file in SHARED:
        shutil.copy(file, tmp_path / "tests")
    (tmp_path / "pytest.ini").write_text(SETTINGS)

    def session(source: str, *options: str) -> tuple[int, str]:
        (tmp_path / "tests" / "test_it.py").write_text(source)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", *options, "tests"]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        clean["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # but xdist: the others take seconds to import
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=clean, timeout=60)
        return done.returncode, done.stdout

    return session


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "two workers"])
def test_an_orphan_fails_the_session_and_is_named(session, workers):
    # Started through a shell that ends at once: its parent is no longer the test's process.
    status, said = session(
        "import subprocess\n\ndef test_it():\n    subprocess.run(['sh', '-c', 'sleep 61 >/dev/null 2>&1 &'], check=True)\n",
        *workers,
    )
    (orphan,) = re.findall(r"^(\d+): sleep 61$", said, re.MULTILINE)
    os.kill(int(orphan), signal.SIGKILL)
    assert status == 1 and "processes left behind" in said and "1 passed" in said


def test_a_process_that_becomes_another_program_has_its_environment_again(monkeypatch):
    """Between two programs /proc says that a process has none; so read once, an orphan was missed on a busy machine."""

    def once_blank(process):
        asked.append(process.pid)
        return {} if asked.count(process.pid) == 1 else told(process)

    asked, told = [], leftovers.environment
    monkeypatch.setattr(leftovers, "environment", once_blank)
    with subprocess.Popen(["sleep", "61"]) as child:
        found = [process.pid for process in leftovers.started_in(os.environ[leftovers.SESSION])]
        child.kill()
    assert child.pid in found


def test_a_child_that_ends_in_time_is_no_orphan(session):
    status, said = session("import subprocess\n\ndef test_it():\n    subprocess.Popen(['sleep', '0.5'])\n")
    assert status == 0 and "left behind" not in said


def test_a_test_without_its_gpus_is_skipped_by_name_and_counted(session):
    status, said = session(
        "import pytest\n\n@pytest.mark.gpus(999)\ndef test_it():\n    assert False\n\ndef test_other():\n    pass\n"
    )
    assert status == 0 and "needs 999 GPUs" in said and "1 passed, 1 skipped" in said
    assert "GPU tests skipped: 1 of 1" in said


def test_a_test_whose_gpus_are_here_runs(session):
    status, said = session("import pytest\n\n@pytest.mark.gpus(0)\ndef test_it():\n    assert False\n")
    assert status == 1 and "GPU tests skipped: 0 of 1" in said


def test_a_test_without_its_firefox_is_skipped_by_name_and_counted(session, root, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("FIREFOX", "no-such-firefox")
    status, said = session("import pytest\n\n@pytest.mark.firefox\ndef test_it():\n    assert False\n")
    assert status == 0 and "no-such-firefox was found" in said and "1 skipped" in said
    assert "Firefox tests skipped: 1 of 1" in said


MATRIX = """
import pytest

@pytest.mark.parametrize("n", [1, *(pytest.param(n, marks=pytest.mark.matrix("more numbers")) for n in (2, 3))])
def test_it(n):
    pass
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "two workers"])
def test_what_is_left_out_is_counted_by_its_reason(session, tmp_path, workers):
    tally = tmp_path / "tally.json"
    status, said = session(MATRIX, "-m", "not matrix", "--tally", str(tally), *workers)
    told = json.loads(tally.read_text())
    assert status == 0 and "1 passed" in said
    assert (told["left out"], told["counts"]) == ({"more numbers": 2}, {"passed": 1})
    assert list(told["seconds"]) == ["tests/test_it.py"]
