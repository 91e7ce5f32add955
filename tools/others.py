"""Environments for the other Pythons of the course, where one is at hand: numpy and what the tests of floors 1 and 2 need.

`python -m tools.others` makes them under .venv/pythons, once; `tests/pythons` runs in them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from tools import pins, progress

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv" / "pythons"
VERSIONS = ("3.12", "3.13")
NEEDED = ("numpy", "pytest", "hypothesis")


def interpreter(version: str) -> Path | None:
    """The Python of the environment for `version`, with NEEDED at today's pins; None while there is none."""
    python = _folder(version) / "bin" / "python"
    return python if (python.parent.parent / "done").exists() else None


def at_hand(version: str) -> str | None:
    """A Python of that version, on PATH or beside pyenv's others, that starts and can make an environment."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    names = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}")))]
    return next((name for name in names if _runs(name, version)), None)


def make(python: str, version: str) -> None:
    """Makes the environment for `version`. Raises CommandFailed."""
    folder = _folder(version)
    progress.run(f"Python {version}", [python, "-m", "venv", "--clear", str(folder)])
    quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--only-binary", ":all:"]
    progress.run(f"Python {version}", [str(folder / "bin/python"), "-m", "pip", "install", *quiet, *_wanted()])
    (folder / "done").touch()


def _folder(version: str) -> Path:
    return HOME / f"{version}-{hashlib.sha256(json.dumps(_wanted()).encode()).hexdigest()[:12]}"


def _wanted() -> list[str]:
    texts = [(ROOT / name).read_text() for name in ("requirements.txt", "requirements-dev.txt")]
    return [pin for pin in pins.read(texts) if pins.name(pin) in NEEDED]


def _runs(name: str, version: str) -> bool:
    show = "import ensurepip, sys; print('{}.{}'.format(*sys.version_info))"
    try:
        done = subprocess.run([name, "-c", show], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.stdout.strip() == version  # a shim of pyenv may start and still be no Python


def main(argv: list[str] | None = None) -> int:
    argparse.ArgumentParser(prog="python -m tools.others", description=__doc__.partition("\n")[0]).parse_args(argv)
    for version in VERSIONS:
        python = at_hand(version)
        if python is None:
            print(f"Python {version} is not at hand; its tests are skipped and counted", flush=True)
        elif interpreter(version) is None:
            try:
                make(python, version)
            except progress.CommandFailed as failed:
                print(*failed.tail, f"Python {version} could not be prepared: {failed}", sep="\n", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
