"""Finds the browsers that tests drive; as root on Debian or Ubuntu installs the distribution's packages.

`python -m tools.browser` prints Chromium's path, and with `--firefox` Firefox's, too. The tests read them through `find`, which installs
nothing. They need Chromium; what Firefox would test is skipped and counted where it cannot be had.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

from tools import progress

# Without windows Chromium would round the widths of letters to pixels, and lines would break elsewhere than a reader's do.
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--font-render-hinting=none"]


class Kind(NamedTuple):
    """A browser. variable: of the environment, which names another one; names: on PATH; mac: there.

    packages: Debian's, in the order in which they are tried. Chromium without windows opens a page for three quarters of the time.

    as_snap: whether Ubuntu's snap of it will do. Firefox's cannot read the profile that a test writes for it into the folder for
    temporary files, as a snap has one of its own.
    """

    title: str
    variable: str
    names: tuple[str, ...]
    mac: str
    packages: tuple[str, ...]
    or_else: str
    as_snap: bool

    @property
    def remedy(self) -> str:
        return f"On Debian: apt-get install {self.packages[-1]}; elsewhere install {self.or_else}, or name it with {self.variable}=/path."


CHROMIUM = Kind(
    "Chromium",
    "CHROMIUM",
    ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    ("chromium-headless-shell", "chromium"),
    "Chromium or Chrome",
    as_snap=True,
)
FIREFOX = Kind(
    "Firefox",
    "FIREFOX",
    ("firefox-esr", "firefox"),
    "/Applications/Firefox.app/Contents/MacOS/firefox",
    ("firefox-esr",),
    "Firefox, not as a snap",
    as_snap=False,
)


class NoBrowser(Exception):
    """The browser is not here; the message is one line that says what to install."""


def find(kind: Kind = CHROMIUM) -> str:
    """Path of the browser: its variable when set, else the first known name on PATH. Raises NoBrowser."""
    asked = os.environ.get(kind.variable, "")
    for name in [asked] if asked else [*kind.names, kind.mac]:
        path = shutil.which(name)
        if path and (asked or kind.as_snap or not is_snap(Path(path))):
            return path
    raise NoBrowser(f"The browser tests need {kind.title}, and {asked or 'none'} was found. {kind.remedy}")


def is_snap(program: Path) -> bool:
    """Whether it is one, or the script that Ubuntu's package puts before it."""
    with program.open("rb") as file:
        return program.resolve().name == "snap" or b"/snap/bin/" in file.read(4096)


def install(kind: Kind = CHROMIUM) -> None:
    """Installs the distribution's package where that is allowed without asking anyone. Raises NoBrowser."""
    apt = shutil.which("apt-get")
    if not apt or os.geteuid() != 0 or not Path("/etc/debian_version").exists():
        raise NoBrowser(f"The browser tests need {kind.title}, and none was found. {kind.remedy}")
    progress.run("apt-get update", [apt, "update"])
    *lean, usual = kind.packages
    for package in lean:
        with contextlib.suppress(progress.CommandFailed):  # an older Debian does not have it
            return _apt_install(apt, package)
    return _apt_install(apt, usual)


def _apt_install(apt: str, package: str) -> None:
    progress.run(package, ["env", "DEBIAN_FRONTEND=noninteractive", apt, "install", "--yes", package])


def brought(kind: Kind) -> bool:
    """Whether the browser is here now, installed if need be; says where, or in a few lines why not."""
    try:
        try:
            path = find(kind)
        except NoBrowser:
            install(kind)
            path = find(kind)
    except NoBrowser as missing:
        print(missing, file=sys.stderr)
        return False
    except progress.CommandFailed as failed:
        print(*failed.tail, f"{kind.title} could not be installed: {failed}. {kind.remedy}", sep="\n", file=sys.stderr)
        return False
    print(f"{kind.title}: {path}", flush=True)
    return True


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.browser", description=__doc__.partition("\n")[0])
    parser.add_argument("--firefox", action="store_true", help="Firefox, too")
    asked = parser.parse_args(argv)
    here = brought(CHROMIUM)
    if asked.firefox:
        brought(FIREFOX)
    return int(not here)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
