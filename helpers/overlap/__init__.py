"""What of communication a step waits for: calls that run beside computation, priced before anything runs.

    o = overlap(0.1, fill(layers, 25 * MIB), seconds_of)
    print(o); o.exposed; o.spans

`seconds_of(nbytes)` says what a call takes: a price, a prediction of NCCL's model, or a measurement. Chapter: overlap.
"""

from .buckets import Bucket, best, by_size, fill, overlap
from .closed_form import best_number, exposed_of_equal
from .gathers import FSDP2, Replicas, Unit, gathered
from .outcome import Call, Overlap

__all__ = [
    "FSDP2",
    "Bucket",
    "Call",
    "Overlap",
    "Replicas",
    "Unit",
    "best",
    "best_number",
    "by_size",
    "exposed_of_equal",
    "fill",
    "gathered",
    "overlap",
]
