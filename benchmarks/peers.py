"""The other launchers, in a virtual environment of their own that is gone afterwards. They are no dependencies of the course."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .launchers import PEERS, Launcher
from .notebook import ROOT

INSTALL_LIMIT = 600.0  # seconds


@contextmanager
def environment() -> Iterator[tuple[str, list[Launcher], dict[str, str]]]:
    """A Python with torch and everything else that is installed here, and with the peers: (python, who is there, why not)."""
    with tempfile.TemporaryDirectory(prefix="other-launchers-") as folder:
        print("a virtual environment for the other launchers ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder, "bin", "python")
        _see_what_is_here(Path(folder))
        there, missing = [], {}
        for peer in PEERS:
            trouble = _install(python, peer.requirement) if peer.requirement else ""
            if trouble:
                missing[peer.name] = f"{peer.requirement} cannot be installed: {trouble}"
            else:
                there.append(peer)
        yield str(python), there, missing


def _see_what_is_here(folder: Path) -> None:
    """Packages of this environment are found in that one too, after its own: torch is not fetched again."""
    paths = {"base": str(folder), "platbase": str(folder)}
    own = Path(sysconfig.get_path("purelib", "venv", paths))
    here = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    lines = [f"import site; site.addsitedir({path!r})" for path in sorted(here)]
    (own / "outer.pth").write_text("\n".join(lines) + "\n")


def _install(python: Path, requirement: str) -> str:
    """ "" when it is installed, else the last line of pip's error."""
    print(f"installing {requirement} ...", flush=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt"]
    try:
        done = subprocess.run([*pip, requirement], capture_output=True, text=True, timeout=INSTALL_LIMIT)
    except subprocess.TimeoutExpired:
        return f"pip had not ended after {INSTALL_LIMIT:.0f} s"
    said = done.stderr.strip().splitlines() or ["pip did not say why"]
    return said[-1] if done.returncode else ""


def importable() -> tuple[list[Launcher], dict[str, str]]:
    """Who is installed here already, in the version that is timed; and why the others are left out."""
    there, missing = [], {}
    for peer in PEERS:
        name, _, wanted = peer.requirement.partition("==")
        try:
            found = version(name) if name else wanted
        except PackageNotFoundError:
            found = "not"
        if found == wanted:
            there.append(peer)
        else:
            missing[peer.name] = f"{found} installed: --with-peers times {peer.requirement}"
    return there, missing
