"""Blocks, which know their neighbours, and a pool of free ones, sorted as the allocator searches them. Chapter: allocator."""

from __future__ import annotations

from bisect import bisect_left, insort


class Chunk:
    """A piece of a segment: taken (owner: the trace's block), free (owner None), or unmapped address space of an expandable segment."""

    __slots__ = ("address", "age", "following", "mapped", "owner", "pool", "previous", "requested", "size", "space")

    def __init__(self, address: int, size: int, pool: Pool, space: Space | None = None):
        self.address, self.size, self.pool, self.space = address, size, pool, space
        self.previous: Chunk | None = None
        self.following: Chunk | None = None
        self.owner: int | None = None
        self.requested = 0
        self.mapped = True
        self.age = 0  # the pool's number of searches when it became free

    @property
    def is_split(self) -> bool:
        return self.previous is not None or self.following is not None

    def cut(self, size: int) -> Chunk:
        """Keeps the first `size` bytes; the rest, a chunk of the same kind, follows it."""
        rest = Chunk(self.address + size, self.size - size, self.pool, self.space)
        rest.mapped, rest.previous, rest.following = self.mapped, self, self.following
        if rest.following:
            rest.following.previous = rest
        self.size, self.following = size, rest
        return rest

    def absorb(self, other: Chunk | None) -> None:
        """Takes a free neighbour of the same kind into itself, out of its pool."""
        if other is None or other.owner is not None or other.mapped != self.mapped:
            return
        other.pool.remove(other)
        if other is self.previous:
            self.address, self.previous = other.address, other.previous
            if self.previous:
                self.previous.following = self
        else:
            self.following = other.following
            if self.following:
                self.following.previous = self
        self.size += other.size


class Space:
    """The address range that one expandable segment reserved: far more than is mapped."""

    __slots__ = ("address", "size")

    def __init__(self, address: int, size: int):
        self.address, self.size = address, size


class Pool:
    """The free chunks of one pool: mapped ones by (size, address), which makes best fit one bisection, unmapped ones by address."""

    def __init__(self, name: str):
        self.name = name
        self.free: list[tuple[int, int]] = []
        self.unmapped: list[int] = []
        self.at: dict[int, Chunk] = {}
        self.searches = 0

    def insert(self, chunk: Chunk) -> None:
        self.at[chunk.address] = chunk
        if chunk.mapped:
            chunk.age = self.searches
            insort(self.free, (chunk.size, chunk.address))
        else:
            insort(self.unmapped, chunk.address)

    def remove(self, chunk: Chunk) -> None:
        del self.at[chunk.address]
        keys, key = (self.free, (chunk.size, chunk.address)) if chunk.mapped else (self.unmapped, chunk.address)
        del keys[bisect_left(keys, key)]

    def best(self, size: int) -> Chunk | None:
        """The smallest free chunk of at least `size` bytes; of equals the one with the lowest address."""
        i = bisect_left(self.free, (size, 0))
        if i == len(self.free):
            return None
        chunk = self.at[self.free[i][1]]
        while chunk.space and i + 1 < len(self.free):
            other = self.at[self.free[i + 1][1]]
            if room(other) >= room(chunk):
                break
            chunk, i = other, i + 1
        return chunk

    def cached(self) -> list[Chunk]:
        """The free chunks, smallest first."""
        return [self.at[address] for _, address in self.free]


def room(chunk: Chunk) -> int:
    """What a free chunk can grow to: in an expandable segment its size counts together with unmapped space behind it."""
    after = chunk.following
    return chunk.size + (after.size if after and not after.mapped else 0)
