"""What a schedule costs under the alpha-beta model: a message of n bytes takes alpha + n * beta seconds.

Source: Hockney 1994; Thakur, Rabenseifner, Gropp 2005. The model knows no congestion, no compute and no start-up of its own.
Chapters: ring, latency-bandwidth.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Protocol

from .promises import promise
from .schedule import Schedule, ScheduleError, Step


class Network(Protocol):
    """Anything that knows the link between two ranks; a `helpers.facts.Link` is the simplest: the same link everywhere."""

    def link(self, src: int, dst: int): ...


@dataclass(frozen=True)
class StepPrice:
    """One step: how long it lasts, and the two parts of that on its busiest port (both in seconds)."""

    seconds: float
    alpha: float
    transfer: float


@dataclass(frozen=True)
class Price:
    """seconds in all; algbw = nbytes / seconds; busbw = algbw * the collective's factor (bytes per second, one way per GPU)."""

    nbytes: int
    seconds: float
    algbw: float
    busbw: float
    steps: tuple[StepPrice, ...]


def chunk_nbytes(s: Schedule, nbytes: float) -> float:
    """Bytes of one chunk: nbytes / nchunks; all_to_all alone has nranks**2 chunks, each nbytes / nranks."""
    return nbytes / (s.nranks if s.collective == "all_to_all" else s.nchunks)


def price(s: Schedule, nbytes: int, network: Network) -> Price:
    """Step by step: all chunks from src to dst are one message, and a step lasts as long as its busiest send or receive port.

    nbytes: nccl-tests' size, the larger of one rank's input and output. network: a Link, or a topology with link(src, dst).
    """
    if isinstance(nbytes, bool) or not isinstance(nbytes, (int, float)) or not math.isfinite(nbytes) or nbytes < 0:
        raise ScheduleError(f"nbytes must be a number of bytes >= 0, got {nbytes!r}")
    factor = promise(s.collective).bus_factor(s.nranks)
    size = chunk_nbytes(s, nbytes)
    steps = tuple(_price_step(step, size, network) for step in s.steps)
    seconds = math.fsum(step.seconds for step in steps)
    algbw = nbytes / seconds if seconds else math.inf if nbytes else 0.0
    return Price(nbytes, seconds, algbw, algbw * factor if factor else 0.0, steps)


def _price_step(step: Step, size: float, network: Network) -> StepPrice:
    messages: dict[tuple[int, int], int] = defaultdict(int)
    for t in step:
        messages[t.src, t.dst] += 1
    ports: dict[tuple[str, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for (src, dst), nchunks in messages.items():
        link = network.link(src, dst)
        for port in (ports["send", src], ports["recv", dst]):
            port[0] += link.alpha
            port[1] += nchunks * size * link.beta
    alpha, transfer = max(ports.values(), key=sum)
    return StepPrice(alpha + transfer, alpha, transfer)


def crossover(short: Schedule, long: Schedule, network: Network, most: int = 2**50) -> int:
    """The smallest nbytes (whole) from which `long` costs no more than `short`, found by bisection. Chapters: ring, latency-bandwidth.

    Raises ScheduleError unless `short` is cheaper at 1 byte and `long` at `most` bytes.
    """

    def long_wins(nbytes: int) -> bool:
        return price(long, nbytes, network).seconds <= price(short, nbytes, network).seconds

    if long_wins(1) or not long_wins(most):
        raise ScheduleError(
            f"{short.algorithm} and {long.algorithm} do not cross between 1 and {most} bytes on {short.nranks} ranks:"
            f" {'the second' if long_wins(1) else 'the first'} is cheaper throughout"
        )
    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if long_wins(middle) else (middle, high)
    return high
