"""The history in a snapshot as a trace: addresses become blocks, and what was alive before comes first. Chapter: allocator."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from helpers.memory.allocator.replay import EMPTY_CACHE
from helpers.memory.allocator.state import Segment, SegmentBlock
from helpers.memory.trace import Event, Sample, Trace

Record = Mapping[str, Any]  # a dict of a snapshot, as torch wrote it
MARKS = {"oom": "out of memory", "snapshot": "snapshot"}
GROWS = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
SHRINKS = ("segment_free", "segment_unmap")
SLASH = re.compile(r"[/\\]")
INSTALLED = re.compile(r"[/\\](?:(?:site|dist)-packages|lib[/\\]python[\d.]+)[/\\]")
TORCH = re.compile(r"[/\\]torch[/\\]")
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
        self.files: dict[str, str] = {}  # of every line that was named, its file
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
        op = self._where(entry.get("frames", ()))
        event = Event("alloc", self.blocks, entry["size"], "temporary", op=op, seconds=self._seconds(entry))
        self.alive[entry["addr"]] = event
        self.blocks += 1
        self.total += event.nbytes
        self.events.append(event)

    def _where(self, frames: Sequence[Record]) -> str:
        """ "forward model.py:88", with as many folders as two files of one name need to be told apart."""
        if not frames:
            return ""
        frame = min(frames, key=lambda one: _distance(one["filename"]))  # of equals the innermost
        parts = SLASH.split(frame["filename"])
        for count in range(1, len(parts) + 1):
            told = f"{frame['name']} {'/'.join(parts[-count:])}:{frame['line']}"
            if self.files.setdefault(told, frame["filename"]) == frame["filename"]:
                break
        return told

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


@lru_cache(4096)
def _distance(filename: str) -> int:
    """From the reader's own program: 0 a .py of theirs, 1 one of a package or of Python itself, 2 torch, and what is no Python."""
    return 2 if not filename.endswith(".py") or TORCH.search(filename) else int(bool(INSTALLED.search(filename)))
