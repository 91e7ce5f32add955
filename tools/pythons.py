"""Finds a Python that the course runs on. Parses on every Python from 3.8, so that an old one can say what is missing."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass

from tools import distribution

SUPPORTED = ((3, 11), (3, 12), (3, 13))
NAMES = ("python3.11", "python3.12", "python3.13", "python3", "python")  # 3.11 first: CI proves that one

PROBE = """
import importlib.util as u, json, sys
from importlib import metadata as m
spec = u.find_spec("torch")
print(json.dumps({
    "version": list(sys.version_info[:3]),
    "candidate": "" if sys.version_info[3] == "final" else sys.version.split()[0],
    "executable": sys.executable,
    "venv": bool(u.find_spec("venv") and u.find_spec("ensurepip")),
    "torch": m.version("torch") if spec else None,
    "site": spec.submodule_search_locations[0].rpartition("torch")[0] if spec else None,
}))
"""


class NoPython(Exception):
    """No usable Python; the message ends with what to type."""


@dataclass(frozen=True)
class Python:
    """One interpreter: its path, version, whether it makes virtual environments, and the torch it already has."""

    executable: str
    version: tuple[int, ...]
    venv: bool
    torch: str | None
    site: str | None  # the folder that torch stands in
    candidate: str = ""  # "3.11.0rc1" of a Python that is no finished release, as Ubuntu 22.04 has one

    @property
    def release(self) -> str:
        return ".".join(map(str, self.version[:2]))

    @property
    def supported(self) -> bool:
        return self.version[:2] in SUPPORTED and not self.candidate


def probe(name: str) -> Python | None:
    """What the interpreter says of itself; None when it is missing, does not run or is too old to answer."""
    path = shutil.which(name)
    if path is None:
        return None
    done = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    said = json.loads(done.stdout.splitlines()[-1])
    return Python(**{**said, "version": tuple(said["version"])})


def find(asked: str = "", with_torch: bool = False) -> Python:
    """The Python to use: the one `asked` for, else the first fit on PATH (`with_torch`: one that has torch first).

    Raises NoPython.
    """
    found = [python for python in map(probe, [asked] if asked else NAMES) if python]
    with_theirs = [python for python in found if python.torch] if with_torch else []
    ready = [python for python in with_theirs or found if python.supported and python.venv]
    if ready:
        return ready[0]
    raise NoPython(_lacking(with_theirs or found, asked, bool(with_theirs)))


def _lacking(found: list[Python], asked: str, keeps: bool) -> str:
    """Why none of these serves, and what to type. keeps: they are those with a torch, which TORCH=keep asks for."""
    if asked and not found:
        return f"PYTHON={asked} is not here, or does not run. Name another, or leave PYTHON out"
    if fit := [python for python in found if python.supported]:
        name = f"python{fit[0].release}"
        brings = distribution.venv(fit[0].release)
        return f"{name} cannot make virtual environments. " + (
            distribution.next_step(brings)
            if brings
            else "Install its venv module, or name another with PYTHON=/path/to/it"
        )
    seen = ", ".join(sorted({python.candidate or python.release for python in found})) or "none"
    if keeps:
        theirs = f"the torch {found[0].torch} that is here is one of Python {seen}"
        return f"TORCH=keep, but {theirs}; the course needs 3.11, 3.12 or 3.13. Drop TORCH, and make installs its own"
    missing = f"Python 3.11, 3.12 or 3.13 is missing ({asked or 'on PATH'}: {seen}). "
    if brings := distribution.python():
        return missing + distribution.next_step(brings)
    return missing + "Install one, and name it with PYTHON=/path/to/python3.11"
