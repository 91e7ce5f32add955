"""What fills a GPU, on paper: traces, closed forms, the allocator's model, the roofline. No torch."""

from helpers.memory import closed_form
from helpers.memory.packed import pack, unpack
from helpers.memory.sharding import Sharding, ShardingError
from helpers.memory.trace import CLASSES, TAKEN_FROM, Block, Event, Peak, Sample, Trace, TraceError

__all__ = [
    "CLASSES",
    "TAKEN_FROM",
    "Block",
    "Event",
    "Peak",
    "Sample",
    "Sharding",
    "ShardingError",
    "Trace",
    "TraceError",
    "closed_form",
    "pack",
    "unpack",
]
