"""The allocator's books: what it holds of the device, and a note of all that it did. Chapter: allocator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from helpers.memory.allocator.blocks import Chunk, Pool
from helpers.memory.allocator.rules import POOLS, Rules


class Action(NamedTuple):
    """One thing the allocator did, named as in torch's own memory history.

    event: index of the trace's event that caused it. action: "alloc", "free_completed", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap" or "oom". size: bytes of the block, segment or pages. requested, owner: of the tensor (else 0 and -1).
    """

    event: int
    action: str
    pool: str
    address: int
    size: int
    requested: int = 0
    owner: int = -1


class Books:
    """Pools, totals in bytes, and `actions`; `event` is what the next note refers to."""

    def __init__(self, rules: Rules | None = None, addresses: Sequence[int] = ()):
        self.rules = rules or Rules()
        self.pools = {name: Pool(name) for name in POOLS}
        self.taken: dict[int, Chunk] = {}
        self.allocated = self.reserved = self.device_calls = self.retries = self.event = 0
        self.actions: list[Action] = []
        self._addresses = iter(addresses)
        self._end = 0

    def _place(self, size: int) -> int:
        """Where the next segment stands."""
        address = next(self._addresses, None)
        address = self._end if address is None else address
        self._end = max(self._end, address + size)
        return address

    def _note(self, action: str, chunk: Chunk, requested: int = 0, owner: int = -1) -> None:
        self.actions.append(Action(self.event, action, chunk.pool.name, chunk.address, chunk.size, requested, owner))
