"""One call's turn on the ranks: what is shared by who runs it, who watches it and who ends it. Chapter: ranks."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Iterator

from helpers.meanwhile import LINE, Silence

from .status import Status


class Stopped(RuntimeError):
    """The call was ended on request, by `Pending.stop()` or by closing the ranks. No failure of a rank, so no RankError."""

    def _render_traceback_(self) -> list[str]:
        return [f"Stopped: {self}"]


class Turn:
    """A call from the moment it has the ranks to the moment it gives them back; any thread may stop it."""

    def __init__(self, watched: bool = False):
        self.began = time.monotonic()
        self.watched = watched  # somebody will ask how it ended
        self.last: Status | None = None  # what every rank did at the end
        self._thread = threading.get_ident()
        self._over = threading.Event()
        self._why = ""
        self._waiter: contextvars.Context | None = None
        self._waits = threading.Lock()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def adopt(self) -> None:
        """From here on the turn is this thread's."""
        self._thread = threading.get_ident()

    def stop(self, why: str) -> None:
        """Whoever runs the call hears of it at its next `check`. Stopping twice is fine."""
        self._why = self._why or why

    def check(self) -> None:
        """Raises Stopped when somebody has asked for it."""
        if self._why:
            raise Stopped(f"{self._why} after {self.seconds:.1f} s")

    @contextlib.contextmanager
    def awaited(self) -> Iterator[None]:
        """While this lasts somebody waits for a call in the background, and its line is shown below their cell."""
        with self._waits:
            self._waiter = contextvars.copy_context()
        try:
            yield
        finally:
            with self._waits:
                self._waiter = None
                LINE.erase()

    def show(self, silence: Silence, say: Callable[[str], str]) -> None:
        """The line of the call, to who waits for it; to nobody while it is in the background."""
        if not self.watched:
            silence.tick(say)
        elif self._waiter is not None:
            with self._waits:
                if self._waiter is not None:
                    self._waiter.run(silence.tick, say)

    def end(self) -> None:
        self._over.set()

    def wait(self, seconds: float) -> bool:
        """Until the turn is over, or `seconds` have passed; not when this very thread is the one that must end it."""
        return threading.get_ident() != self._thread and self._over.wait(seconds)
