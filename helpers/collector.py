"""Python's garbage collector waits: among things by the million are no circles, and it would look for them often. Every chapter."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def waiting() -> Iterator[None]:
    """Within it nothing is looked for, also where it stands in another; also as a decorator."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
