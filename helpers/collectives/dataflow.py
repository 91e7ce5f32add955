"""When every message of a schedule leaves and arrives if nobody waits for a step to end: a message goes as soon as it can.

Between this rule and the step-locked one lies what ranks do that play a program each: they wait for the messages of their own
step, and for nobody else's. Chapters: latency-bandwidth, trees.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

from .ports import Charge, Tariff
from .schedule import Schedule
from .transfers import Step

Slot = tuple[int, int]  # (rank, chunk)
Moment = tuple[float, float]  # (seconds since the start, how many of these are alphas on the chain that led here)
_START: Moment = (0.0, 0.0)


def dataflow(s: Schedule, tariff: Tariff, in_flight: bool = False) -> tuple[float, float, float]:
    """(seconds, alpha, transfer) of the chain of messages that finishes last.

    A message waits for the last writes of the slots that it reads, and for the last use of those that it writes, both in
    earlier steps. At a port, messages are served in the order of their steps.
    in_flight: it keeps a port for its bytes alone, and what is added to a slot does not wait for what else is added there.
    """
    written: dict[Slot, Moment] = defaultdict(lambda: _START)
    used: dict[Slot, Moment] = defaultdict(lambda: _START)
    free: dict[Hashable, Moment] = defaultdict(lambda: _START)
    last = _START
    for step in s.steps:
        arrivals = []
        for src, dst, chunks, adds in _messages(step):
            ready = max(_START, *(written[src, c] for c in chunks), *(used[dst, c] for c in chunks))
            within = in_flight and s.registers and abs(src - dst) == s.nranks
            done = ready if within else _serve(tariff.charge(src, dst, len(chunks)), ready, free, in_flight)
            arrivals.append((src, dst, chunks, done, adds and in_flight))
        # What happens within a step is read from what the step before left
        for src, dst, chunks, done, beside in arrivals:
            last = max(last, done)
            for c in chunks:
                written[dst, c] = max(written[dst, c], done)
                used[src, c] = max(used[src, c], done)
                if not beside:
                    used[dst, c] = max(used[dst, c], written[dst, c])
    seconds, alpha = last
    return seconds, alpha, seconds - alpha


def _serve(charge: Charge, ready: Moment, free: dict[Hashable, Moment], in_flight: bool) -> Moment:
    """When the message is through everything that it occupies; each is taken from when both it and the message are free."""
    ports, begins, transfer, wires = charge
    done = []
    for port in ports:
        seconds, alpha = max(free[port], ready)
        done.append((seconds + begins + transfer, alpha + begins))
        free[port] = (seconds + transfer, alpha) if in_flight else done[-1]
    for wire, transfer in wires:
        seconds, alpha = max(free[wire], ready)
        free[wire] = seconds + transfer, alpha
        done.append((seconds + transfer + begins, alpha + begins))
    return max(done)


def _messages(step: Step) -> Iterator[tuple[int, int, list[int], bool]]:
    """(src, dst, its chunks, whether all of them are added)."""
    chunks: dict[tuple[int, int], list[int]] = {}
    copies = set()
    for src, dst, chunk, op in step:
        chunks.setdefault((src, dst), []).append(chunk)
        if op == "copy":
            copies.add((src, dst))
    return ((*ends, found, ends not in copies) for ends, found in chunks.items())
