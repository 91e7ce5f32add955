"""A call that runs while the notebook goes on: look at it, wait for it, or stop it. Chapter: ranks."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import html
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, InvalidStateError
from typing import Any

from .interrupts import Hold
from .status import Status
from .turn import Stopped, Turn

STOP_LIMIT = 5.0  # seconds that `stop` waits for the call's thread; the ranks themselves end at once


class Pending:
    """What `Ranks.run_async` returns. The call runs in a thread of its own: there its output is printed and its callback called.

    It keeps its ranks alive until it is over, also when nobody else does.
    """

    def __init__(
        self, label: str, turn: Turn, serve: Callable[[], list], stop: Callable[[], None], status: Callable[[], Status]
    ):
        self._label, self._turn, self._stop, self._status = label, turn, stop, status
        self._over = threading.Event()
        self._told: Future[None] = Future()  # the same for who awaits it
        self._results: list[Any] = []
        self._error: BaseException | None = None
        context = contextvars.copy_context()  # by it a notebook shows the output below the cell that made the call
        self._thread = threading.Thread(target=context.run, args=(self._work, serve), name="ranks-call", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """The call is over, well or not, and the ranks take the next one."""
        return self._over.is_set()

    def result(self, timeout: float | None = None) -> list[Any]:
        """Wait for the results, in rank order. Raises what `Ranks.run` would have raised; Stopped after `stop()`.

        Raises TimeoutError when the call is not over after `timeout` seconds: it goes on. An interrupt here stops the call.
        """
        with Hold() as hold:
            try:
                with self._turn.awaited(), hold.open():
                    over = self._over.wait(timeout)
            except KeyboardInterrupt:
                self.stop()
                raise
        if not over:
            raise TimeoutError(f"the call is not over after {timeout:g} s: it goes on, ask again or stop() it")
        if self._error:
            raise self._error
        return self._results

    def __await__(self) -> Generator[Any, None, list[Any]]:
        """`await call` in a cell: the results as `result` gives them. Whoever cancels the wait stops the call."""
        try:
            with self._turn.awaited():
                yield from asyncio.wrap_future(self._told)
        except asyncio.CancelledError:
            self.stop()
            raise
        return self.result()

    def stop(self) -> None:
        """End the call and its ranks at once, whatever they do. Nothing happens when it is over. The next call starts new ranks."""
        if self.done:
            return
        with Hold():
            self._stop()
            if threading.current_thread() is not self._thread:  # a callback of the call may stop it
                self._over.wait(STOP_LIMIT)

    def status(self) -> Status:
        """What every rank is doing; once the call is over, what they did at its end."""
        return self._turn.last or self._status()

    def __repr__(self) -> str:
        """One line on the call, then a line a rank."""
        if not self.done:
            return f"a call under way\n{self.status()}"
        if isinstance(self._error, Stopped):
            return f"{self._label}: {self._error}"
        if self._error:
            return f"{self._label}: a call that failed: {type(self._error).__name__}: {self._error}"
        return f"{self._label}: a call that is done, {len(self._results)} results"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def _work(self, serve: Callable[[], list]) -> None:
        try:
            self._results = serve()
        except BaseException as error:  # for `result` to raise
            self._error = error
        finally:
            self._over.set()
            with contextlib.suppress(InvalidStateError):  # nobody awaits it any more
                self._told.set_result(None)
