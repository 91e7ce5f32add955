"""`make check`: an answer in under a minute, while you work: style, types, floors and the tests that are near the change.

`python -m tools.check`, in the repository's .venv. What has changed is what git tells against the main branch. `make test` is what
a change has to pass.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tools.floors import floor_of
from tools.suite import STYLE, WORKERS

ROOT = Path(__file__).resolve().parent.parent
BASES = ("origin/main", "main")
ON_PAPER = 2  # the highest floor without torch: the tests of its rooms, and of those below, are quick
# Floors 3 and 5 in seconds: what starts no ranks and no browser.
QUICK = ("tests/ranks/test_judge.py", "tests/ranks/test_descriptions.py", "tests/ranks/test_reducer.py")
QUICK += (
    "tests/view/test_tokens.py",
    "tests/view/test_choices.py",
    "tests/view/test_figures.py",
    "tests/view/test_modules.py",
)


def git(*arguments: str, root: Path = ROOT) -> list[str] | None:
    """The lines that git answers, or None where it cannot."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return None if done.returncode else [line for line in done.stdout.splitlines() if line]


def changed(root: Path = ROOT) -> list[str]:
    """Files that differ from where this branch left main, new ones included; on main itself, from the commit before."""
    head = git("rev-parse", "HEAD", root=root)
    bases = [git("merge-base", "HEAD", name, root=root) for name in BASES]
    base = next((found[0] for found in bases if found and found != head), "HEAD~1")
    tracked = git("diff", "--name-only", base, root=root)
    if tracked is None:  # no history: everything is new
        tracked = git("ls-files", root=root) or []
    new = git("ls-files", "--others", "--exclude-standard", root=root) or []
    return sorted(name for name in {*tracked, *new} if (root / name).exists())


def module(path: str) -> str:
    """ "helpers/ranks/__init__.py" -> "helpers.ranks"."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def floors(paths: list[str]) -> list[str]:
    """The tests that say on what each changed module stands and that importing it starts nothing."""
    modules = [module(p) for p in paths if p.startswith("helpers/") and p.endswith(".py") and "__main__" not in p]
    test = "test_a_module_stands_on_its_floor_and_its_import_starts_nothing"
    return [f"tests/test_floors.py::{test}[{name}]" for name in modules]


def near(paths: list[str], root: Path = ROOT) -> list[str]:
    """The tests of the changed packages of floors 1 and 2, then the quick ones of floors 3 and 5."""
    rooms = {
        path.split("/")[1].removesuffix(".py")
        for path in paths
        if path.startswith(("helpers/", "tests/")) and "/" in path
    }
    on_paper = [room for room, floor in floor_of(root).items() if floor <= ON_PAPER]
    folders = [f"tests/{room}" for room in on_paper if room in rooms and (root / "tests" / room).is_dir()]
    return [*folders, *QUICK]


def steps(paths: list[str]) -> list[tuple[str, ...]]:
    """The commands of a check, without the interpreter."""
    pytest = (
        "pytest",
        "-q",
        "-n",
        str(WORKERS),
        "-m",
        "not matrix and not faults and not alone",
        *floors(paths),
        *near(paths),
    )
    return [*STYLE, pytest]


def main(argv: list[str] | None = None) -> int:
    argparse.ArgumentParser(prog="python -m tools.check", description=__doc__.partition("\n")[0]).parse_args(argv)
    start, paths = time.monotonic(), changed()
    commands = steps(paths)
    failed = [
        step for step in commands if subprocess.run([sys.executable, "-m", *step], cwd=ROOT, check=False).returncode
    ]
    print(f"{len(paths)} changed files, {time.monotonic() - start:.0f} s:", end=" ")
    print(f"failed: {', '.join(step[0] for step in failed)}" if failed else "clean; `make test` is the whole answer")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
