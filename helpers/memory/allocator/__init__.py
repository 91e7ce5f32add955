"""A model of PyTorch's CUDA caching allocator, which replays a trace. Read from torch's source; its peaks were
held against public runs (helpers.measure.published), its segments against those of an H200 (recorded/from/1xh200).

What it knows: rounding, two pools, segments, best fit, splitting, coalescing, emptying the cache and asking again, expandable segments,
max_split_size, one roundup_power2_divisions, garbage_collection_threshold. What it lacks: more than one stream and record_stream,
MemPool and CUDA graphs' private pools, a roundup per size interval, and all memory that does not come through the allocator.
Chapters: allocator, too-big.
"""

from helpers.memory.allocator.books import Action
from helpers.memory.allocator.caching import Allocator
from helpers.memory.allocator.errors import OutOfMemory
from helpers.memory.allocator.fragmentation import Fragmentation
from helpers.memory.allocator.programs import program
from helpers.memory.allocator.replay import Replay, replay
from helpers.memory.allocator.rules import Rules, pool_of, segment_size
from helpers.memory.allocator.state import Segment, SegmentBlock

__all__ = [
    "Action",
    "Allocator",
    "Fragmentation",
    "OutOfMemory",
    "Replay",
    "Rules",
    "Segment",
    "SegmentBlock",
    "pool_of",
    "program",
    "replay",
    "segment_size",
]
