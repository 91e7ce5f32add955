"""Where the bytes are that no tensor asked for: of the model's segments, or of a snapshot's. Chapter: allocator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from helpers.memory.allocator.rules import page_of
from helpers.memory.allocator.state import Segment


class Fragmentation(NamedTuple):
    """Where the bytes are that no tensor asked for, at one moment. All in bytes, but `share`.

    requested: of the tensors. allocated: of the blocks that hold them. reserved: of the segments.
    rounding: allocated - requested, inside blocks. cached: reserved - allocated, in free blocks. largest: the largest free block.
    stuck: free bytes in segments that hold a tensor, which empty_cache cannot give back (torch's inactive_split_bytes); for expandable
    segments, those outside of whole free pages. share: the part of `cached` outside of the largest free block, 0 to 1.
    """

    requested: int
    allocated: int
    reserved: int
    rounding: int
    cached: int
    largest: int
    stuck: int
    share: float

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> Fragmentation:
        """Of the segments at one moment."""
        blocks = [block for segment in segments for block in segment.blocks]
        requested, allocated, reserved = (
            sum(sizes)
            for sizes in ((b.requested for b in blocks), (s.allocated for s in segments), (s.size for s in segments))
        )
        largest = max((block.size for block in blocks if block.state == "inactive"), default=0)
        cached = reserved - allocated
        share = 1 - largest / cached if cached else 0.0
        return cls(
            requested, allocated, reserved, allocated - requested, cached, largest, sum(map(_stuck, segments)), share
        )


def _stuck(segment: Segment) -> int:
    """Free bytes of a segment that empty_cache cannot give back."""
    if not segment.expandable:
        return segment.free if segment.allocated else 0
    page, stuck = page_of(segment.pool), 0
    for block in segment.blocks:
        if block.state == "inactive":
            begin, end = block.address - segment.address, block.address - segment.address + block.size
            stuck += block.size - max(0, end // page * page - -(-begin // page) * page)
    return stuck
