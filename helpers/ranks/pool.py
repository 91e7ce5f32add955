"""Ranks: a warm pool of processes, one per rank, that run a function of the notebook together. Chapter: ranks."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from . import devices, inside, judge
from .call import Call
from .launch import Team
from .output import in_rank_order
from .pack import pack_call
from .verdict import RankError

START_LIMIT = 120.0  # seconds for all ranks to meet; NCCL on 8 GPUs may take several


class Ranks:
    """n processes, each a rank of one torch.distributed group. Use as a context manager, or call close().

    n: all GPUs when there are two or more, else 4 on the CPU. backend: "nccl" or "gloo", else by what is here.
    env: environment of the ranks, set before the group forms. timeout: seconds that a rank may be inside one collective.
    Raises TypeError or ValueError on bad input, before anything starts. Chapters: ranks, ring.
    """

    def __init__(
        self,
        n: int | None = None,
        *,
        backend: str | None = None,
        env: dict[str, str] | None = None,
        timeout: float = 10.0,
    ):
        if inside.in_rank():
            raise RuntimeError("a rank cannot start ranks of its own: call Ranks in the notebook")
        self.world = devices.plan(n, backend)
        self.timeout = _seconds("timeout", timeout)
        self._env = _strings(env or {})
        self._busy = threading.Lock()
        self._closed = False
        self._details = "no call has failed"
        self._team: Team | None = None
        self._finalizer: Callable[[], None] = lambda: None
        self._start()

    @property
    def nranks(self) -> int:
        return self.world.nranks

    @property
    def backend(self) -> str:
        return self.world.backend

    @property
    def devices(self) -> tuple[str, ...]:
        return self.world.devices

    @property
    def label(self) -> str:
        """What the results were obtained on: "4 ranks, gloo, CPU"."""
        return self.world.label

    def __repr__(self) -> str:
        return f"{self.label} (closed)" if self._closed else self.label

    def run(
        self,
        fn: Callable[..., Any],
        *args: Any,
        limit: float | None = None,
        on_emit: Callable[[int, Any], None] | None = None,
        **kwargs: Any,
    ) -> list[Any]:
        """Call fn(*args, **kwargs) on every rank at once; returns their results in rank order, after printing their output.

        limit: seconds for the whole call (None: no limit; only `timeout` inside a collective). on_emit(rank, obj): called
        here for every `emit(obj)` while the call runs. Raises PackError when something cannot be sent, RankError when a rank
        fails; after that the next call starts the ranks afresh if need be.
        """
        if self._closed:
            raise RuntimeError("these ranks are closed: make new ones with Ranks()")
        message = pack_call(fn, args, kwargs)
        limit = None if limit is None else _seconds("limit", limit)
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("these ranks are in a call already: one call at a time, or a second Ranks()")
        try:
            return self._run(message, limit, on_emit)
        except RankError as error:
            self._details = error.details()
            if not error.sound:
                self._stop()
            raise
        except BaseException:
            self._stop()
            raise
        finally:
            self._busy.release()

    def details(self) -> str:
        """Everything about the last call that failed: every rank's state, traceback, latest operations, stack and output."""
        return self._details

    def close(self) -> None:
        """End the ranks. Nothing of them is left when this returns; closing twice is fine."""
        self._closed = True
        self._stop()

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _run(self, message: bytes, limit: float | None, on_emit: Callable[[int, Any], None] | None) -> list[Any]:
        if self._team is None:
            self._start()
        if not self._team.ready:
            start = Call(self._team, START_LIMIT, START_LIMIT, None)
            start.gather()
            judge.results(start)
            self._team.ready = True
        call = Call(self._team, self.timeout, limit, on_emit)
        call.send(message)
        call.gather()
        try:
            return judge.results(call)
        finally:
            if text := in_rank_order(m.output.text for m in self._team.members):
                sys.stdout.write(text)

    def _start(self) -> None:
        self._team = Team(self.world, self._env, self.timeout)
        self._finalizer = weakref.finalize(self, self._team.kill)
        try:
            self._team.start()
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        self._finalizer()
        self._team = None


def _seconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ValueError(f"{name} is a number of seconds > 0, got {value!r}")
    return float(value)


def _strings(env: dict[str, str]) -> dict[str, str]:
    for name, value in env.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise TypeError(f"env maps names to strings, got {name!r}: {value!r}")
    return dict(env)
