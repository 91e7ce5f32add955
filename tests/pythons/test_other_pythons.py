"""The floors without torch run on every Python of the course, and on a page's: their own tests, with few packages beside them."""

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tools import others

ROOT = Path(__file__).resolve().parent.parent.parent
TESTED = ["tests/units", "tests/facts", "tests/collectives"]
ON_A_PAGE = ["nccl", "memory", "hlo", "pipeline", "overlap", "context", "ledger", "records", "yours"]
PYTEST = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py")


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


@pytest.mark.matrix("other Pythons")
def test_floors_1_and_2_on_the_python_of_a_page(tmp_path):
    """CPython 3.14 of assets/vendor, in the Node that playwright brings, with pytest alone: what wants more is skipped with its name."""
    playwright = Path(pytest.importorskip("playwright").__file__).parent
    for name in PYTEST:
        found = Path(pytest.__file__).parents[1] / name
        (shutil.copytree if found.is_dir() else shutil.copy)(found, tmp_path / name)
    command = [playwright / "driver" / "node", ROOT / "tests" / "pythons" / "in_node.cjs", ROOT, tmp_path, "-q", "-rs"]
    folders = [*TESTED, *(f"tests/{name}" for name in ON_A_PAGE)]
    command += ["-p", "no:cacheprovider", "-m", "not gpus and not matrix", *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    skips = Counter()
    for number, why in re.findall(r"^SKIPPED \[(\d+)\].*: (needs .+)$", done.stdout, re.MULTILINE):
        skips[why] += int(number)
    passed, skipped = (int(re.search(rf"(\d+) {word}", done.stdout)[1]) for word in ("passed", "skipped"))
    print(f"CPython 3.14 in WebAssembly: {passed} passed; not run there: {dict(skips)}")
    assert passed > 3000 and sum(skips.values()) == skipped
