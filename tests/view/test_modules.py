"""The widgets' pure modules, by node's own test runner."""

import subprocess
from pathlib import Path

import pytest

SUITES = sorted(Path(__file__).parent.glob("*.test.mjs"))


@pytest.mark.parametrize("suite", SUITES, ids=lambda path: path.name)
def test_suite(suite, node):
    done = subprocess.run([node, "--test", suite], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n# fail 0\n" in done.stdout or "ℹ fail 0" in done.stdout


def test_there_are_suites():
    assert len(SUITES) >= 3
