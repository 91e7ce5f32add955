"""What a function finds inside a rank besides torch.distributed: `here`, which stays between calls, and `emit`. Chapter: ranks."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace

_emitter: Callable[[object], None] | None = None  # set once, in a rank


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


def in_rank() -> bool:
    """True inside a rank that `Ranks` started."""
    return _emitter is not None


def become_rank(emitter: Callable[[object], None], rank: int, nranks: int) -> None:
    """The worker calls this once. The environment reads as under torchrun, so that code for torchrun runs unchanged."""
    global _emitter
    _emitter = emitter
    for name, value in (("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", nranks), ("LOCAL_WORLD_SIZE", nranks)):
        os.environ[name] = str(value)


def _only_inside(what: str) -> None:
    if not in_rank():
        raise RuntimeError(f"{what} works inside a rank only: in a function given to Ranks.run")
