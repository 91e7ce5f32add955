"""One rank's share of a training step, on the meta device: which slices it holds, what it gathers, how much waits in its pipeline."""

from .buckets import bucket_sizes, make_buckets
from .part import Part, part
from .pipeline import in_flight, order, run
from .plan import Sharding

__all__ = ["Part", "Sharding", "bucket_sizes", "in_flight", "make_buckets", "order", "part", "run"]
