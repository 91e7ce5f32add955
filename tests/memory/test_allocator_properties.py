"""Random programs: the blocks always fill their segments, and a slow allocator written from the rules alone agrees byte for byte."""

import random
import time
from itertools import pairwise

import numpy as np
import pytest

from helpers.memory import Event, Trace
from helpers.memory.allocator import Allocator, OutOfMemory, Rules, replay
from helpers.units import MIB

SETTINGS = (
    {},
    {"expandable": True},
    {"limit": 200 * MIB},
    {"limit": 200 * MIB, "expandable": True},
    {"max_split_size": 24 * MIB, "limit": 300 * MIB},
    {"allowed": 260 * MIB, "garbage_collection_threshold": 0.6},
)


def random_trace(seed, nevents=160):
    """Sizes from bytes to 32 MiB, some round, frees in any order, now and then an emptied cache."""
    rng, events, alive = random.Random(seed), [], []
    while len(events) < nevents:
        if rng.random() < 0.03:
            events.append(Event("mark", -1, 0, "temporary", op="empty_cache"))
        elif alive and rng.random() < 0.48:
            events.append(alive.pop(rng.randrange(len(alive)))._replace(kind="free"))
        else:
            nbytes = rng.choice((int(2 ** rng.uniform(0, 25)), rng.randrange(1, 33) * MIB // 2, 512 * rng.randrange(9)))
            alive.append(Event("alloc", len(events), nbytes, "temporary"))
            events.append(alive[-1])
    return Trace(tuple(events), "predicted (meta)")


def check_state(made, index):
    """Blocks fill each segment, taken ones are the trace's, no two free ones touch, and the sums are the curves."""
    found = made.segments(index)
    for segment in found:
        at = segment.address
        for block, following in zip(segment.blocks, (*segment.blocks[1:], None), strict=True):
            assert block.address == at
            assert block.size > 0
            assert block.requested <= block.size
            assert not (following and block.state == following.state == "inactive")
            at += block.size
        assert at == segment.address + segment.size
    ends = [(s.address, s.address + s.size) for s in found]
    assert all(a[1] <= b[0] for a, b in pairwise(ends))
    assert sum(s.size for s in found) == made.reserved[index]
    assert sum(s.allocated for s in found) == made.allocated[index] <= made.reserved[index]
    return {block.block for s in found for block in s.blocks if block.block >= 0}


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_blocks_fill_their_segments_at_every_event(settings):
    for seed in range(12):
        trace = random_trace(seed)
        made = replay(trace, raises=False, **settings)
        alive = set()
        for index, event in enumerate(trace.events[: len(made) - bool(made.oom)]):
            (alive.add if event.kind == "alloc" and event.nbytes else alive.discard)(event.block)
            assert check_state(made, index) == alive


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_free_list_is_the_free_blocks(settings):
    for seed in range(12):
        allocator = Allocator(Rules(**settings))
        try:
            for event in random_trace(seed).events:
                if event.kind == "alloc":
                    allocator.malloc(event.block, event.nbytes)
                elif event.kind == "free":
                    allocator.free(event.block)
        except OutOfMemory as error:
            cached = sum(size for pool in allocator.pools.values() for size, _ in pool.free)
            assert error.unallocated == cached
        for pool in allocator.pools.values():
            assert pool.free == sorted(pool.free)
            assert sorted(pool.at) == sorted([address for _, address in pool.free] + pool.unmapped)
            assert all(pool.at[address].size == size for size, address in pool.free)


class Slow:
    """The rules without data structures: every segment is a list of [size, owner]; segments stand one behind the other."""

    def __init__(self):
        self.segments, self.end = [], 0

    def malloc(self, owner, nbytes):
        if not nbytes:
            return
        size = (nbytes + 511) // 512 * 512
        small = size <= MIB
        fits = [
            (block[0], address + sum(b[0] for b in blocks[:i]), blocks, i)
            for address, pool, blocks in self.segments
            for i, block in enumerate(blocks)
            if pool == small and block[1] is None and block[0] >= size
        ]
        if fits:
            _, _, blocks, i = min(fits, key=lambda fit: fit[:2])
        else:
            new = 2 * MIB if small else 20 * MIB if size < 10 * MIB else (size + 2 * MIB - 1) // (2 * MIB) * 2 * MIB
            blocks, i = [[new, None]], 0
            self.segments.append((self.end, small, blocks))
            self.end += new
        rest = blocks[i][0] - size
        if rest >= 512 if small else rest > MIB:
            blocks.insert(i + 1, [rest, None])
            blocks[i][0] = size
        blocks[i][1] = owner

    def free(self, owner):
        for _, _, blocks in self.segments:
            for block in blocks:
                if block[1] == owner:
                    block[1] = None
            for i in range(len(blocks) - 1, 0, -1):
                if blocks[i][1] is None and blocks[i - 1][1] is None:
                    blocks[i - 1][0] += blocks.pop(i)[0]

    def empty_cache(self):
        self.segments = [s for s in self.segments if len(s[2]) > 1 or s[2][0][1] is not None]


def test_a_slow_allocator_written_from_the_rules_agrees_block_by_block():
    for seed in range(40):
        trace = random_trace(seed, 200)
        slow = Slow()
        for event in trace.events:
            if event.kind == "alloc":
                slow.malloc(event.block, event.nbytes)
            elif event.kind == "free":
                slow.free(event.block)
            else:
                slow.empty_cache()
        made = [[[b.size, None if b.block < 0 else b.block] for b in s.blocks] for s in replay(trace).segments()]
        assert made == [blocks for _, _, blocks in slow.segments]


@pytest.mark.alone  # it takes a time
def test_a_long_trace_is_replayed_quickly():
    trace = random_trace(1, 14_000)
    begin = time.process_time()
    made = replay(trace)
    assert time.process_time() - begin < 0.5  # about 0.05 s
    assert np.all(made.allocated <= made.reserved)
