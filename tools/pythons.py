"""Finds a Python that the course runs on. Parses on every Python from 3.8, so that an old one can say what is missing."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass

SUPPORTED = ((3, 11), (3, 12), (3, 13))
NAMES = ("python3.11", "python3.12", "python3.13", "python3", "python")  # 3.11 first: CI proves that one

PROBE = """
import importlib.util as u, json, sys
from importlib import metadata as m
spec = u.find_spec("torch")
print(json.dumps({
    "version": list(sys.version_info[:3]),
    "executable": sys.executable,
    "venv": bool(u.find_spec("venv") and u.find_spec("ensurepip")),
    "torch": m.version("torch") if spec else None,
    "site": spec.submodule_search_locations[0].rpartition("torch")[0] if spec else None,
}))
"""


class NoPython(Exception):
    """No usable Python; the message is one line that says what to install."""


@dataclass(frozen=True)
class Python:
    """One interpreter: its path, version, whether it makes virtual environments, and the torch it already has."""

    executable: str
    version: tuple[int, ...]
    venv: bool
    torch: str | None
    site: str | None  # the folder that torch stands in

    @property
    def release(self) -> str:
        return ".".join(map(str, self.version[:2]))

    @property
    def supported(self) -> bool:
        return self.version[:2] in SUPPORTED


def probe(name: str) -> Python | None:
    """What the interpreter says of itself; None when it is missing, does not run or is too old to answer."""
    path = shutil.which(name)
    if path is None:
        return None
    done = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    said = json.loads(done.stdout.splitlines()[-1])
    return Python(said["executable"], tuple(said["version"]), said["venv"], said["torch"], said["site"])


def find(asked: str = "", with_torch: bool = False) -> Python:
    """The Python to use: the one `asked` for, else the first fit on PATH (`with_torch`: one that has torch first).

    Raises NoPython.
    """
    found = [python for python in map(probe, [asked] if asked else NAMES) if python]
    fit = [python for python in found if python.supported]
    ready = [python for python in fit if python.venv]
    if with_torch:
        ready.sort(key=lambda python: python.torch is None)
    if ready:
        return ready[0]
    if fit:
        name = f"python{fit[0].release}"
        raise NoPython(f"{name} cannot make virtual environments. On Debian or Ubuntu: apt-get install {name}-venv")
    seen = ", ".join(sorted({python.release for python in found})) or "none"
    raise NoPython(
        f"Python 3.11, 3.12 or 3.13 is missing ({asked or 'on PATH'}: {seen}). On Debian 12: apt-get install "
        "python3 python3-venv; elsewhere install one and name it with PYTHON=/path/to/python3.11"
    )
