"""What a function finds inside a rank besides torch.distributed: `here`, kept between calls, `emit`, `progress`. Chapter: ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from types import SimpleNamespace
from typing import TypeVar

Item = TypeVar("Item")

_shared = False  # set once, in a rank
_emitter: Callable[[object], None] | None = None  # set once, in a rank
_count: Callable[[int, int | None], None] | None = None  # steps done, steps in all
_part: tuple[float, float] | None = None  # where the turn of `parts` that runs begins and ends, as shares of the call
_read = False  # a loop of the reader's own is counted


class Here(SimpleNamespace):
    """Names kept on a rank between calls: `here.model = ...` in one cell, `here.model` in a later one.

    It travels by name, never by value: a function sent to the ranks finds the rank's own.
    """

    def __reduce__(self):
        return "here"

    def __setattr__(self, name: str, value: object) -> None:
        _only_inside(f"here.{name} = ...")
        super().__setattr__(name, value)


here = Here()


def emit(obj: object) -> None:
    """Send `obj` to the notebook at once: `run(..., on_emit=callback)` calls `callback(rank, obj)` while the call runs."""
    _only_inside("emit()")
    _emitter(obj)


def progress(iterable: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """`for batch in progress(batches)`: the notebook sees how far this rank is (`ranks.status()`), at the price of a few bytes.

    total: how many there will be, where len() does not tell. One counter a rank: the latest loop's. Outside a rank of `Ranks`,
    under torchrun say, it iterates and nothing else. Raises TypeError or ValueError when total is no whole number >= 0.
    """
    if total is None:
        total = len(iterable) if isinstance(iterable, Sized) else None
    elif isinstance(total, bool) or not isinstance(total, int):
        raise TypeError(f"total is a whole number of steps or None, got {total!r}")
    elif total < 0:
        raise ValueError(f"total is a number of steps >= 0, got {total}")
    return _counted(iter(iterable), total) if _count else iter(iterable)


def _counted(items: Iterator[Item], total: int | None) -> Iterator[Item]:
    global _read
    done, before, _read = 0, _read, True
    _count(done, total)
    try:
        for item in items:
            yield item
            done += 1  # the loop's body is over
            _count(done, total)
    finally:
        _read = before


def parts(items: Sequence[Item], weights: Sequence[float] | None = None, *, inner: bool = False) -> Iterator[Item]:
    """`progress` for loops of this library, one inside the other: counted in hundredths of the outermost.

    weights: what the items take, as parts of the whole. inner: only where another of these loops is around. Nothing is counted inside
    a loop of the reader's own.
    """
    global _part
    weights, outer = [1.0] * len(items) if weights is None else weights, _part
    if _count is None or _read or (inner and outer is None):
        yield from items
        return
    (low, high), done = outer or (0.0, 1.0), 0.0
    step = (high - low) / sum(weights)
    try:
        for item, weight in zip(items, weights, strict=True):
            _part = low + step * done, low + step * (done + weight)
            _count(round(100 * _part[0]), 100)
            yield item
            done += weight
        _count(round(100 * high), 100)
    finally:
        _part = outer


def in_rank() -> bool:
    """True inside a rank that `Ranks` started, or that `job` made of this process."""
    return _emitter is not None


def become_rank(
    emitter: Callable[[object], None], rank: int, nranks: int, local: tuple[int, int] | None = None
) -> None:
    """The worker, or `job`, calls this once. The environment reads as under torchrun, so that code for it runs unchanged.

    local: (rank, ranks) on this node; by default there is one node.
    """
    global _emitter
    _emitter = emitter
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    os.environ |= {
        name: str(value) for name, value in zip(names, (rank, nranks, *(local or (rank, nranks))), strict=True)
    }


def count_into(count: Callable[[int, int | None], None]) -> None:
    """The worker calls this once: `progress` counts there."""
    global _count
    _count = count


def share(shared: bool) -> None:
    """The worker calls this once: does this rank's GPU serve other ranks too?"""
    global _shared
    _shared = shared


def shares_a_gpu() -> bool:
    """True in a rank whose GPU serves other ranks too: results are right, times mean nothing."""
    return _shared


def _only_inside(what: str) -> None:
    if not in_rank():
        raise RuntimeError(f"{what} works inside a rank only: in a function given to Ranks.run, or in job()")
