"""The same step in five ways, its timeline on every rank, and what `helpers.overlap` says of it. Chapter: overlap.

with Ranks(4, backend="gloo", link=link) as ranks:
    steps = ranks.run(measured, "overlapped", [Layer(0.004, 0.02, 2**18)] * 8, 2**19)[0]

naive       after backward, an all_reduce for every layer
bucketed    after backward, an all_reduce for every bucket
overlapped  a bucket leaves during backward, as soon as it stands (helpers.parallel.data.Overlap)
zero-3      helpers.parallel.zero: a layer is gathered when it is needed, its gradients are reduced at once
zero-3, prefetched   the next layer is gathered meanwhile
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.collectives import CATALOGUE, price
from helpers.collectives.ports import Network
from helpers.overlap import Bucket, Overlap, Unit, fill, gathered, overlap
from helpers.parallel import data
from helpers.parallel.data.bucketed import flat, give_back, in_buckets
from helpers.parallel.zero import Group, Zero

from .lanes import Lanes, Step
from .slept import ITEM, Layer, Slept, mean_gradient

Run = Callable[[], None]
Way = Callable[[nn.Sequential, Lanes, int], Run]


class Noted(data.Overlap):
    """The library's own, with a note of every call."""

    lanes: Lanes

    def _send(self, number: int) -> None:
        super()._send(number)
        whole, work = self.flying[number]
        self.lanes.called(f"all_reduce {number}", whole.nbytes, work)


class NotedGroup(Group):
    """The library's own, with a note of every call."""

    def __init__(self, lanes: Lanes):
        super().__init__()
        self.lanes = lanes

    def all_gather(self, whole: Tensor, part: Tensor) -> dist.Work:
        work = super().all_gather(whole, part)
        self.lanes.called("all_gather", whole.nbytes, work)
        return work

    def reduce_scatter(self, part: Tensor, whole: Tensor) -> None:
        with self.lanes.span("communication", "reduce_scatter", whole.nbytes):
            super().reduce_scatter(part, whole)


def _after_backward(one_by_one: bool) -> Way:
    def way(model: nn.Sequential, lanes: Lanes, bucket_bytes: int) -> Run:
        params = dict(model.named_parameters())
        limit = 1 if one_by_one else bucket_bytes
        buckets = in_buckets(params, limit, limit)

        def run() -> None:
            _passed(model).backward()
            for number, bucket in enumerate(buckets):
                whole = flat(bucket)
                with lanes.span("communication", f"all_reduce {number}", whole.nbytes):
                    dist.all_reduce(whole, op=dist.ReduceOp.AVG)
                give_back(bucket, whole)

        return run

    return way


def _overlapped(model: nn.Sequential, lanes: Lanes, bucket_bytes: int) -> Run:
    sender = Noted(dict(model.named_parameters()), bucket_bytes, bucket_bytes)
    sender.lanes = lanes

    def run() -> None:
        _passed(model).backward()
        sender.finish()

    return run


def _zero(prefetch: bool) -> Way:
    def way(model: nn.Sequential, lanes: Lanes, bucket_bytes: int) -> Run:
        zero = Zero(model, 3, units=model, group=NotedGroup(lanes), prefetch=prefetch)

        def run() -> None:
            _passed(model).backward()
            zero.reduce()
            for unit, layer in zip(zero.units, model, strict=True):
                layer.reduced, unit.ready = unit.grad.clone(), False
            zero.zero_grad()

        return run

    return way


WAYS: dict[str, Way] = {
    "naive": _after_backward(one_by_one=True),
    "bucketed": _after_backward(one_by_one=False),
    "overlapped": _overlapped,
    "zero-3": _zero(prefetch=False),
    "zero-3, prefetched": _zero(prefetch=True),
}


def _passed(model: nn.Sequential) -> Tensor:
    return model(torch.zeros(1)).sum()


def measured(way: str, layers: Sequence[Layer], bucket_bytes: int = 1, reps: int = 3) -> list[list[Step]]:
    """Inside ranks, on an emulated network: `reps` steps, of each what every rank did. bucket_bytes: a bucket is full with so many.

    ValueError for another way, and for layers whose bytes cannot be shared out; RuntimeError where a gradient is not the mean.
    """
    checked(way, layers, dist.get_world_size())
    lanes = Lanes()
    model = nn.Sequential(*(Slept(layer, number, lanes) for number, layer in enumerate(layers)))
    run = WAYS[way](model, lanes, bucket_bytes)
    mine = [_step(run, model, lanes) for _ in range(reps + 1)][1:]  # the first one connects the ranks
    every: list[list[Step]] = [mine] * dist.get_world_size()
    dist.all_gather_object(every, mine)
    return [list(step) for step in zip(*every, strict=True)]


def checked(way: str, layers: Sequence[Layer], nranks: int) -> None:
    """ValueError for another way, and for layers that do not divide by the ranks."""
    if way not in WAYS:
        raise ValueError(f"a way is one of {', '.join(WAYS)}, got {way!r}")
    for number, layer in enumerate(layers):
        if layer.nbytes < 1 or layer.nbytes % (ITEM * nranks):
            raise ValueError(f"layer {number} has {layer.nbytes} bytes: expected a multiple of {ITEM * nranks}")


def _step(run: Run, model: nn.Sequential, lanes: Lanes) -> Step:
    lanes.begin()
    run()
    step = lanes.finish()
    for layer in model:
        gradient = layer.weight.grad if layer.weight.grad is not None else layer.reduced
        if not torch.equal(gradient, torch.full_like(gradient, mean_gradient())):
            raise RuntimeError(f"layer {layer.number} has a gradient that is not the mean over ranks")
        layer.weight.grad = None
    return step


def predicted(way: str, layers: Sequence[Layer], network: Network, nranks: int, bucket_bytes: int = 1) -> Overlap:
    """The same step on paper: what calls take is the price of the rings that an emulated network plays. Needs no ranks."""
    checked(way, layers, nranks)

    def seconds_of(collective: str) -> Callable[[int], float]:
        s = CATALOGUE[collective, "ring"](nranks=nranks)
        return lambda nbytes: price(s, nbytes, network).seconds

    if way.startswith("zero"):
        units = [Unit(*layer) for layer in layers]
        ahead = 1 if "prefetched" in way else 0
        return gathered(units, ahead, seconds_of("all_gather"), buffers=0, host_ahead=False)
    backwards = [(layer.backward, layer.nbytes) for layer in reversed(layers)]
    before = sum(layer.forward for layer in layers)
    computed = before + sum(layer.backward for layer in layers)
    buckets = fill(backwards, 1 if way == "naive" else bucket_bytes, before=before)
    if way != "overlapped":
        buckets = tuple(Bucket(computed, bucket.nbytes) for bucket in buckets)
    return overlap(computed, buckets, seconds_of("all_reduce"))
