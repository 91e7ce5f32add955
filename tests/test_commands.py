"""Every command says what it is when it is asked, and starts nothing; what is missing is named with the word that brings it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import needs

ROOT = Path(__file__).resolve().parent.parent
MAIN = 'if __name__ == "__main__":'
# Of other programs, which start them with words of their own.
INNER = {"helpers.parallel.annotated.inside_jax", "tools.gpu.alone", "tools.gpu.parents", "tools.gpu.serve"}
ASK = """
import contextlib, io, json, runpy, sys
names, hidden = json.loads(sys.argv[1])

class Hidden:  # as where only `make book` has been
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
found = {}
for name in names:
    sys.argv, out, code = [name, "--help"], io.StringIO(), "it went on"
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code
    found[name] = [code, out.getvalue()]
print(json.dumps(found))
"""


def commands() -> list[str]:
    """By what stands behind `python -m`."""
    files = [
        path.relative_to(ROOT) for room in ("helpers", "tools", "benchmarks") for path in (ROOT / room).rglob("*.py")
    ]
    found = [".".join(path.with_suffix("").parts) for path in files if MAIN in (ROOT / path).read_text()]
    return sorted(name.removesuffix(".__main__") for name in set(found) - INNER)


@pytest.fixture(scope="module")
def asked() -> dict[str, tuple[int, str]]:
    """What each answers to --help where the tests' packages are not installed."""
    told = json.dumps([commands(), ["playwright", "pytest", "hypothesis", "pypdf"]])
    done = subprocess.run(
        [sys.executable, "-c", ASK, told], cwd=ROOT, capture_output=True, text=True, check=True, timeout=100
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_every_command_says_what_it_is_or_what_brings_what_it_lacks(asked):
    lacks = {name: text for name, (code, text) in asked.items() if code == 1}
    assert {
        name: text
        for name, (code, text) in asked.items()
        if name not in lacks and not (code == 0 and "usage: " in text)
    } == {}
    assert lacks == {
        "benchmarks.faults": "pytest is missing: `make test` installs it\n",
        "benchmarks.page": "playwright is missing: `make test` installs it\n",
        "benchmarks.live_memory": "playwright is missing: `make test` installs it\n",
        "tools.heights": "playwright is missing: `make test` installs it\n",
        "tools.pdf": "playwright is missing: `make test` installs it\n",
    }


@pytest.mark.parametrize(
    ("module", "brings"),
    [("numpy", "make book"), ("playwright.sync_api", "make test"), ("jax", "make test-all"), ("labextension", None)],
)
def test_the_word_that_brings_a_package(module, brings):
    assert needs.word(module) == brings
