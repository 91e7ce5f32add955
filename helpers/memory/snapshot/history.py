"""The history in a snapshot as a trace: addresses become blocks, and what was alive before comes first. Chapter: allocator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from helpers.memory.allocator.replay import EMPTY_CACHE
from helpers.memory.allocator.state import Segment, SegmentBlock
from helpers.memory.trace import Event, Sample, Trace

Record = Mapping[str, Any]  # a dict of a snapshot, as torch wrote it
MARKS = {"oom": "out of memory", "snapshot": "snapshot"}
GROWS = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
SHRINKS = ("segment_free", "segment_unmap")
SOURCE = "measured (CUDA allocator)"


def segment_of(data: Record) -> Segment:
    """A segment as torch wrote it. Older snapshots give no address per block: blocks stand side by side."""
    blocks, at = [], data["address"]
    for block in data["blocks"]:
        taken = block["state"] != "inactive"
        requested = block.get("requested_size", block["size"]) if taken else 0
        blocks.append(SegmentBlock(block.get("address", at), block["size"], block["state"], requested))
        at += block["size"]
    pool, expandable = data["segment_type"], bool(data.get("is_expandable", False))
    return Segment(data["address"], data["total_size"], pool, expandable, tuple(blocks))


class History:
    """Events of a trace from the entries of a history, addresses resolved to blocks."""

    def __init__(self, segments: Sequence[Record], entries: Sequence[Record]):
        self.entries = entries
        self.events: list[Event] = []
        self.samples: list[Sample] = []
        self.alive: dict[int, Event] = {}
        self.total = self.blocks = 0
        self.start = entries[0].get("time_us", 0)
        self.reserved = sum(s["total_size"] for s in segments)
        self.reserved -= sum(GROWS.get(e["action"], 0) * e["size"] for e in entries)
        for address, nbytes in _before(segments, entries):
            self._alloc({"addr": address, "size": nbytes})

    def trace(self, device: int, emptied: bool) -> Trace:
        for entry, following in zip(self.entries, (*self.entries[1:], None), strict=True):
            if (action := entry["action"]) == "alloc":
                self._alloc(entry)
            elif action in ("free_completed", "free"):
                self._free(entry)
            elif action in MARKS:
                self._mark(MARKS[action], entry)
            elif action in GROWS:
                self.reserved += GROWS[action] * entry["size"]
                self.samples.append(Sample(max(0, len(self.events) - 1), self.total, self.reserved))
                if emptied and action in SHRINKS and (following is None or following["action"] not in SHRINKS):
                    self._mark(EMPTY_CACHE, entry)
        about = {"label": f"snapshot, GPU {device}", "classes": False}
        return Trace(tuple(self.events), SOURCE, about, tuple(self.samples))

    def _seconds(self, entry: Record) -> float:
        return (entry["time_us"] - self.start) / 1e6 if "time_us" in entry else 0.0

    def _mark(self, name: str, entry: Record) -> None:
        self.events.append(Event("mark", -1, 0, "temporary", op=name, seconds=self._seconds(entry)))

    def _alloc(self, entry: Record) -> None:
        op = _where(entry.get("frames", ()))
        event = Event("alloc", self.blocks, entry["size"], "temporary", op=op, seconds=self._seconds(entry))
        self.alive[entry["addr"]] = event
        self.blocks += 1
        self.total += event.nbytes
        self.events.append(event)

    def _free(self, entry: Record) -> None:
        made = self.alive.pop(entry["addr"])
        self.total -= made.nbytes
        self.events.append(made._replace(kind="free", seconds=self._seconds(entry)))


def _before(segments: Sequence[Record], entries: Sequence[Record]) -> list[tuple[int, int]]:
    """(address, bytes) of what was alive before the history: freed in it without an alloc, or still alive and never made in it."""
    found, alive = [], set()
    for entry in entries:
        if entry["action"] == "alloc":
            alive.add(entry["addr"])
        elif entry["action"] in ("free_completed", "free"):
            if entry["addr"] not in alive:
                found.append((entry["addr"], entry["size"]))
            alive.discard(entry["addr"])
    blocks = (block for segment in segments for block in segment_of(segment).blocks)
    return found + [(b.address, b.requested) for b in blocks if b.state != "inactive" and b.address not in alive]


def _where(frames: Sequence[Record]) -> str:
    """The line of the reader's own program: the first .py frame outside of torch, else the first frame."""
    own = (f for f in frames if f["filename"].endswith(".py") and "/torch/" not in f["filename"])
    frame = next(own, frames[0] if frames else None)
    return f"{frame['name']} {PurePosixPath(frame['filename']).name}:{frame['line']}" if frame else ""
