"""A place where a broken program may do its worst: its own processes, its own /tmp, and everything else read-only.

A mutated `kill` run as root can reach every process of a machine, a mutated clean-up every file. Here both reach nothing, and one
SIGKILL ends all that was started.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

# What the tested Python imports: our pytest plugin, and what notes functions
INSIDE = Path(__file__).resolve().parent / "inside"

# $1 the tree, $2 the folder for answers, $3 INSIDE, $4 and $5 a file of the tree and what stands in its place, or "" twice.
# The shell stays process 1 of the namespace: it buries orphans, and signals reach a test as they would outside.
SETUP = """
T=$1 O=$2 I=$3 FILE=$4 BY=$5; shift 5
mount -t tmpfs none /mnt; mkdir /mnt/t /mnt/o /mnt/i; mount --bind "$T" /mnt/t; mount --bind "$O" /mnt/o; mount --bind "$I" /mnt/i
if [ -n "$FILE" ]; then mount --bind "$BY" "/mnt/t/$FILE"; fi
mount -t tmpfs none /tmp; mount -t tmpfs none /dev/shm
mkdir -p "$T" "$O" /tmp/home /tmp/inside
mount --rbind /mnt/t "$T"; mount --bind /mnt/o "$O"; mount --bind /mnt/i /tmp/inside
mount -o remount,ro,bind /; mount -o remount,ro,bind "$T"
cd "$T"
HOME=/tmp/home HYPOTHESIS_STORAGE_DIRECTORY=/tmp/hypothesis PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/tmp/inside "$@"
exit $?
"""
# pytest without the plugins that happen to be installed: loading them takes ten times as long as pytest itself.
PYTEST = [
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "judging",
    "-p",
    "_hypothesis_pytestplugin",
    "--hypothesis-seed=0",
    "-m",
    "matrix or not matrix",
]
BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
UNSHARE = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child"]


def trouble() -> str:
    """Why no sandbox can be had here, or ""."""
    if sys.platform != "linux" or not shutil.which("unshare"):
        return "this needs Linux with unshare (util-linux)"
    if os.geteuid():
        return "this needs root, for a namespace of processes and a read-only view of the disk"
    tried = subprocess.run(
        [*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True, check=False
    )
    return f"no namespace can be had here: {tried.stderr.strip()}" if tried.returncode else ""


def start(
    tree: Path, out: Path, command: list[str], file: str = "", by: Path | str = "", **env: str
) -> subprocess.Popen:
    """Start a command in the tree, where `file` (a path in the tree) reads as the file `by`. Its answers go to `out`."""
    with (out / "output.txt").open("w") as output:
        return subprocess.Popen(
            [*UNSHARE, "sh", "-ec", SETUP, "sh", str(tree), str(out), str(INSIDE), file, str(by), *command],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **BARE, **env},
        )


def stop(process: subprocess.Popen) -> None:
    """End it and all it started: the namespace dies with its first process."""
    process.kill()
    process.wait()
