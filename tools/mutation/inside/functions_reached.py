"""In every process of a test run: notes which functions of the tree run, and during which test. Standard library only.

Processes that a test starts inherit the two variables, so their functions count for that test, also when they are killed: a line is
written the moment a function first runs. The number of the running test stands in a file that all of them map.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from pathlib import Path

FOLDER = "BYTES_IN_MOTION_REACH"  # where the notes go; unset: nothing is noted
WATCHED = "BYTES_IN_MOTION_REACH_OF"  # absolute path of the folder whose functions count


def number_file(folder: str) -> memoryview:
    """The number of the running test, one unsigned integer that every process sees."""
    path = Path(folder) / "number"
    if not path.exists():
        path.write_bytes(bytes(4))
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 4)).cast("I")


def start() -> None:
    """Note functions from here on, in this thread, in later ones and in forked children."""
    folder, watched = os.environ[FOLDER], os.environ[WATCHED] + os.sep
    number, noted = number_file(folder), {}
    log = os.open(Path(folder) / "reached", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def note(frame, event, argument):
        code, now = frame.f_code, number[0]
        if noted.get(code) == now:
            return
        noted[code] = now
        if code.co_filename.startswith(watched):
            os.write(log, f"{now}\t{code.co_filename.removeprefix(watched)}\t{code.co_qualname}\n".encode())

    threading.settrace(note)
    sys.settrace(note)
