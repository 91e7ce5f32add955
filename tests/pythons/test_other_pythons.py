"""The floors without torch run on every Python of the course: their own tests, with numpy and pytest beside them only."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tools import others

ROOT = Path(__file__).resolve().parent.parent.parent
TESTED = ["tests/units", "tests/facts", "tests/collectives"]


@pytest.mark.matrix("other Pythons")
@pytest.mark.parametrize("version", others.VERSIONS)
def test_the_lower_floors_on_another_python(version):
    python = others.interpreter(version)
    if python is None and others.at_hand(version) is None:
        pytest.skip(f"Python {version} is not at hand")
    assert python, f"Python {version} is at hand and not prepared: python -m tools.others (make test does it)"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTED]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=clean)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 100
