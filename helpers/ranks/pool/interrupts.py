"""Where an interrupt (Ctrl-C, a notebook's stop button) may land: in a wait, never between a step and what undoes it. Chapter: hangs.

Python raises KeyboardInterrupt between any two instructions of the main thread. Half a launch would be left behind, or a lock
for ever. So while a `Hold` is entered an interrupt is remembered, and lands where the code says `with hold.open():`. What
waits in the middle of such a step, where nobody could undo it, is done `Apart`: then only the wait for it is interrupted.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


class Hold:
    """`with Hold() as hold:` postpones interrupts to its end, or to the next `hold.open()`. Elsewhere than in the main thread, nothing."""

    def __init__(self):
        self._came = self._is_open = self._active = False

    def __enter__(self) -> Hold:
        self._handler = self._interrupted  # one object, so that it is known again
        self._before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(self._before):
            signal.signal(signal.SIGINT, self._handler)
            self._active = True
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._active:
            return
        if signal.getsignal(signal.SIGINT) == self._handler:  # else the reader's own code has set another
            signal.signal(signal.SIGINT, self._before)
        if self._came and not (kind and issubclass(kind, KeyboardInterrupt)):
            self._land()

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """A wait, or code of the reader's: here an interrupt lands at once; so does one that came before."""
        if not self._active:
            yield
            return
        if self._came:
            self._land()
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False

    def _interrupted(self, signum: int, frame: FrameType | None) -> None:
        if self._is_open:
            self._is_open = False  # shut by the interrupt itself: what cleans up after it is not interrupted again
            self._before(signum, frame)
        else:
            self._came = True

    def _land(self) -> None:
        self._came = False
        self._before(signal.SIGINT, None)


class Apart:
    """A step that a thread of its own does: no interrupt can cut it in two, and it goes on when nobody waits for it any more."""

    def __init__(self, step: Callable[[], None], name: str):
        self._step = step
        self._error: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def run(self, hold: Hold) -> None:
        """Begin, and wait until the step is over; an interrupt may land here. Raises what the step raised."""
        try:
            self._thread.start()
        except BaseException:  # no thread can be had
            self._over.set()
            raise
        with hold.open():
            self._over.wait()
        self._thread.join()  # it has nothing left to do
        error, self._error = self._error, None
        if error:
            raise error

    def over(self, seconds: float) -> bool:
        """Is it over, at the latest so many seconds from now? True in the step itself, which cannot wait for its own end."""
        return threading.current_thread() is self._thread or self._over.wait(seconds)

    def _run(self) -> None:
        try:
            self._step()
        except BaseException as error:  # for `run` to raise
            self._error = error
        finally:
            self._over.set()
