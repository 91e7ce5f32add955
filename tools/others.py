"""Environments for what `make test-all` also runs on: the other Pythons of the course, and the oldest torch that it promises.

Of each Python that is at hand one with numpy and what the tests of floors 1 and 2 need; of that torch one with its CPU build and what
ranks need. `python -m tools.others` makes them under .venv/pythons, once; `tests/pythons` runs in them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from tools import pins, progress, torch_build

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv" / "pythons"
VERSIONS = ("3.12", "3.13")
NEEDED = ("numpy", "pytest", "hypothesis")
TORCH = "torch {}.{}".format(*torch_build.OLDEST)
BESIDE_TORCH = (*NEEDED, "cloudpickle", "psutil", "nvidia-ml-py")


def interpreter(name: str) -> Path | None:
    """The Python of the environment `name`, one of VERSIONS or TORCH, at today's pins; None while there is none."""
    python = _folder(name) / "bin" / "python"
    return python if (python.parent.parent / "done").exists() else None


def at_hand(version: str) -> str | None:
    """A Python of that version, on PATH or beside pyenv's others, that starts and can make an environment."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    names = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}")))]
    return next((name for name in names if _runs(name, version)), None)


def make(python: str, name: str, index: str = "") -> None:
    """Makes the environment `name`; TORCH's build comes from `index`, and nothing else does. Raises CommandFailed."""
    folder, title = _folder(name), name if name == TORCH else f"Python {name}"
    pip = environment(python, folder, title)
    if name == TORCH:
        progress.run(title, [*pip, "--no-deps", "--retries", "1", "--index-url", f"{index}/cpu", _build()])
    progress.run(title, [*pip, *_wanted(name)])
    (folder / "done").touch()


def environment(python: str, folder: Path, title: str) -> list[str]:
    """An empty one, and how its pip is called. Raises CommandFailed."""
    progress.run(title, [python, "-m", "venv", "--clear", str(folder)])
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    return [*pip, "--progress-bar", "off", "--only-binary", ":all:"]


def _build() -> str:
    return f"{TORCH.replace(' ', '==')}.0+cpu"


def _folder(name: str) -> Path:
    wanted = hashlib.sha256(json.dumps(_wanted(name)).encode()).hexdigest()[:12]
    return HOME / f"{name.replace(' ', '-')}-{wanted}"


def _wanted(name: str) -> list[str]:
    """What is installed; what torch brings along is held by constraints.txt."""
    texts = [(ROOT / file).read_text() for file in ("requirements.txt", "requirements-dev.txt")]
    needed = BESIDE_TORCH if name == TORCH else NEEDED
    found = [pin for pin in pins.read(texts) if pins.name(pin) in needed]
    return [*found, _build(), "-c", str(ROOT / "constraints.txt")] if name == TORCH else found


def _runs(name: str, version: str) -> bool:
    show = "import ensurepip, sys; print('{}.{}'.format(*sys.version_info))"
    try:
        done = subprocess.run([name, "-c", show], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.stdout.strip() == version  # a shim of pyenv may start and still be no Python


def pythons() -> bool:
    """The other Pythons, as far as they are at hand; whether each could be prepared."""
    for version in VERSIONS:
        python = at_hand(version)
        if python is None:
            print(f"Python {version} is not at hand; its tests are skipped and counted", flush=True)
        elif interpreter(version) is None:
            try:
                make(python, version)
            except progress.CommandFailed as failed:
                print(*failed.tail, f"Python {version} could not be prepared: {failed}", sep="\n", file=sys.stderr)
                return False
    return True


def oldest_torch(index: str) -> None:
    """The oldest torch that is promised. Where its wheel is not to be had, that is said, and is no failure."""
    if interpreter(TORCH) is None:
        try:
            make(sys.executable, TORCH, index)
        except progress.CommandFailed as failed:
            why = next((line for line in failed.tail if line.startswith("ERROR")), failed)
            print(why, f"{TORCH} could not be installed; its tests are skipped and counted", sep="\n", flush=True)


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(prog="python -m tools.others", description=__doc__.partition("\n")[0])
    ask.add_argument("--torch-index", required=True, help="where torch publishes its wheels, one folder a build")
    oldest_torch(ask.parse_args(argv).torch_index)
    return 0 if pythons() else 1


if __name__ == "__main__":
    sys.exit(main())
