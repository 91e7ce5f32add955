"""The verdict on a memory snapshot of PyTorch: what is reserved, and which of the free bytes no tensor could get. Chapter: yours.

Before torch gives up with "out of memory", its allocator gives back by itself what holds nothing: whole free segments, and whole free
pages of expandable ones. So only the rest, holes beside live blocks, can be fragmentation. A private pool (of CUDA graphs, or a MemPool)
is apart: what is free there serves nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from helpers.memory.allocator.rules import page_of
from helpers.memory.allocator.state import Segment
from helpers.memory.snapshot import Snapshot
from helpers.memory.snapshot.history import GROWS, segment_of
from helpers.units import MIB, nbytes_text
from helpers.yours.causes import cause
from helpers.yours.verdict import Cause, Verdict

LOOSE = 0.2  # of what is reserved, in holes: from here on it is said
LEAST = 64 * MIB  # free bytes that are worth a word


@dataclass(frozen=True)
class Memory:
    """One device's. segments: of the pool of all; private: of the others. holes: free bytes that nobody gives back, one number a piece."""

    device: int
    segments: tuple[Segment, ...]
    private: tuple[Segment, ...]
    pools: int

    @property
    def reserved(self) -> int:
        return sum(one.size for one in (*self.segments, *self.private))

    @property
    def taken(self) -> int:
        return sum(one.allocated for one in (*self.segments, *self.private))

    @cached_property
    def live(self) -> tuple[int, ...]:
        """Bytes asked for, one number a block."""
        blocks = (block for one in (*self.segments, *self.private) for block in one.blocks)
        return tuple(block.requested for block in blocks if block.state != "inactive")

    @property
    def emptied(self) -> tuple[Segment, ...]:
        """Segments without a live block, which go back by themselves."""
        return tuple(one for one in self.segments if not one.allocated)

    @cached_property
    def holes(self) -> tuple[int, ...]:
        segments = (one for one in self.segments if one.allocated)
        return tuple(nbytes for one in segments for nbytes in _holes(one) if nbytes)

    @property
    def reusable(self) -> int:
        """The largest piece that a tensor can get now, free or given back first."""
        pieces = (block.size for one in self.segments for block in one.blocks if block.state == "inactive")
        return max(pieces, default=0)


class Refused(NamedTuple):
    """The last request that found no memory, as it was then. free: bytes that the driver had left, 0 where it is not told.

    loose: reserved and free at that moment, when all that could go back had gone back, without private pools.
    """

    nbytes: int
    free: int
    reserved: int
    loose: int


def of_snapshot(found: Snapshot) -> Verdict:
    """Of the device that ran out of memory, else of that with the most reserved; a line for each."""
    devices = sorted({_device(segment) for segment in found.segments_})
    if not devices:
        return Verdict("snapshot", "a memory snapshot of PyTorch", "It holds no segment: nothing was reserved.")
    memories = [_memory(found, device) for device in devices]
    ended = {one.device: told for one in memories if (told := _refused(one, found.entries(one.device)))}
    first = max(memories, key=lambda one: (one.device in ended, one.reserved, -one.device))
    count = len(first.segments) + len(first.private)
    what = f"a memory snapshot of PyTorch, GPU {first.device}: {count} segments, {len(first.live)} live blocks"
    told = ended.get(first.device)
    return Verdict(
        "snapshot",
        what,
        " ".join(_sentences(first, told)),
        causes=tuple(_causes(first, told)),
        lines=tuple(map(_line, memories)) if len(memories) > 1 else (),
    )


def _device(segment: Any) -> int:
    return int(segment.get("device", 0))


def _memory(found: Snapshot, device: int) -> Memory:
    mine = [segment for segment in found.segments_ if _device(segment) == device]
    private = [one for one in mine if _pool(one)]
    shared = [one for one in mine if not _pool(one)]
    pools = len({_pool(one) for one in private})
    return Memory(device, tuple(map(segment_of, shared)), tuple(map(segment_of, private)), pools)


def _pool(segment: Any) -> str:
    """ "" for the pool of all, which torch calls (0, 0); before 2.0 there was no other."""
    told = segment.get("segment_pool_id", (0, 0))
    known = isinstance(told, (list, tuple)) and all(isinstance(one, int) and abs(one) < 1 << 63 for one in told)
    return "unknown" if not known else str(tuple(told)) if any(told) else ""


