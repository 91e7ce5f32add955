"""When a rank sent and received each message of a schedule: stamps for `traced`; `execute` itself takes none. Chapters: ring, trees.

A stamp says when the rank posted the message and when its wait for it came back: between the two the message waited for its partner,
for a free port, and travelled. What clock it is read from, a watch knows:

- Gloo: the host's. A rank waits for its sends, then for what it receives, so no receive ends before the sends of its step.
- An emulated network: the network's, by which each message has an end of its own.
- NCCL: the GPU's, by events around the step. NCCL runs the messages of a step as one, so they begin and end together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.collectives import Message
from helpers.ranks.network.nic import aside
from helpers.ranks.network.ports import clock

from .play import Pair, post

ROUNDS = 20  # pings to each rank: the quickest counts


class Late(NamedTuple):
    """Rank `rank` sleeps for so many seconds before it posts the messages of `step` (from 1)."""

    rank: int
    step: int
    seconds: float


class Stamp(NamedTuple):
    """One message at one of its two ends. began, ended: seconds, by this rank's clock."""

    step: int
    kind: str
    peer: int
    chunks: tuple[int, ...]
    nbytes: int
    began: float
    ended: float


class HostWatch:
    """time.monotonic: on Linux CLOCK_MONOTONIC, which all processes of a machine share. `now` makes a mark, `seconds` reads it."""

    def now(self) -> object:
        return time.monotonic()

    def ended(self, work: dist.Work, began: object) -> object:
        """A mark right after a wait for `work`, which was posted at the mark `began`."""
        return self.now()

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def seconds(self, mark: object) -> float:
        return mark


class NetworkWatch(HostWatch):
    """The clock of an emulated network, which is the host's without its late wake-ups."""

    def now(self) -> float:
        return clock.now()

    def ended(self, work: dist.Work, began: float) -> float:
        return max(work.at, began)  # it may have been there before this rank asked for it

    def pause(self, seconds: float) -> None:
        clock.wait_until(clock.now() + seconds)


class StreamWatch(HostWatch):
    """Events on the GPU's stream, set on the host's clock by one event at the start: that is good to some 10 us."""

    def __init__(self):
        torch.cuda.synchronize()
        self._base, before = torch.cuda.Event(enable_timing=True), time.monotonic()
        self._base.record()
        self._base.synchronize()
        self._at = (before + time.monotonic()) / 2

    def now(self) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, mark: torch.cuda.Event) -> float:
        mark.synchronize()
        return self._at + self._base.elapsed_time(mark) / 1000


class Stamps:
    """What `play` posts messages by, so that each leaves a stamp. late: who is to sleep, if anybody."""

    def __init__(self, watch: HostWatch, late: Late | None = None):
        self.watch, self.late = watch, late
        self._rows: list[tuple[int, Message, int, object, list]] = []

    def post(self, number: int, messages: Sequence[Pair]) -> list[_Stamped]:
        if self.late and (self.late.rank, self.late.step) == (dist.get_rank(), number):
            self.watch.pause(self.late.seconds)
        began, works = self.watch.now(), post(number, messages)
        ends: list[list] = [[] for _ in works]
        for i, (message, payload) in enumerate(messages):
            self._rows.append((number, message, payload.nbytes, began, ends[min(i, len(works) - 1)]))
        return [_Stamped(work, self.watch, began, end) for work, end in zip(works, ends, strict=True)]

    def read(self) -> list[Stamp]:
        """When all is over."""
        seconds = self.watch.seconds
        return [
            Stamp(number, m.kind, m.peer, m.chunks, nbytes, seconds(began), seconds(end[0]))
            for number, m, nbytes, began, end in self._rows
        ]


class _Stamped(NamedTuple):
    """A handle that leaves a mark in `end` when somebody has waited for it."""

    work: dist.Work
    watch: HostWatch
    began: object
    end: list

    def wait(self) -> None:
        self.work.wait()
        self.end.append(self.watch.ended(self.work, self.began))


def offsets(now: Callable[[], float] = time.monotonic) -> tuple[list[float], float]:
    """Inside ranks, on rank 0: by how much each rank's clock is ahead of rank 0's, in seconds, and how wrong that may be.

    A ping to a rank comes back with its time, which it read at some moment in between: half of the quickest way there and back is
    the error. A clock that is not further off than that is taken to be the same: on one machine it is.
    """
    found = [(0.0, 0.0)] + [(0.0, 0.0)] * (dist.get_world_size() - 1)
    with aside():
        for peer in range(1, dist.get_world_size()):
            if dist.get_rank() == 0:
                found[peer] = min((_ping(peer, now) for _ in range(ROUNDS)), key=lambda sample: sample[1])
            elif dist.get_rank() == peer:
                for _ in range(ROUNDS):
                    _pong(now)
    return [ahead if abs(ahead) > error else 0.0 for ahead, error in found], max(error for _, error in found)


def _ping(peer: int, now: Callable[[], float]) -> tuple[float, float]:
    """(how far that clock is ahead, half of the way there and back)."""
    ball = torch.zeros(1, dtype=torch.float64)
    began = now()
    dist.send(ball, peer)
    dist.recv(ball, peer)
    there, ended = ball.item(), now()
    return there - (began + ended) / 2, (ended - began) / 2


def _pong(now: Callable[[], float]) -> None:
    ball = torch.zeros(1, dtype=torch.float64)
    dist.recv(ball, 0)
    ball.item()  # on a GPU a receive returns before anything has come
    ball.fill_(now())
    dist.send(ball, 0)
