"""Only the outermost operation of a thread is noted: who is inside one says so here. Chapter: hangs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_inside = threading.local()


def busy() -> bool:
    """Is this thread inside a noted operation?"""
    return getattr(_inside, "op", False)


@contextlib.contextmanager
def unnoted() -> Iterator[None]:
    """Take no notes in this thread meanwhile: what a note costs is the difference. `benchmarks/notes.py` measures it so."""
    before, _inside.op = busy(), True
    try:
        yield
    finally:
        _inside.op = before
