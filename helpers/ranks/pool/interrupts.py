"""Where an interrupt (Ctrl-C, a notebook's stop button) may land: in a wait, never between a step and what undoes it. Chapter: hangs.

Python raises KeyboardInterrupt between any two instructions of the main thread, and so does whatever else a handler of the reader's
raises, as on an alarm. Half a launch would be left behind, a lock for ever, or a call that two ranks of four have got. So while a `Hold`
is entered a signal is remembered, and its handler runs where the code says `with hold.open():`. What waits in the middle of such a
step, where nobody could undo it, is done `Apart`: then only the wait for it is interrupted.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from helpers.meanwhile import Silence, line

SIGNALS = tuple(signal.valid_signals())


class Hold:
    """`with Hold() as hold:` postpones Python's signal handlers to its end, or to the next `hold.open()`.

    Elsewhere than in the main thread it does nothing.
    """

    def __init__(self):
        self._is_open = self._active = False
        self._came: list[int] = []  # each signal once, as the system keeps them
        self._before: dict[int, Callable] = {}

    def __enter__(self) -> Hold:
        self._handler = self._arrived  # one object, so that it is known again
        if threading.current_thread() is threading.main_thread():
            for signum in SIGNALS:
                if callable(handler := signal.getsignal(signum)):
                    self._before[signum] = handler
                    signal.signal(signum, self._handler)
            self._active = True
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._active = False
        for signum, handler in self._before.items():
            if signal.getsignal(signum) == self._handler:  # else the reader's own code has set another
                signal.signal(signum, handler)
        if kind and issubclass(kind, KeyboardInterrupt) and signal.SIGINT in self._came:
            self._came.remove(signal.SIGINT)
        self._land()

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """A wait, or code of the reader's: here a signal lands at once; so does one that came before."""
        if not self._active:
            yield
            return
        self._land()
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False

    def _arrived(self, signum: int, frame: FrameType | None) -> None:
        if not self._active:  # on the way in or out
            self._before[signum](signum, frame)
        elif self._is_open:
            # Shut by the handler's own exception: what cleans up after it is not interrupted again
            self._is_open = False
            self._before[signum](signum, frame)
            self._is_open = True  # it raised nothing
        elif signum not in self._came:
            self._came.append(signum)

    def _land(self) -> None:
        while self._came:
            signum = self._came.pop(0)
            self._before[signum](signum, None)


class Apart:
    """A step that a thread of its own does: no interrupt can cut it in two, and it goes on when nobody waits for it any more."""

    def __init__(self, step: Callable[[], None], name: str):
        self._step = step
        self._error: BaseException | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def run(self, hold: Hold, say: Callable[[str], str]) -> None:
        """Begin, and wait until the step is over; an interrupt may land here. Raises what the step raised. say: what it does."""
        try:
            self._thread.start()
        except BaseException:  # no thread can be had
            self._over.set()
            raise
        with Silence() as silence:
            while not self._over.is_set():
                silence.tick(say)
                with hold.open():
                    self._over.wait(min(line.AFTER, line.EVERY))
        self._thread.join()  # it has nothing left to do
        error, self._error = self._error, None
        try:
            if error:
                raise error
        finally:
            del error  # else it and this frame would keep each other, and the ends of pipes

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
