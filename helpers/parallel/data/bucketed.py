"""Gradients travel in buckets, first after backward, then during it. Chapter: data-parallel.

A call has a latency whatever its size, so a hundred small gradients are sent as one flat tensor. And a gradient is final long before
backward ends: `overlapped` sends each bucket as soon as its last gradient is there, while earlier layers still compute. That
is what DistributedDataParallel does (Li et al., VLDB 2020, arXiv 2006.15704), with a first bucket of 1 MiB and then 25 MiB; a loop
of all_reduces after backward, as it is often drawn, is `naive` (errata E13).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.memory.payloads import FIRST, REST, assigned, bucket_sizes
from helpers.parallel.model import Params
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, Strategy, watched

from .replicated import all_reduced, local_loss, mean_over_ranks, replicated

SMALL = 4096  # bytes: the table's models have a few KiB, and two buckets or more show what is meant


def in_buckets(params: Params, first: int, rest: int) -> list[list[nn.Parameter]]:
    """The parameters of each bucket, the last layers first: so do their gradients come."""
    backwards = list(reversed(params.values()))
    sizes = [p.numel() * p.element_size() for p in backwards]
    return [[backwards[place] for place in bucket] for bucket in assigned(sizes, first, rest)]


def flat(bucket: list[nn.Parameter]) -> Tensor:
    """Its gradients, one after the other, in a new tensor."""
    return torch.cat([p.grad.flatten() for p in bucket])


def give_back(bucket: list[nn.Parameter], mean: Tensor) -> None:
    """The means into the gradients they came from."""
    for p, piece in zip(bucket, mean.split([p.numel() for p in bucket]), strict=True):
        p.grad.copy_(piece.view_as(p))


def bucketed(training: Training, first: int = FIRST, rest: int = REST) -> Trained:
    """Inside a rank: after backward, an all_reduce for each bucket. first, rest: bytes at which a bucket is full."""

    def synchronise(params: Params) -> None:
        for bucket in in_buckets(params, first, rest):
            whole = flat(bucket)
            dist.all_reduce(whole, op=dist.ReduceOp.AVG)
            give_back(bucket, whole)

    return replicated(training, synchronise)


class Overlap:
    """Sends each bucket when its last gradient has come, and those before it have left: so all ranks call in one order.

    `finish` waits for all of them and hands the means back.
    buckets: the parameters of each, the same on every rank; by default as DDP would fill them, full at `first` and `rest` bytes.
    """

    def __init__(
        self, params: Params, first: int = FIRST, rest: int = REST, buckets: list[list[nn.Parameter]] | None = None
    ):
        self.buckets = in_buckets(params, first, rest) if buckets is None else buckets
        self.missing = [len(bucket) for bucket in self.buckets]
        self.left: list[int] = []
        self.flying: dict[int, tuple[Tensor, dist.Work]] = {}
        self.hooks = [
            p.register_post_accumulate_grad_hook(self._arrived(number))
            for number, bucket in enumerate(self.buckets)
            for p in bucket
        ]

    def _arrived(self, number: int) -> Callable[[Tensor], None]:
        def hook(_: Tensor) -> None:
            self.missing[number] -= 1
            while len(self.flying) < len(self.buckets) and not self.missing[len(self.flying)]:
                self._send(len(self.flying))

        return hook

    def _send(self, number: int) -> None:
        whole = flat(self.buckets[number])
        self.left.append(sum(map(len, self.buckets)) - sum(self.missing))
        self.flying[number] = whole, dist.all_reduce(whole, op=dist.ReduceOp.AVG, async_op=True)

    def finish(self) -> list[int]:
        """After how many gradients each bucket left.

        RuntimeError naming how many gradients have not come: their bucket was never sent, and every rank would wait for it.
        """
        if any(self.missing):
            raise RuntimeError(f"backward has left {sum(self.missing)} parameters without a gradient")
        for number, bucket in enumerate(self.buckets):
            whole, handle = self.flying.pop(number)
            handle.wait()
            give_back(bucket, whole)
            self.missing[number] = len(bucket)
        left, self.left = self.left, []
        return left

    def remove(self) -> None:
        """The parameters no longer tell."""
        for hook in self.hooks:
            hook.remove()


def overlapped(training: Training, first: int = FIRST, rest: int = REST) -> Trained:
    """Inside a rank: the buckets leave during backward; only what is still on its way then is waited for."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    params, losses = training.params(), []
    optimizer = training.make_optimizer(params.values())
    overlap = Overlap(params, first, rest)
    with watched(training.model, params, optimizer) as watch:
        for step in range(training.steps):
            loss = local_loss(training, params, step, rank, nranks)
            loss.backward()
            overlap.finish()
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
    overlap.remove()
    return watch.trained(mean_over_ranks(losses), params)


def predicted(training: Training, nranks: int, rank: int = 0, first: int = FIRST, rest: int = REST) -> Predicted:
    """The bytes of every other way; a call for each bucket."""
    return all_reduced(training, nranks, len(bucket_bytes(training, first, rest)))


def bucket_bytes(training: Training, first: int = FIRST, rest: int = REST) -> list[int]:
    """Bytes of each bucket, on paper."""
    shapes = reversed(training.model.shapes.values())
    return bucket_sizes((torch.Size(shape).numel() * training.itemsize for shape in shapes), first, rest)


_SMALL = {"first": SMALL, "rest": SMALL}
STRATEGIES = (
    Strategy("data, bucketed", partial(bucketed, **_SMALL), partial(predicted, **_SMALL)),
    Strategy("data, overlapped", partial(overlapped, **_SMALL), partial(predicted, **_SMALL)),
)
