"""A model of the CUDA caching allocator: what it does with every malloc and free, on one stream of one device. Chapter: allocator.

It follows DeviceCachingAllocator of torch's c10/cuda/CUDACachingAllocator.cpp step by step. What it does not do: a second stream and
record_stream (a block used on another stream is not free before an event has passed), private pools of CUDA graphs and MemPool, and
addresses as the driver would choose them: new segments stand one behind the other, unless `addresses` says where they stood.
"""

from __future__ import annotations

from helpers.memory.allocator.blocks import Chunk, Pool
from helpers.memory.allocator.books import Action
from helpers.memory.allocator.errors import OutOfMemory
from helpers.memory.allocator.expandable import Expandable
from helpers.memory.allocator.rules import pool_of, segment_size


class Allocator(Expandable):
    """malloc, free and empty_cache on byte counts. Every step is noted in `actions`; `event` is what the next note refers to."""

    def malloc(self, owner: int, nbytes: int) -> None:
        """A block for tensor `owner`. OutOfMemory as torch would raise it; a tensor of 0 bytes gets nothing, as in torch."""
        if nbytes == 0:
            return
        size = self.rules.round_size(nbytes)
        pool = self.pools[pool_of(size)]
        chunk = self._search(pool, size) or self._grow(pool, size)
        if chunk is None:
            raise self._out_of_memory(pool, size, nbytes)
        if self.rules.splits(pool.name, size, chunk.size):
            pool.insert(chunk.cut(size))
        chunk.owner, chunk.requested = owner, nbytes
        self.taken[owner] = chunk
        self.allocated += chunk.size
        self._note("alloc", chunk, nbytes, owner)

    def free(self, owner: int) -> None:
        """The tensor's block becomes free at once and joins its free neighbours."""
        chunk = self.taken.pop(owner, None)
        if chunk is None:
            return
        self._note("free_completed", chunk, chunk.requested, owner)
        self.allocated -= chunk.size
        chunk.owner, chunk.requested = None, 0
        chunk.absorb(chunk.previous)
        chunk.absorb(chunk.following)
        chunk.pool.insert(chunk)

    def empty_cache(self) -> None:
        """Gives back every segment that holds no tensor (and every empty page of an expandable one)."""
        for name in ("large", "small"):
            pool = self.pools[name]
            chunks = pool.cached()
            for chunk in (c for c in chunks if not c.space and not c.is_split):
                self._release(chunk)
            for chunk in chunks:
                if chunk.space:
                    self._unmap(chunk, chunk.space)

    def _search(self, pool: Pool, size: int) -> Chunk | None:
        """Best fit, taken out of the pool."""
        pool.searches += 1
        chunk = pool.best(size)
        if chunk is None or not self.rules.fits(size, chunk.size):
            return None
        pool.remove(chunk)
        return chunk

    def _grow(self, pool: Pool, size: int) -> Chunk | None:
        """A new segment; if the device refuses, some of the cache is given back, then all of it, and it is asked again."""
        if self.rules.allowed is not None and self.rules.garbage_collection_threshold:
            self._collect_garbage(self.rules.allowed)
        if chunk := self._segment(pool, size):
            return chunk
        if self._release_oversize(pool, size) and (chunk := self._segment(pool, size)):
            return chunk
        self.retries += 1
        self.empty_cache()
        return self._segment(pool, size)

    def _segment(self, pool: Pool, size: int) -> Chunk | None:
        """One cudaMalloc, or pages mapped into an expandable segment; None where there is no room."""
        wanted = segment_size(size)
        if self.rules.allowed is not None and self.reserved + wanted > self.rules.allowed:
            return None
        if self.rules.expandable:
            return self._expand(pool, size)
        if self.rules.limit is not None and self.reserved + wanted > self.rules.limit:
            return None
        chunk = Chunk(self._place(wanted), wanted, pool)
        self.reserved += wanted
        self.device_calls += 1
        self._note("segment_alloc", chunk)
        return chunk

    def _release(self, chunk: Chunk) -> None:
        """One cudaFree."""
        chunk.pool.remove(chunk)
        self.reserved -= chunk.size
        self._note("segment_free", chunk)

    def _release_oversize(self, pool: Pool, size: int) -> bool:
        """With max_split_size: unsplit blocks of at least that size go back until the request would fit into what they held."""
        if self.rules.max_split_size is None:
            return False
        need = max(size, self.rules.max_split_size)
        if (chunk := pool.best(need)) and not chunk.space:
            self._release(chunk)
            return True
        released = 0
        for chunk in reversed(pool.cached()):
            if released >= need or chunk.size < self.rules.max_split_size:
                break
            if not chunk.space:
                released += chunk.size
                self._release(chunk)
        return released >= need

    def _collect_garbage(self, allowed: int) -> None:
        """Gives back whole segments that were free for at least the average number of searches, until usage is under the threshold."""
        pool = self.pools["large"]
        target = self.reserved - int(self.rules.garbage_collection_threshold * allowed)
        idle = {c.address: c for c in pool.cached() if not c.is_split and not c.space}
        while target > 0 and idle:
            limit = sum(pool.searches - c.age for c in idle.values()) / len(idle)
            old = [c for c in idle.values() if pool.searches - c.age >= limit]
            for chunk in old:
                target -= chunk.size
                del idle[chunk.address]
                self._release(chunk)

    def _out_of_memory(self, pool: Pool, size: int, nbytes: int) -> OutOfMemory:
        room = [limit - self.reserved for limit in (self.rules.limit, self.rules.allowed) if limit is not None]
        largest = pool.free[-1][0] if pool.free else 0
        self.actions.append(Action(self.event, "oom", pool.name, 0, segment_size(size), nbytes))
        return OutOfMemory(nbytes, segment_size(size), min(room), self.allocated, self.reserved, largest, pool.name)
