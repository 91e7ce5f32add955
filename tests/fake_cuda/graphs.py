"""CUDA graphs: what a GPU is asked for between begin and end, done once then and again at every replay.

What another GPU is asked for meanwhile is not in the graph, as in CUDA; nor may anybody ask about a stream or an event.
"""

from __future__ import annotations

from collections.abc import Callable

from . import state

_under_way: CUDAGraph | None = None


class CUDAGraph:
    """deeds: what was captured."""

    def __init__(self, keep_graph: bool = False):
        self.deeds: list[Callable[[], object]] = []
        self.spoilt = ""

    def capture_begin(self, *pool: object, **_: object) -> None:
        global _under_way
        from .streams import current_stream, default_stream

        if current_stream() is default_stream():
            raise RuntimeError("CUDA graphs must be captured on a non-default stream.")
        self.device, self.deeds, _under_way = state.current(), [], self

    def capture_end(self) -> None:
        global _under_way
        _under_way = None
        if self.spoilt:
            raise RuntimeError(f"CUDA error: operation failed due to a previous error during capture ({self.spoilt})")

    def replay(self) -> None:
        for deed in self.deeds:
            deed()

    def reset(self) -> None:
        self.deeds = []

    def pool(self) -> tuple[int, int]:
        return 0, 0


def capturing() -> bool:
    """Is the current stream being captured?"""
    return _under_way is not None and _under_way.device == state.current()


def note(deed: Callable[[], object], device: int) -> bool:
    """True when it belongs to a graph now."""
    here = _under_way is not None and _under_way.device == device
    if here:
        _under_way.deeds.append(deed)
    return here


def forbidden(what: str) -> None:
    """No such call may be made by anybody while a graph is captured: it spoils the capture."""
    if _under_way is not None:
        _under_way.spoilt = what
        raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing ({what})")
