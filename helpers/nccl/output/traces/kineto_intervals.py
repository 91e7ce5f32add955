"""Sets of times: what runs at all while several things run. Whole nanoseconds, so that sums are exact. Chapter: yours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Interval = tuple[int, int]  # from its first nanosecond to that behind its last


def union(spans: Iterable[Interval]) -> list[Interval]:
    """Ascending, apart from each other; empty ones are left out."""
    found: list[Interval] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def minus(spans: Sequence[Interval], others: Sequence[Interval]) -> list[Interval]:
    """What of `spans` is in none of `others`; both as `union` gives them."""
    found, at = [], 0
    for start, end in spans:
        while at < len(others) and others[at][1] <= start:
            at += 1
        k = at
        while k < len(others) and others[k][0] < end:
            if start < others[k][0]:
                found.append((start, others[k][0]))
            start = max(start, others[k][1])
            k += 1
        if start < end:
            found.append((start, end))
    return found


def both(spans: Sequence[Interval], others: Sequence[Interval]) -> list[Interval]:
    """What is in `spans` and in `others`."""
    return minus(spans, minus(spans, others))


def within(spans: Iterable[Interval], window: Interval) -> list[Interval]:
    """What of `spans` lies in the window."""
    first, last = window
    return union((max(start, first), min(end, last)) for start, end in spans)


def total(spans: Iterable[Interval]) -> int:
    """Nanoseconds in all."""
    return sum(end - start for start, end in spans)
