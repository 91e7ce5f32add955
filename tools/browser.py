"""Finds the Chromium that the browser tests drive; as root on Debian or Ubuntu installs the distribution's package.

`python -m tools.browser` prints its path. The tests read it through `find`, which installs nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tools import progress

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
REMEDY = "On Debian: apt-get install chromium; elsewhere install Chromium or Chrome, or name it with CHROMIUM=/path."


class NoBrowser(Exception):
    """No Chromium here; the message is one line that says what to install."""


def find() -> str:
    """Path of the browser: $CHROMIUM when set, else the first known name on PATH. Raises NoBrowser."""
    asked = os.environ.get("CHROMIUM", "")
    for name in [asked] if asked else [*NAMES, MAC]:
        path = shutil.which(name)
        if path:
            return path
    raise NoBrowser(f"The browser tests need Chromium, and {asked or 'none'} was found. {REMEDY}")


def install() -> None:
    """Installs the distribution's package where that is allowed without asking anyone. Raises NoBrowser."""
    apt = shutil.which("apt-get")
    if not apt or os.geteuid() != 0 or not Path("/etc/debian_version").exists():
        raise NoBrowser(f"The browser tests need Chromium, and none was found. {REMEDY}")
    progress.run("apt-get update", [apt, "update"])
    progress.run("chromium", ["env", "DEBIAN_FRONTEND=noninteractive", apt, "install", "--yes", "chromium"])


def main() -> int:
    try:
        try:
            path = find()
        except NoBrowser:
            install()
            path = find()
    except NoBrowser as missing:
        print(missing, file=sys.stderr)
        return 1
    except progress.CommandFailed as failed:
        print(*failed.tail, f"Chromium could not be installed: {failed}. {REMEDY}", sep="\n", file=sys.stderr)
        return 1
    print(f"Chromium: {path}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