def _holes(segment: Segment) -> Iterator[int]:
    """Bytes of each free piece; of an expandable segment what of it fills no page, for whole pages go back."""
    for block in segment.blocks:
        if block.state == "inactive":
            page = page_of(segment.pool)
            start, end = block.address - segment.address, block.address - segment.address + block.size
            pages = max(0, end // page - -(-start // page)) if segment.expandable else 0
            yield block.size - pages * page


def _refused(memory: Memory, entries: Sequence[Any]) -> Refused | None:
    """What the snapshot says, less what the history did after the request."""
    reserved, taken = memory.reserved, memory.taken
    for entry in reversed(entries):
        action, nbytes = entry["action"], entry["size"]
        if action == "oom":
            free = entry.get("device_free")
            known = isinstance(free, int) and 0 <= free < reserved + (1 << 50)
            apart = sum(one.free for one in memory.private)
            return Refused(nbytes, free if known else 0, max(0, reserved), max(0, reserved - taken - apart))
        reserved -= GROWS.get(action, 0) * nbytes
        taken += nbytes * ((action in ("free_completed", "free")) - (action == "alloc"))
    return None


def _sentences(memory: Memory, told: Refused | None) -> Iterator[str]:
    largest = f"; the largest live block holds {nbytes_text(max(memory.live))}" if memory.live else ""
    piece = f"; the largest free piece has {nbytes_text(memory.reusable)}." if memory.reusable else "; no free piece."
    yield f"{nbytes_text(memory.reserved)} reserved, {nbytes_text(memory.taken)} of it in use{largest}{piece}"
    if (whole := sum(one.size for one in memory.emptied)) >= LEAST:
        one = len(memory.emptied) == 1
        count = "is one wholly free segment" if one else f"are {len(memory.emptied)} wholly free segments"
        yield f"{nbytes_text(whole)} {count}, which the allocator gives back by itself before it runs out of memory."
    if told:
        then = f"{nbytes_text(told.reserved)} were reserved then, {nbytes_text(told.loose)} of them free"
        yield f"A request of {nbytes_text(told.nbytes)} found no memory: {then}, and {nbytes_text(told.free)} were left on the GPU."


def _causes(memory: Memory, told: Refused | None) -> Iterator[Cause]:
    if told:
        yield _ended(told)
    elif (loose := sum(memory.holes)) >= max(LEAST, LOOSE * memory.reserved) and 2 * max(memory.holes) <= loose:
        pieces = f"in {len(memory.holes)} pieces beside live blocks"
        why = f"{nbytes_text(loose)} of {nbytes_text(memory.reserved)} are reserved and free, {pieces}"
        yield cause(
            "fragmentation", f"{why}; a tensor larger than {nbytes_text(max(memory.holes))} fits into none of them"
        )
    if (apart := sum(one.free for one in memory.private)) >= LEAST:
        yield cause("private pool", _apart(memory, apart))


def _ended(told: Refused) -> Cause:
    """Whether the request would have fitted if all that was free had been one piece, most of it the allocator's."""
    asked, loose = nbytes_text(told.nbytes), nbytes_text(told.loose)
    if told.nbytes <= told.loose + told.free and told.nbytes <= 2 * told.loose:
        return cause(
            "fragmentation", f"{asked} were asked for, and {loose} were reserved and free, in pieces that are too small"
        )
    both = nbytes_text(told.loose + told.free)
    return cause(
        "out of memory",
        f"{asked} were asked for, and all that was free together, {both}, is no help: the memory is full",
    )


def _apart(memory: Memory, free: int) -> str:
    pools = "a private pool" if memory.pools == 1 else f"{memory.pools} private pools"
    held = sum(one.size for one in memory.private)
    whose = f"{nbytes_text(held)} belong to {pools} (of CUDA graphs, or a MemPool)"
    return f"{whose}, {nbytes_text(free)} of them free: nothing else may use these"


def _line(memory: Memory) -> str:
    told = (memory.reserved, memory.taken, sum(one.size for one in memory.emptied), sum(memory.holes))
    sums = ", ".join(
        f"{nbytes_text(n)} {name}"
        for n, name in zip(told, ("reserved", "in use", "in free segments", "in holes"), strict=True)
    )
    return f"GPU {memory.device}: {sums}"
