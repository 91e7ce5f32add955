"""`make findings`: runs the scripts of findings/ one by one, in environments that it removes, and prints what has changed.

Outside CI: they install what they pin, from where pip and npm take it. findings/README.md says their form.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tools import progress

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "findings"


def versions(text: str) -> str:
    """Library and version, with which a script's first comment begins: "torch 2.13.0"."""
    return re.search(r"^# (\S+ [\d.]*\d)\b", text, re.M)[1]


def run(script: Path) -> tuple[str, float, Sequence[str]]:
    """("as stated" or "changed", seconds, the last lines of one that has changed)."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:  # also what a script that is interrupted leaves
        try:
            progress.run(script.stem, ["env", f"TMPDIR={folder}", str(script)])
        except progress.CommandFailed as failed:
            return "changed", time.monotonic() - start, failed.tail
    return "as stated", time.monotonic() - start, ()


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 where one has changed."""
    parser = argparse.ArgumentParser(prog="python -m tools.findings", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of findings/, without .sh; all where there is none")
    names = parser.parse_args(arguments).names or sorted(path.stem for path in FOLDER.glob("*.sh"))
    if unknown := [name for name in names if not os.access(FOLDER / f"{name}.sh", os.X_OK)]:
        parser.error(f"findings/ has no script {', '.join(unknown)}")
    changed = False
    for name in names:
        script = FOLDER / f"{name}.sh"
        said, seconds, tail = run(script)
        print(f"{name:<32} {versions(script.read_text()):<18} {seconds:6.0f} s  {said}", *tail, sep="\n  ", flush=True)
        changed |= said == "changed"
    return int(changed)


if __name__ == "__main__":
    sys.exit(main())
