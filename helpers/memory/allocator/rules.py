"""The sizes and rules of PyTorch's CUDA caching allocator, as they stand in its source.

Read in c10/core/AllocatorConfig.h (the constants and their defaults, the same from torch 2.11 to 2.15) and in
c10/cuda/CUDACachingAllocator.cpp of 2.13 (round_size, get_pool, get_allocation_size, should_split, get_free_block). Chapter: allocator.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.units import MIB

MIN_BLOCK = 512  # kMinBlockSize: every request is rounded up to a multiple
SMALL_SIZE = MIB  # kSmallSize: requests up to here live in the small pool
SMALL_SEGMENT = 2 * MIB  # kSmallBuffer: a segment of the small pool, and the page of its expandable segment
LARGE_SEGMENT = 20 * MIB  # large_segment_size: for requests between 1 and 10 MiB, and the large pool's page
MIN_LARGE = 10 * MIB  # kMinLargeAlloc: from here on a request gets a segment of its own size ...
ROUND_LARGE = 2 * MIB  # kRoundLarge: ... rounded up to this
POOLS = ("small", "large")


@dataclass(frozen=True)
class Rules:
    """What PYTORCH_ALLOC_CONF can set, with torch's defaults. ValueError on what torch would refuse.

    expandable: expandable_segments. max_split_size: blocks of this many bytes and more are never split (None: all may be).
    max_non_split_rounding: how much larger than the request such a block may be. roundup_power2_divisions: 0 is off; one number for
    all sizes (torch also takes one per interval). garbage_collection_threshold: between 0 and 1, acts only together with `allowed`.
    limit: bytes that the device can give. allowed: bytes that set_per_process_memory_fraction grants.
    """

    expandable: bool = False
    limit: int | None = None
    allowed: int | None = None
    max_split_size: int | None = None
    max_non_split_rounding: int = LARGE_SEGMENT
    roundup_power2_divisions: int = 0
    garbage_collection_threshold: float = 0.0

    def __post_init__(self) -> None:
        for name in ("limit", "allowed"):
            if (value := getattr(self, name)) is not None and (not isinstance(value, int) or value < 0):
                raise ValueError(f"{name} is a number of bytes or None, got {value!r}")
        if self.max_split_size is not None and self.max_split_size <= LARGE_SEGMENT:
            raise ValueError(f"max_split_size must be above {LARGE_SEGMENT} bytes, got {self.max_split_size!r}")
        if (divisions := self.roundup_power2_divisions) == 1 or divisions < 0 or divisions & (divisions - 1):
            raise ValueError(f"roundup_power2_divisions must be 0, 2, 4, 8, ..., got {divisions!r}")
        if not 0 <= self.garbage_collection_threshold < 1:
            raise ValueError(f"garbage_collection_threshold is below 1, got {self.garbage_collection_threshold!r}")

    def round_size(self, nbytes: int) -> int:
        """The block that a request needs: a multiple of 512 bytes, or a division between two powers of 2."""
        divisions = self.roundup_power2_divisions
        if divisions > 1 and nbytes > MIN_BLOCK * divisions:
            step = (1 << (nbytes.bit_length() - 1)) // divisions
            return -(-nbytes // step) * step
        return max(MIN_BLOCK, -(-nbytes // MIN_BLOCK) * MIN_BLOCK)

    def splits(self, pool: str, size: int, have: int) -> bool:
        """Whether a block of `have` bytes is cut for one of `size`: the rest must be worth keeping."""
        if pool == "small" or self.expandable:
            return have - size >= MIN_BLOCK
        return (self.max_split_size is None or size < self.max_split_size) and have - size > SMALL_SIZE

    def fits(self, size: int, have: int) -> bool:
        """Whether a free block of at least `size` bytes may be used: with max_split_size, big blocks are for big requests."""
        if self.max_split_size is None:
            return True
        if size < self.max_split_size:
            return have < self.max_split_size
        return have < size + self.max_non_split_rounding


def pool_of(size: int) -> str:
    """The pool of a rounded request: small up to 1 MiB, else large."""
    return "small" if size <= SMALL_SIZE else "large"


def page_of(pool: str) -> int:
    """What an expandable segment grows by: 2 MiB in the small pool, 20 MiB in the large one."""
    return SMALL_SEGMENT if pool == "small" else LARGE_SEGMENT


def segment_size(size: int) -> int:
    """What cudaMalloc is asked for when no free block fits a rounded request: 2 MiB, 20 MiB, or the size rounded up to 2 MiB."""
    if size <= SMALL_SIZE:
        return SMALL_SEGMENT
    return LARGE_SEGMENT if size < MIN_LARGE else -(-size // ROUND_LARGE) * ROUND_LARGE
