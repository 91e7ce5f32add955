"""The command that installs what is missing, as this distribution and this user have to type it. Standard library only."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

TABLE = Path(__file__).with_name("packages.txt")


def next_step(command: str) -> str:
    """The end of a message: what to type now. The command stands alone in its line, to be copied."""
    whole = command if os.geteuid() == 0 else f"sudo sh -c '{command}'"
    return f"Type this, then the same make command again:\n    {whole}"


def python() -> str:
    """What brings a fitting Python with venv here, "" where that is not known: another distribution, a Mac."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return dict(line.split(" ", 1) for line in lines).get(codename(), "")


def venv(release: str) -> str:
    """What brings the venv module of the Python of that release, "" where there is no apt-get."""
    return f"apt-get update && apt-get install -y python{release}-venv" if shutil.which("apt-get") else ""


def codename() -> str:
    """ "jammy"; of what descends from Ubuntu, Ubuntu's. OS_RELEASE names another file than /etc/os-release."""
    try:
        lines = Path(os.environ.get("OS_RELEASE", "/etc/os-release")).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    said = dict(line.split("=", 1) for line in lines if "=" in line)
    return "".join(shlex.split(said.get("UBUNTU_CODENAME") or said.get("VERSION_CODENAME") or ""))
