"""Gradients in buckets, sent while backward goes on. Chapter: overlap.

Two forces set the size. A call has a latency, so few calls are cheaper than many; a bucket leaves when its last gradient stands, so a
large one leaves late, and the last one always after all computation. `closed_form` has their balance for equal layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from helpers.memory.payloads import assigned

from .outcome import Call, Overlap, SecondsOf, Span, duration, priced, size

Layer = tuple[float, int]
_LAST_BIT = 1e-9  # relative: two ways to add the same floats up


class Bucket(NamedTuple):
    """ready: seconds after the step's compute timeline began, when all its gradients stand. nbytes: of these gradients."""

    ready: float
    nbytes: int


def fill(
    layers: Sequence[Layer], bucket_bytes: int, first_bytes: int | None = None, before: float = 0
) -> tuple[Bucket, ...]:
    """The buckets of `layers`, each (seconds, bytes of its gradients), in the order in which backward comes to them.

    A bucket is full as soon as it holds bucket_bytes or more, by torch DDP's rule and with our own code (helpers.parallel.data).
    A layer's gradients stand at its end, all together. first_bytes: the first bucket's limit, 1 MiB in DDP; by default the same.
    before: seconds of computation before the first of these layers, as of forward. A layer without gradients takes its time only.
    ValueError for what is no time and no size.
    """
    checked(layers)
    size("bucket_bytes", bucket_bytes, least=1)
    first = size("first_bytes", bucket_bytes if first_bytes is None else first_bytes, least=1)
    ready = duration("before", before)
    stand: list[Layer] = []
    for seconds, nbytes in layers:
        ready += seconds
        if nbytes:
            stand.append((ready, nbytes))
    whole = assigned([nbytes for _, nbytes in stand], first, bucket_bytes)
    return tuple(Bucket(stand[places[-1]][0], sum(stand[place][1] for place in places)) for places in whole)


def checked(layers: Sequence[Layer]) -> None:
    """ValueError unless there are layers, and each has a time and a size."""
    if not layers:
        raise ValueError("expected layers, each (seconds, bytes of its gradients), got none")
    for place, (seconds, nbytes) in enumerate(layers):
        duration(f"seconds of layer {place}", seconds)
        size(f"gradients of layer {place}", nbytes)


def overlap(computed: float, buckets: Sequence[Bucket], seconds_of: SecondsOf, launch: float = 0) -> Overlap:
    """The step if each bucket leaves when it is ready and the link is free: first ready, first served, one at a time.

    computed: seconds of the whole compute timeline, which nothing interrupts; only the step's end waits for the last bucket.
    seconds_of: what an all_reduce of so many bytes takes. launch: what each call keeps the link besides.
    So max(computed, communication) <= seconds <= computed + communication. What calls take from the computation beside
    them (SMs, memory bandwidth; helpers.nccl.movers) is not in it: give a longer `computed`.
    ValueError for a bucket that is ready after all computation, and for what is no time.
    """
    duration("computed", computed)
    duration("launch", launch)
    for place, bucket in enumerate(buckets):
        duration(f"ready of bucket {place}", bucket.ready)
        size(f"bucket {place}", bucket.nbytes)
        if bucket.ready > computed * (1 + _LAST_BIT):
            raise ValueError(f"bucket {place} is ready at {bucket.ready} s, after all computation, {computed} s")
    free: float = 0
    spans: dict[int, Span] = {}
    for place in sorted(range(len(buckets)), key=lambda place: buckets[place].ready):
        start = max(free, buckets[place].ready)
        free = start + launch + priced(seconds_of, buckets[place].nbytes)
        spans[place] = start, free
    calls = tuple(Call("all_reduce", place, bucket.nbytes) for place, bucket in enumerate(buckets))
    return Overlap(computed, ((0, computed),), calls, tuple(spans[place] for place in range(len(buckets))))


def by_size(
    layers: Sequence[Layer],
    sizes: Iterable[int],
    seconds_of: SecondsOf,
    first_bytes: int | None = None,
    before: float = 0,
    launch: float = 0,
) -> list[tuple[int, Overlap]]:
    """(bucket_bytes, Overlap) for each of `sizes` and for the two ends, the smallest first.

    The ends: 1 byte, so that each layer travels alone, and all bytes, one bucket after backward. The rest is as in `fill`.
    """
    checked(layers)
    everything = max(sum(nbytes for _, nbytes in layers), 1)
    computed = sum((seconds for seconds, _ in layers), before)
    return [
        (nbytes, overlap(computed, fill(layers, nbytes, first_bytes, before), seconds_of, launch))
        for nbytes in sorted({1, *sizes, everything})
    ]


def best(found: Iterable[tuple[int, Overlap]]) -> tuple[int, Overlap]:
    """Of what `by_size` found, where least is exposed; of equals the largest bucket, so the fewest calls."""
    return min(found, key=lambda one: (one[1].seconds, -one[0]))
