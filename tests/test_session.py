"""The guards of tests/conftest.py, seen to work: a process left behind fails the session, a missing GPU is named and counted."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
SETTINGS = "[pytest]\naddopts = --strict-markers -ra\nmarkers =\n  gpus(n): needs n GPUs\n"


@pytest.fixture
def session(tmp_path):
    """session(source) -> exit status and output of a pytest session of its own on one file, with our conftest."""
    (tmp_path / "tests").mkdir()
    shutil.copy(CONFTEST, tmp_path / "tests")
    (tmp_path / "pytest.ini").write_text(SETTINGS)

    def session(source: str) -> tuple[int, str]:
        (tmp_path / "tests" / "test_it.py").write_text(source)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=clean, timeout=60)
        return done.returncode, done.stdout

    return session


def test_an_orphan_fails_the_session_and_is_named(session):
    # Started through a shell that ends at once: its parent is no longer the test's process.
    status, said = session(
        "import subprocess\n\ndef test_it():\n    subprocess.run(['sh', '-c', 'sleep 61 >/dev/null 2>&1 &'], check=True)\n"
    )
    (orphan,) = re.findall(r"^(\d+): sleep 61$", said, re.MULTILINE)
    os.kill(int(orphan), signal.SIGKILL)
    assert status == 1 and "processes left behind" in said and "1 passed" in said


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
