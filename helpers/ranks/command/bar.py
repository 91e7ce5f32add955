"""How far a bench is: one line on stderr, on a terminal and nowhere else. Chapter: benchmarking."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator
from typing import TextIO

WIDTH = 24  # cells of the bar
CLEAR = "\r\x1b[K"


class Bar:
    """Call it with what is done, of how much, and what comes now; `clear` before anything else is printed."""

    def __init__(self, out: TextIO):
        self.out, self.shown = out, False

    def __call__(self, done: int, of: int, what: str) -> None:
        if not self.out.isatty():
            return
        filled = WIDTH * done // of if of else WIDTH
        line = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done} of {of} {what}"
        self.out.write(CLEAR + line[: shutil.get_terminal_size().columns - 1])
        self.out.flush()
        self.shown = True

    def clear(self) -> None:
        """Take the line away, so that a row can stand in its place."""
        if self.shown:
            self.out.write(CLEAR)
            self.out.flush()
            self.shown = False


@contextlib.contextmanager
def bar(wanted: bool = True) -> Iterator[Bar | None]:
    """A bar on stderr, gone at the end, whatever happens; None where none is wanted, as on ranks other than 0."""
    one = Bar(sys.stderr)
    try:
        yield one if wanted else None
    finally:
        one.clear()
