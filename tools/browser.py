"""Finds the Chromium that the browser tests drive; as root on Debian or Ubuntu installs the distribution's package.

`python -m tools.browser` prints its path. The tests read it through `find`, which installs nothing.
The headless shell comes first: the same engine without a browser's window around it. A page's test costs a third less CPU with it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import progress

SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
PACKAGES = ("chromium-headless-shell", "chromium")  # Ubuntu has the second alone
# With hinting the shell's letters would be wider than the browser's, and lines would break elsewhere.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--font-render-hinting=none"]
REMEDY = "On Debian: apt-get install chromium; elsewhere install Chromium or Chrome, or name it with CHROMIUM=/path."


class NoBrowser(Exception):
    """No Chromium here; the message is one line that says what to install."""


def find(names: Sequence[str] = (*SHELLS, *BROWSERS, MAC)) -> str:
    """Path of the browser: $CHROMIUM when set, else the first of `names` on PATH. Raises NoBrowser."""
    asked = os.environ.get("CHROMIUM", "")
    for name in [asked] if asked else names:
        path = shutil.which(name)
        if path:
            return path
    raise NoBrowser(f"The browser tests need Chromium, and {asked or 'none'} was found. {REMEDY}")


def install() -> None:
    """Installs the distribution's package where that is allowed without asking anyone. Raises NoBrowser, CommandFailed."""
    apt = shutil.which("apt-get")
    if not apt or os.geteuid() != 0 or not Path("/etc/debian_version").exists():
        raise NoBrowser(f"The browser tests need Chromium, and none was found. {REMEDY}")
    progress.run("apt-get update", [apt, "update"])
    for package in PACKAGES:
        try:
            progress.run(package, ["env", "DEBIAN_FRONTEND=noninteractive", apt, "install", "--yes", package])
            return
        except progress.CommandFailed:
            if package == PACKAGES[-1]:
                raise


def found_or_installed() -> str:
    """Path of the headless shell, installed where it can be, else of the browser that is here. Raises NoBrowser, CommandFailed."""
    try:
        return find(SHELLS)
    except NoBrowser:
        if os.environ.get("CHROMIUM"):
            raise
    try:
        install()
    except NoBrowser:
        return find()
    except progress.CommandFailed as failed:
        return found_after(failed)
    return find()


def found_after(failed: progress.CommandFailed) -> str:
    """The browser that is here although an installation failed, as it does without a network. Raises `failed`."""
    try:
        return find()
    except NoBrowser:
        raise failed from None


def main() -> int:
    try:
        path = found_or_installed()
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
