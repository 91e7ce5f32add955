"""Ranks that take turns: threads round one store, one operation at a time, so that a race is found every time. Chapter: ranks.

Between two operations on the store a rank runs alone. Nothing here depends on the clock: a rank that waits for a key gets no
turn until the key is there, and one that asks again and again is told from one that waits by counting.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time
from collections.abc import Callable, Iterable, Iterator

Answer = Callable[["Store", int, int], object]
SECONDS = 2.0  # that a rank may compute between two operations: a guard against an endless loop without any
_sleep = time.sleep


class DismissedError(BaseException):
    """The rehearsal is over: raised in ranks that still wait, so that no thread stays behind."""


class Store:
    """What one rank sees of the store that all share: set, get, add, wait and check, as torch.distributed.Store has them."""

    def __init__(self, data: dict[str, bytes], turn: Callable[[Iterable[str]], None]):
        self._data, self._turn = data, turn

    def set(self, key: str, value: str | bytes) -> None:
        """Keep value under key."""
        self._turn(())
        self._data[key] = value if isinstance(value, bytes) else value.encode()

    def get(self, key: str) -> bytes:
        """The value under key; waits until there is one."""
        self._turn((key,))
        return self._data[key]

    def add(self, key: str, amount: int) -> int:
        """Add amount to the number under key (0 at first), in one step, and return the sum."""
        self._turn(())
        total = int(self._data.get(key, b"0")) + amount
        self._data[key] = str(total).encode()
        return total

    def wait(self, keys: list[str]) -> None:
        """Return when all these keys are there."""
        if isinstance(keys, str):
            raise TypeError(f"wait takes a list of keys, got {keys!r}")
        self._turn(tuple(keys))

    def check(self, keys: list[str]) -> bool:
        """Are all these keys there?"""
        self._turn(())
        return all(key in self._data for key in keys)


class Rank(threading.Thread):
    """One rank that runs answer(store, rank, nranks) `rounds` times. entered, passed: how often so far. needs: keys it waits for."""

    def __init__(self, rank: int, nranks: int, answer: Answer, data: dict[str, bytes], rounds: int):
        super().__init__(name=f"rank-{rank}", daemon=True)
        self.rank, self.entered, self.passed = rank, 0, 0
        self.error: BaseException | None = None
        self.needs: tuple[str, ...] = ()
        self.dismissed = False
        self._data, self._rounds = data, rounds
        self._answer = lambda: answer(Store(data, self._take), rank, nranks)
        self._go, self._idle = threading.Semaphore(0), threading.Semaphore(0)

    def run(self) -> None:
        try:
            while self.passed < self._rounds:
                self._take(())
                self.entered += 1
                self._answer()
                self.passed += 1
        except BaseException as error:  # the reader's code may raise anything; it is shown, not hidden
            self.error = error
        finally:
            self._idle.release()

    def _take(self, needs: Iterable[str]) -> None:
        """In the rank: give up the turn, and go on when the next one comes."""
        self.needs = tuple(needs)
        if not self.dismissed:
            self._idle.release()
            self._go.acquire()
        if self.dismissed:
            raise DismissedError

    def begin(self) -> None:
        """Start the thread; returns when it waits for its first turn, before it has entered."""
        self.start()
        self._idle.acquire()

    def turn(self) -> None:
        """Let the rank do one operation and compute until the next; TimeoutError when it does not come back."""
        self._go.release()
        if not self._idle.acquire(timeout=SECONDS):
            raise TimeoutError(f"rank {self.rank} computes for {SECONDS:g} s and never comes back to the store")

    @property
    def ready(self) -> bool:
        """Not done, and every key it waits for is there."""
        return self.error is None and self.passed < self._rounds and not self.lacks

    @property
    def lacks(self) -> list[str]:
        """The keys it waits for that nobody has set."""
        return [key for key in self.needs if key not in self._data]

    def dismiss(self) -> None:
        """End the thread, wherever it is."""
        self.dismissed = True
        self._go.release()
        if self.is_alive() and self.ident:
            self.join(0.1)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(DismissedError))


@contextlib.contextmanager
def without_sleep() -> Iterator[None]:
    """time.sleep returns at once in these ranks, and only there: turns are what counts."""
    time.sleep = lambda seconds: None if isinstance(threading.current_thread(), Rank) else _sleep(seconds)
    try:
        yield
    finally:
        time.sleep = _sleep
