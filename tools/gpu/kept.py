"""Ranks, and a parent of ranks, from one check to the next: on eight GPUs a start takes nine seconds, and a pool mends itself."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator

from helpers.ranks import Ranks

_kept: dict[tuple, Ranks] = {}
_parents: list[subprocess.Popen] = []


@contextlib.contextmanager
def ranks(nranks: int, backend: str, timeout: float) -> Iterator[Ranks]:
    """Those of an earlier check, if all was well with it, else new ones. They are not closed at the end."""
    key = nranks, backend, timeout
    if key not in _kept:
        _kept[key] = Ranks(nranks, backend=backend, timeout=timeout)
    try:
        yield _kept[key]
    except BaseException:
        _kept.pop(key).close()
        raise


@contextlib.contextmanager
def parent(start: Callable[[str], subprocess.Popen]) -> Iterator[subprocess.Popen]:
    """A process whose ranks are stuck: that of an earlier check, if all was well with it, else start("stuck")."""
    if not _parents:
        _parents.append(start("stuck"))
    try:
        yield _parents[-1]
    except BaseException:
        end(_parents.pop())
        raise


def end(process: subprocess.Popen) -> None:
    """It is gone, and so is its pipe."""
    process.kill()
    process.wait()
    process.stdout.close()


def close() -> None:
    """Before whoever wants the GPUs for itself, and at the end."""
    while _parents:
        end(_parents.pop())
    while _kept:
        _kept.popitem()[1].close()
