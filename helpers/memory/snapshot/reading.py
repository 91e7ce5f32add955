"""Reads a snapshot: a file of _dump_snapshot, or what torch returned. Chapter: allocator.

Such files are pickles, and a pickle can run anything. These are read as data (helpers.plain_pickle): what names a class or a function is
refused before it is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.memory.allocator.state import Segment
from helpers.memory.snapshot.checks import SnapshotError, check_segments, check_traces
from helpers.memory.snapshot.history import MARKS, History, Record, segment_of
from helpers.memory.trace import Trace
from helpers.plain_pickle import NotPlain, load_plain


@dataclass(frozen=True)
class Snapshot:
    """A snapshot as torch wrote it. segments_: dicts of every device; device_traces: per device the history, empty where none was kept."""

    segments_: Sequence[Record]
    device_traces: Sequence[Sequence[Record]] = ()

    def entries(self, device: int = 0) -> Sequence[Record]:
        """The history of one device, oldest first."""
        return self.device_traces[device] if device < len(self.device_traces) else ()

    def _of(self, device: int) -> list[Record]:
        return [segment for segment in self.segments_ if segment.get("device", 0) == device]

    def segments(self, device: int = 0) -> list[Segment]:
        """The segments of one device at the moment of the snapshot, by address."""
        return sorted(map(segment_of, self._of(device)), key=lambda segment: segment.address)

    def addresses(self, device: int = 0) -> list[int]:
        """Where cudaMalloc put the segments, in order: for `replay(..., addresses=)`, so that ties fall as they fell there."""
        return [entry["addr"] for entry in self.entries(device) if entry["action"] == "segment_alloc"]

    def trace(self, device: int = 0, emptied: bool = False) -> Trace:
        """The history as a trace; what was alive before it began comes first. A snapshot knows no classes: all is "temporary".

        emptied: with a mark "empty_cache" where segments went back, by empty_cache() or before a second try: what a replay needs.

        SnapshotError where no history was kept (torch.cuda.memory._record_memory_history() was not on).
        """
        if not self.entries(device):
            raise SnapshotError(f"the snapshot has no history of device {device}: only its segments can be read")
        return History(self._of(device), self.entries(device)).trace(device, emptied)


def read(source: str | Path | bytes | Record | Sequence[Record]) -> Snapshot:
    """A snapshot from a file of _dump_snapshot, its bytes, the dict of _snapshot(), or the list of memory_snapshot().

    SnapshotError for what is none, and for a pickle that names anything but data.
    """
    told: object = Path(source).read_bytes() if isinstance(source, (str, Path)) else source
    told = _load(told) if isinstance(told, bytes) else told
    data = {"segments": told} if isinstance(told, (list, tuple)) else told
    if not isinstance(data, Mapping) or "segments" not in data:
        raise SnapshotError("a snapshot is a dict with 'segments' (and 'device_traces'), or a list of segments")
    traces = data.get("device_traces", ())
    check_segments(data["segments"])
    check_traces(traces, MARKS)
    return Snapshot(tuple(data["segments"]), tuple(traces))


def _load(data: bytes) -> object:
    try:
        return load_plain(data)
    except NotPlain as error:
        said = str(error)
        raise SnapshotError(said if said.startswith("not a pickle") else f"a memory snapshot {said}") from None
