"""The line itself: where it can stand, how it is drawn there, and how nothing of it is left. Chapter: ranks."""

from __future__ import annotations

import contextlib
import contextvars
import os
import select
import shutil
import sys
import threading
import time
from typing import Any

AFTER = 3.0  # seconds of a call before its first line
EVERY = 1.0  # seconds between two lines
SOON = 0.1  # seconds until the next of several calls shows the line again
LONGEST = 110  # characters of a line below a cell


class Line:
    """The line of this process. From any thread; what cannot be shown is left out, and never an error."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """It is another process's: a fork has a line of its own."""
        self._lock = threading.RLock()
        self._place: Terminal | Cell | None = None  # where it stands
        self._drawn = self.next = 0.0  # the last time, and not again before

    def show(self, text: str) -> None:
        """Draw the line, in the place of what it said before."""
        with self._lock, contextlib.suppress(Exception):
            self._drawn = time.monotonic()
            self.next = self._drawn + EVERY
            self._place = self._place or where()
            if self._place:
                self._place.draw(text)

    def make_way(self) -> None:
        """Somebody else prints now: what goes on like this is no silence."""
        self.erase()
        self.next = time.monotonic() + EVERY

    def erase(self) -> None:
        """Nothing of it is left, in whichever thread or cell it was drawn."""
        self.next = self._drawn + SOON
        if self._place:
            with self._lock, contextlib.suppress(Exception):
                place, self._place = self._place, None
                place.erase()


LINE = Line()
os.register_at_fork(after_in_child=LINE.forget)


class Terminal:
    """stderr. The cursor stays where it is, so that whatever else is printed begins where it would have begun."""

    def __init__(self) -> None:
        self._out = sys.stderr

    def draw(self, text: str) -> None:
        if select.select([], [self._out], [], 0)[1]:  # it takes what is written now
            cut = text[: shutil.get_terminal_size().columns - 1]
            self._write(f"\x1b7\x1b[?7l{cut}\x1b[K\x1b[?7h\x1b8")

    def erase(self) -> None:
        self._write("\x1b[K")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class Cell:
    """A notebook's cell: the line is a part of its output, and as many "\b" take it away. What was surely alone there goes as a whole."""

    begun = -1  # messages that the kernel had sent when the cell began
    number = 0  # of the cell

    def __init__(self, shell: Any):
        self._out, self._shell, self._context = sys.stdout, shell, contextvars.copy_context()
        self._length, self._alone = 0, Cell.begun

    def draw(self, text: str) -> None:
        self._context.run(self._draw, text[:LONGEST])

    def erase(self) -> None:
        self._context.run(self._erase)

    def _draw(self, text: str) -> None:
        alone = self._sent() == self._alone
        self._wipe(text)
        self._alone = self._sent() if alone else -1

    def _erase(self) -> None:
        if self._sent() == self._alone:
            self._shell.display_pub.clear_output()
            Cell.begun = self._sent()
        else:
            self._wipe()

    def _wipe(self, text: str = "") -> None:
        """ "\b" deletes in a notebook; elsewhere it only moves the cursor."""
        self._out.write("\b" * self._length + " " * self._length + "\b" * self._length + text)
        self._length = len(text)

    def _sent(self) -> int:
        """How many messages the kernel has sent, what was printed so far among them."""
        sys.stderr.flush()
        self._out.flush()
        return int(self._shell.kernel.session.message_count)


def where() -> Terminal | Cell | None:
    """stderr, if it is a terminal, of launched ranks the first one's; or the cell that runs, if its front end could ask a reader
    something: a program that runs notebooks has none.
    """
    if sys.stderr and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return Terminal() if os.environ.get("RANK", "0") == "0" else None
    kernel = getattr(shell := _shell(), "kernel", None)
    if kernel is None or type(sys.stdout).__module__ != "ipykernel.iostream":
        return None
    return Cell(shell) if kernel.get_parent()["content"].get("allow_stdin") else None


def watched() -> bool:
    """Could a line be seen?"""
    with contextlib.suppress(Exception):
        return where() is not None
    return False


def attend() -> None:
    """In a notebook: know when a cell begins. A line that was all of a cell's output is then taken away whole."""
    if Cell.begun >= 0:
        return
    kernel = getattr(shell := _shell(), "kernel", None)
    if hasattr(getattr(kernel, "session", None), "message_count"):
        Cell.begun = 0
        shell.events.register("pre_run_cell", _cell_begins)


def _cell_begins(_: object) -> None:
    Cell.begun, Cell.number = _shell().kernel.session.message_count, Cell.number + 1


def _shell() -> Any:
    """IPython's, where it has been started: nothing is imported for it."""
    found = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return found() if found else None
