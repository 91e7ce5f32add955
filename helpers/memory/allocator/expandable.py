"""Expandable segments: address space is reserved once, and pages are mapped into it as they are needed. Chapter: allocator.

Follows find_expandable_block, map_block, try_allocate_expandable_block and unmap_block of torch's CUDACachingAllocator.cpp.
"""

from __future__ import annotations

from helpers.memory.allocator.blocks import Chunk, Pool, Space
from helpers.memory.allocator.books import Books
from helpers.memory.allocator.rules import page_of
from helpers.units import TIB

DEVICE = 4 * TIB  # a device whose size nobody said: more than any trace of the course maps


def space_size(pool: str, limit: int | None) -> int:
    """The address space that an expandable segment reserves: the device's memory and an eighth, in whole pages."""
    page, total = page_of(pool), limit or DEVICE
    return -(-(total + total // 8) // page) * page


class Expandable(Books):
    """The half of the allocator that grows and shrinks expandable segments; mixed into `Allocator`."""

    def _expand(self, pool: Pool, size: int) -> Chunk | None:
        """A free chunk of at least `size` bytes, made by mapping pages behind (or into) what is free; None where they do not fit."""
        chunk = self._lowest(pool, size)
        if not chunk.mapped and not self._map(chunk, min(chunk.size, size)):
            return None
        while chunk.size < size and (following := chunk.following):
            if not self._map(following, min(size - chunk.size, following.size)):
                return None
            chunk = following  # which has absorbed what was before it
        pool.remove(chunk)
        return chunk

    def _lowest(self, pool: Pool, size: int) -> Chunk:
        """The lowest address from which `size` bytes are free or unmapped; else a new address range."""
        for address in pool.unmapped:
            chunk = pool.at[address]
            if chunk.previous and chunk.previous.owner is None:
                chunk = chunk.previous
            if _available(chunk, size):
                return chunk
        nbytes = space_size(pool.name, self.rules.limit)
        space = Space(self._place(nbytes), nbytes)
        chunk = Chunk(space.address, space.size, pool, space)
        chunk.mapped = False
        pool.insert(chunk)
        return chunk

    def _map(self, chunk: Chunk, size: int) -> bool:
        """Maps whole pages for the first `size` bytes of an unmapped chunk, which then joins its free neighbours."""
        page, pool = page_of(chunk.pool.name), chunk.pool
        nbytes = -(-size // page) * page
        if self.rules.limit is not None and self.reserved + nbytes > self.rules.limit:
            return False
        pool.remove(chunk)
        if nbytes < chunk.size:
            pool.insert(chunk.cut(nbytes))
        chunk.mapped = True
        self.reserved += nbytes
        self.device_calls += 1
        self._note("segment_map", chunk)
        chunk.absorb(chunk.previous)
        chunk.absorb(chunk.following)
        pool.insert(chunk)
        return True

    def _unmap(self, chunk: Chunk, space: Space) -> None:
        """Gives back the whole pages inside a free chunk; what is left of it on either side stays cached."""
        page, pool, base = page_of(chunk.pool.name), chunk.pool, space.address
        begin = base + -(-(chunk.address - base) // page) * page
        end = base + (chunk.address + chunk.size - base) // page * page
        if begin >= end:
            return
        pool.remove(chunk)
        if begin > chunk.address:
            before, chunk = chunk, chunk.cut(begin - chunk.address)
            pool.insert(before)
        if end < chunk.address + chunk.size:
            pool.insert(chunk.cut(end - chunk.address))
        chunk.mapped = False
        self.reserved -= chunk.size
        self._note("segment_unmap", chunk)
        chunk.absorb(chunk.previous)
        chunk.absorb(chunk.following)
        if chunk.is_split:
            pool.insert(chunk)  # else all of the range is unmapped, and it is given back too


def _available(chunk: Chunk | None, size: int) -> bool:
    """Whether `size` bytes from here on are free or unmapped."""
    room = 0
    while room < size and chunk is not None and chunk.owner is None:
        room += chunk.size
        chunk = chunk.following
    return room >= size
