"""The out-of-memory error that tells its story, in torch's words and with what torch leaves out. Chapter: allocator."""

from __future__ import annotations

from typing import Any

from helpers.units import GIB, KIB, MIB


def size_text(nbytes: int) -> str:
    """20971520 -> "20.00 MiB", spelled as torch's errors spell sizes."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if nbytes > unit or (unit == KIB and nbytes > 1024):
            return f"{nbytes / unit:.2f} {name}"
    return f"{nbytes} bytes"


class OutOfMemory(RuntimeError):
    """No free block fits, and the device has no room for another segment, not even after the cache was emptied.

    requested: the tensor's bytes. wanted: the segment that was asked for, which is what torch's message names. free: left on the device.
    allocated, reserved: as torch counts them. largest_free: the largest free block in the pool that was searched, which torch does not
    tell. replay: the Replay of everything up to this event, where `replay` raised it.
    """

    replay: Any = None

    def __init__(
        self, requested: int, wanted: int, free: int, allocated: int, reserved: int, largest_free: int, pool: str
    ):
        self.requested, self.wanted, self.free = requested, wanted, free
        self.allocated, self.reserved, self.largest_free, self.pool = allocated, reserved, largest_free, pool
        super().__init__(
            f"CUDA out of memory (model). Tried to allocate {size_text(wanted)} for a tensor of {size_text(requested)}."
            f" {size_text(free)} of the device is free. {size_text(allocated)} is allocated, and"
            f" {size_text(reserved - allocated)} is reserved but unallocated:"
            f" the largest free block of the {pool} pool has {size_text(largest_free)}."
        )

    @property
    def unallocated(self) -> int:
        """Bytes that are reserved and that no tensor uses."""
        return self.reserved - self.allocated
