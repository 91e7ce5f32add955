"""What communication hides on GPUs: buckets beside a kernel that only takes its time, exposed time by CUDA events, the model beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.overlap import fill, overlap
from helpers.ranks.timing.timing import cycles_a_second
from helpers.units import KIB, MIB

from . import scale
from .place import Place

LAYERS = 16  # of a backward
# What a layer takes, and bytes of its gradients: with room on the GPU, or without
ROOMY, SMALL = (2e-4, 16 * MIB), (1e-3, 64 * KIB)
TOGETHER = (1, 2, 4, 8, LAYERS)  # layers of a bucket
REPS = 5
SHORTEST = 0.9  # a step takes at least so much of the longer of its two lanes: a clock that says less is no clock


class Hidden(NamedTuple):
    """Bytes of a layer and of a bucket; seconds of the slowest rank.

    computed: without any call; alone: all calls in a row without computing; seconds: both together.
    """

    layer: int
    bucket_bytes: int
    computed: float
    alone: float
    seconds: float

    @property
    def calls(self) -> int:
        return LAYERS * self.layer // self.bucket_bytes

    @property
    def exposed(self) -> float:
        return self.seconds - self.computed


def buckets(place: Place) -> dict:
    """Exposed time, bucket size by bucket size, and what `helpers.overlap` makes of the calls' own times. Fails on times that cannot be."""
    with place.ranks() as ranks:
        found = ranks.run(swept, limit=60.0)[0]
    rows = []
    for one in found:
        assert one.seconds > SHORTEST * max(one.computed, one.alone), f"shorter than what is in it: {one}"
        rows.append(one._asdict() | {"calls": one.calls, "exposed": one.exposed, "predicted": predicted(one)})
    least = min(found, key=lambda one: one.exposed)
    told = f"{1e3 * least.exposed:.2f} ms with {least.calls} buckets"
    return {"least exposed": told, "record": {"overlap": {"nranks": place.nranks, "layers": LAYERS, "buckets": rows}}}


def predicted(one: Hidden) -> float:
    """Exposed seconds on paper: every bucket takes an equal part of all calls in a row."""
    layers = [(one.computed / LAYERS, one.layer)] * LAYERS
    return overlap(one.computed, fill(layers, one.bucket_bytes), lambda _: one.alone / one.calls).exposed


def swept() -> list[Hidden]:
    """Inside ranks on GPUs: every size."""
    seconds, nbytes = ROOMY if scale.mine() >= scale.ROOM else SMALL
    cycles, gradients = int(seconds * cycles_a_second()), torch.zeros(LAYERS, nbytes // 4)
    computed = _slowest(lambda: _backward(cycles, gradients, 0))
    found = []
    for together in TOGETHER:
        alone = _slowest(lambda together=together: _backward(0, gradients, together))
        both = _slowest(lambda together=together: _backward(cycles, gradients, together))
        found.append(Hidden(nbytes, together * nbytes, computed, alone, both))
    return found


def _backward(cycles: int, gradients: torch.Tensor, together: int) -> None:
    """Layer after layer; a bucket leaves behind every `together`, 0 for none."""
    works = []
    for number in range(1, LAYERS + 1):
        if cycles:
            torch.cuda._sleep(cycles)
        if together and number % together == 0:
            works.append(dist.all_reduce(gradients[number - together : number], async_op=True))
    for work in works:
        work.wait()


def _slowest(step: Callable[[], None]) -> float:
    """The least of some steps on this rank, the most over ranks; the first connects."""
    times = []
    for _ in range(REPS + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        dist.barrier()
        begin.record()
        step()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    least = torch.tensor(min(times[1:]))
    dist.all_reduce(least, dist.ReduceOp.MAX)
    return least.item()
