"""The model of the allocator beside a snapshot, block by block. Chapter: allocator."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from helpers.memory.allocator.replay import Replay
from helpers.memory.allocator.state import Segment
from helpers.memory.snapshot.reading import Snapshot

Shape = tuple[str, int, tuple[tuple[int, int, bool], ...]]  # pool, size; offset, size and whether taken, of each block


class Comparison(NamedTuple):
    """The model beside a snapshot. blocks: of the model; equal: how many of them the snapshot has at the same place of an equal segment.

    differences: a line per segment that only one side has. allocated, reserved: (model, snapshot) in bytes.
    """

    blocks: int
    equal: int
    allocated: tuple[int, int]
    reserved: tuple[int, int]
    differences: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        same = f"{self.equal} of {self.blocks} blocks equal, {len(self.differences)} segments differ"
        return f"model of the allocator against a snapshot: {same}"


def compare(replay: Replay, snapshot: Snapshot, device: int = 0, index: int = -1) -> Comparison:
    """Block by block: offset in its segment, size and state, in segments of equal pool and size. Where segments stand does not count."""
    sides = replay.segments(index), snapshot.segments(device)
    ours, theirs = (Counter(map(_shape, side)) for side in sides)
    both = ours & theirs
    lines = []
    for name, mine, other in (("model", ours, theirs), ("snapshot", theirs, ours)):
        lines += [f"only in the {name}: {_told(shape)}" for shape in (mine - other).elements()]
    allocated, reserved = ([sum(getattr(s, what) for s in side) for side in sides] for what in ("allocated", "size"))
    return Comparison(
        sum(len(segment.blocks) for segment in sides[0]),
        sum(len(shape[2]) for shape in both.elements()),
        (allocated[0], allocated[1]),
        (reserved[0], reserved[1]),
        tuple(lines),
    )


def _shape(segment: Segment) -> Shape:
    """What must be equal: the pool, the size, and every block's offset, size and whether it is taken."""
    blocks = tuple((b.address - segment.address, b.size, b.state != "inactive") for b in segment.blocks)
    return segment.pool, segment.size, blocks


def _told(shape: Shape) -> str:
    pool, size, blocks = shape
    parts = " ".join(f"{'' if taken else '-'}{nbytes}" for _, nbytes, taken in blocks[:12])
    return f"{pool} segment of {size} bytes: {parts}{' ...' if len(blocks) > 12 else ''}"
