"""When every message of a schedule leaves and arrives if nobody waits for a step to end: a message goes as soon as it can.

Between this rule and the step-locked one lies what ranks do that play a program each: they wait for the messages of their own
step, and for nobody else's. Chapters: latency-bandwidth, trees.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

from .ports import Charge, Tariff
from .schedule import Schedule, Step

Slot = tuple[int, int]  # (rank, chunk)
Moment = tuple[float, float]  # (seconds since the start, how many of these are alphas on the chain that led here)
_START: Moment = (0.0, 0.0)


def dataflow(s: Schedule, tariff: Tariff) -> tuple[float, float, float]:
    """(seconds, alpha, transfer) of the chain of messages that finishes last.

    A message waits for the last writes of the slots that it reads, and for the last use of those that it writes, both in
    earlier steps. At a port, messages are served in the order of their steps.
    """
    written: dict[Slot, Moment] = defaultdict(lambda: _START)
    used: dict[Slot, Moment] = defaultdict(lambda: _START)
    free: dict[Hashable, Moment] = defaultdict(lambda: _START)
    last = _START
    for step in s.steps:
        arrivals = []
        for (src, dst), chunks in _messages(step):
            ready = max(_START, *(written[src, c] for c in chunks), *(used[dst, c] for c in chunks))
            done = _serve(tariff.charge(src, dst, len(chunks)), ready, free)
            arrivals.append((src, dst, chunks, done))
        for src, dst, chunks, done in arrivals:  # what happens within a step is read from what the step before left
            last = max(last, done)
            for c in chunks:
                written[dst, c] = max(written[dst, c], done)
                used[dst, c], used[src, c] = max(used[dst, c], done), max(used[src, c], done)
    seconds, alpha = last
    return seconds, alpha, seconds - alpha


def _serve(charge: Charge, ready: Moment, free: dict[Hashable, Moment]) -> Moment:
    """When the message is through everything that it occupies; each is taken from when both it and the message are free."""
    done = []
    for port in charge.ports:
        seconds, alpha = max(free[port], ready)
        free[port] = seconds + charge.alpha + charge.transfer, alpha + charge.alpha
        done.append(free[port])
    for wire, transfer in charge.wires:
        seconds, alpha = max(free[wire], ready)
        free[wire] = seconds + transfer, alpha
        done.append((seconds + transfer + charge.alpha, alpha + charge.alpha))
    return max(done)


def _messages(step: Step) -> Iterator[tuple[tuple[int, int], list[int]]]:
    chunks: dict[tuple[int, int], list[int]] = {}
    for src, dst, chunk, _ in step:
        chunks.setdefault((src, dst), []).append(chunk)
    return iter(chunks.items())
