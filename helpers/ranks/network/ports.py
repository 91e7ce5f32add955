"""The clocks of an emulated network: when a message leaves its sender, when it arrives, and what time it is on a rank.

The rule is the one `helpers.collectives.price` charges by. A message of n bytes keeps the sender's send port and the receiver's
recv port for alpha + n * beta each; messages queue at a port in the order in which they are sent; a message is due when
both ports are through with it. Nothing here touches a tensor. Chapter: latency-bandwidth.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from helpers.ranks.machine import scratch

PROMPT = 0.01  # seconds: what a rank does so soon after a wake-up that came late counts as done on time
MEETING = 3e-3  # seconds between the last rank's arrival at a barrier and the moment at which all leave it
_TIME = struct.Struct("<d")


class Clock(threading.local):
    """What time it is for this thread on the emulated network; seconds, CLOCK_MONOTONIC, the same on all ranks.

    The machine wakes a sleeper late, and a rank that answers a message would answer late ever after. So what follows a wait at once
    begins at the due time, not at the wake-up; and while a schedule is played, everything does.
    """

    def __init__(self):
        self._late = self._woke = 0.0
        self._at: float | None = None  # while a schedule is played: the time of its latest event
        self._together: float | None = None

    def now(self) -> float:
        if self._at is not None:
            return self._at
        now = time.monotonic()
        return now - self._late if now - self._woke < PROMPT else now

    def wait_until(self, due: float) -> None:
        """Sleep until `due`; return at once when that is over. Never spins: the ranks share the cores."""
        if self._at is not None:
            self._at = max(self._at, due)
        if (left := due - time.monotonic()) <= 0:
            self._late = min(self._late, -left)  # nothing is done before what it waited for
            return
        while left > 0:
            time.sleep(left)
            left = due - time.monotonic()
        self._woke = time.monotonic()
        self._late = min(self._woke - due, PROMPT)

    def on_time(self, together: float | None = None) -> None:
        """Whatever came late no longer counts: the ranks have met. together: when all of them left the barrier."""
        self._late, self._together = 0.0, together

    def start(self) -> float:
        """Start a stopwatch right after a barrier, for `stop`: on an emulated network, at the moment when all ranks left it."""
        if self._together is None:
            return time.monotonic()
        self._woke = time.monotonic()
        self._late, start, self._together = self._woke - self._together, self._together, None
        return start

    def stop(self, start: float) -> float:
        """Seconds since `start`, by this clock: the wake-up from the last message counts as on time, too."""
        return self.now() - start

    @contextlib.contextmanager
    def model(self, start: float | None = None) -> Iterator[None]:
        """While a schedule is played, time passes only on the network: the model knows no compute, and no slow Python.

        What a rank does between a message that came and the one it sends on costs nothing as long as the network takes longer.
        """
        if self._at is not None:  # within another one that is played
            yield
            return
        self._at = self.now() if start is None else start
        try:
            yield
        finally:
            self._at = None


clock = Clock()


class Ports:
    """Until when every rank's send and recv port is taken: the recv ports in a file that all ranks map, as all senders queue there.

    costs[dst]: (alpha in seconds, beta in seconds per byte) from this rank.
    """

    def __init__(self, costs: tuple[tuple[float, float], ...], path: Path):
        self.costs = costs
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        scratch.reserve(self._fd, _TIME.size * (len(costs) + 2))
        self._shared = mmap.mmap(self._fd, _TIME.size * (len(costs) + 2))
        self._send = 0.0
        self._barriers = 0
        self._lock = threading.Lock()

    def book(self, dst: int, nbytes: int, now: float) -> tuple[float, float]:
        """A message leaves for `dst` now: (when it has left the send port, when it is due at the receiver)."""
        alpha, beta = self.costs[dst]
        cost = alpha + nbytes * beta
        with self._lock:
            self._send = max(now, self._send) + cost
            return self._send, max(self._send, self._advance(dst, now, cost))

    def arrive(self, now: float) -> int:
        """This rank is at a barrier of all ranks: a ticket for `leave`. Two places in turns: who reads one is not overtaken."""
        self._barriers += 1
        place = len(self.costs) + self._barriers % 2
        self._advance(place, now, 0.0)
        return place

    def leave(self, ticket: int) -> float:
        """After the barrier: when all ranks leave it together. Clocks that they start then agree."""
        return _TIME.unpack_from(self._shared, _TIME.size * ticket)[0] + MEETING

    def _advance(self, place: int, now: float, cost: float) -> float:
        """What is shared in `place` moves on to `now` if it is behind, and then by `cost`."""
        with self._locked(place):
            value = max(now, _TIME.unpack_from(self._shared, _TIME.size * place)[0]) + cost
            _TIME.pack_into(self._shared, _TIME.size * place, value)
            return value

    @contextlib.contextmanager
    def _locked(self, place: int) -> Iterator[None]:
        """Among processes; the system opens the lock of one that dies."""
        fcntl.lockf(self._fd, fcntl.LOCK_EX, _TIME.size, _TIME.size * place)
        try:
            yield
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN, _TIME.size, _TIME.size * place)


class Wires(NamedTuple):
    """A network as plain numbers: costs[src][dst] = (alpha, beta). What a topology defined in a cell becomes on its way to the ranks."""

    costs: tuple[tuple[tuple[float, float], ...], ...]

    @classmethod
    def of(cls, network: object, nranks: int) -> Wires:
        """Ask `network` once for the link of every pair; a rank's link to itself is never used."""
        ends = range(nranks)
        return cls(tuple(tuple((0.0, 0.0) if a == b else _cost(network.link(a, b)) for b in ends) for a in ends))


def _cost(link: object) -> tuple[float, float]:
    return link.alpha, link.beta
