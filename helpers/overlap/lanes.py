"""Queues that wait for each other: a lane that computes, and a link that one or two queues share. Chapter: overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .outcome import Span

COMPUTE = "compute"
Key = tuple[str, int]


class Op(NamedTuple):
    """key: what, and its number; seconds; after: what must have ended before it may begin."""

    key: Key
    seconds: float
    after: tuple[Key, ...]


def run(queues: Sequence[Sequence[Op]], links: Sequence[int] = ()) -> dict[Key, Span]:
    """When each begins and ends. queues[0] computes; all others are queues to one link, or to those that `links` numbers from 1 on,
    queue by queue. Each keeps its order.

    What can begin first begins first; at one moment a computation, then an earlier queue. So nothing is decided that something
    later could come before. ValueError where all wait for each other.
    """
    spans: dict[Key, Span] = {}
    at: list[int] = [0] * len(queues)
    server = [0, *(links or [1] * (len(queues) - 1))]
    free: list[float] = [0] * (max(server, default=0) + 1)
    while left := [number for number, queue in enumerate(queues) if at[number] < len(queue)]:
        heads = [(number, queues[number][at[number]]) for number in left]
        known = [
            (max(free[server[number]], *(spans[key][1] for key in op.after), 0), number, op)
            for number, op in heads
            if all(key in spans for key in op.after)
        ]
        if not known:
            raise ValueError(f"{' and '.join(' '.join(map(str, op.key)) for _, op in heads)} wait for each other")
        start, number, op = min(known, key=lambda one: one[:2])
        spans[op.key] = start, start + op.seconds
        free[server[number]] = start + op.seconds
        at[number] += 1
    return spans
