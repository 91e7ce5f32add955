"""`all_reduce_perf ... | python -m helpers.yours`: the verdict on what a command prints, or on files; status 1 if something is accused.

Several files are one rank's each, or texts that follow each other. Status 0: read, and nothing is accused; 2: not read, or asked wrongly.
The file bim.pyz of the site is this command with all that it needs: `python3 bim.pyz`, from Python 3.10 on. Chapter: yours.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from helpers.facts import MACHINES
from helpers.plain_gzip import GzipError
from helpers.version import VERSION
from helpers.yours.asked import is_my_number_good
from helpers.yours.page import together, told_on, unfolded_all
from helpers.yours.verdict import refusal

MOST = 256 << 20  # bytes that packed files unfold into


def given(names: list[str]) -> Any:
    """What the files hold, or standard input where none is named. OSError for a file that cannot be read, GzipError for a damaged one."""
    contents = [Path(name).read_bytes() for name in names] or [sys.stdin.buffer.read()]
    called = names or ["standard input"]
    return together(unfolded_all(contents, called, MOST), called)[0]


def main(argv: list[str]) -> int:
    """0 where nothing is accused, 1 where something is, 2 where the text was not read."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.yours",
        description=(__doc__ or "").partition("\n")[0],
        epilog=f"version {VERSION}; machines: {', '.join(MACHINES)}",
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="what a command has printed or torch has written; else standard input"
    )
    parser.add_argument(
        "--machine", choices=MACHINES, metavar="NAME", help="on which machine, where the text does not say"
    )
    parser.add_argument(
        "--share",
        action="store_true",
        help="the verdict as Markdown to paste into an issue, without names of hosts, people and places",
    )
    parser.add_argument("--json", action="store_true", help="the verdict as plain data")
    told = parser.parse_args(argv)
    if not told.files and sys.stdin.isatty():
        parser.error("nothing to judge: name a FILE, or pipe a command's output into it")
    try:
        thing = given(told.files)
        found = is_my_number_good(thing, told.machine)
    except GzipError as error:
        thing, found = "", refusal(str(error))
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}")
    if told.share and not found.refused:
        print(told_on(thing, told.machine), end="")
    else:
        print(json.dumps(found.as_json(), indent=1) if told.json else found)
    return 2 if found.refused else 1 if found.accused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
