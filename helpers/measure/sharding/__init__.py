"""One rank's share of a training step, on the meta device: which slices it holds, what it gathers, how much waits in its pipeline."""

from helpers.memory.payloads import bucket_sizes
from helpers.memory.sharding import Sharding, ShardingError

from .part import Part, part
from .pipeline import Parts, Pipeline
from .share import Share, make_buckets

__all__ = [
    "Part",
    "Parts",
    "Pipeline",
    "Sharding",
    "ShardingError",
    "Share",
    "bucket_sizes",
    "make_buckets",
    "part",
]
