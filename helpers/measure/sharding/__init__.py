"""One rank's share of a training step, on the meta device: which slices it holds, what it gathers, how much waits in its pipeline."""

from .buckets import bucket_sizes, make_buckets
from .part import Part, part
from .pipeline import Pipeline, in_flight, order
from .plan import Sharding, ShardingError
from .share import Share

__all__ = [
    "Part",
    "Pipeline",
    "Sharding",
    "ShardingError",
    "Share",
    "bucket_sizes",
    "in_flight",
    "make_buckets",
    "order",
    "part",
]
