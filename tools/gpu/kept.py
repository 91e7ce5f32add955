"""Ranks that stay from one check to the next: on eight GPUs a start takes nine seconds, and a pool mends itself after a fault."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from helpers.ranks import Ranks

_kept: dict[tuple, Ranks] = {}


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


def close() -> None:
    """Before whoever wants the GPUs for itself, and at the end."""
    while _kept:
        _kept.popitem()[1].close()
