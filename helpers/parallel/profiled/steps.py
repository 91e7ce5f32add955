"""The steps themselves, as a training loop has them: a loader, forward, backward, gradients summed up, an update. Chapter: reading-a-trace.

A layer multiplies, and then sleeps for as long as a larger one would compute: ranks share this machine's cores, and a sleep needs none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import DataLoader

from .jobs import Job
from .loading import Slow

SAMPLES = 8  # of a batch
ENOUGH = 10_000  # batches that a loader has


class Takes(torch.autograd.Function):
    """The input after a while; backward takes twice as long."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, seconds: float) -> Tensor:
        ctx.seconds = seconds
        time.sleep(seconds)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        time.sleep(2 * ctx.seconds)
        return gradient.clone(), None


class Layer(nn.Module):
    """A product with width * width weights, and the rest of its time."""

    def __init__(self, width: int, seconds: float):
        super().__init__()
        self.linear, self.seconds = nn.Linear(width, width, bias=False), seconds

    def forward(self, x: Tensor) -> Tensor:
        return Takes.apply(self.linear(x), self.seconds)


class Sums:
    """Gradients on their way: hooks send a bucket when its last gradient stands."""

    def __init__(self, layers: list[Layer], many: int):
        self.flying: list[tuple[dist.Work, Tensor, list[Tensor]]] = []
        backwards = [layer.linear.weight for layer in reversed(layers)]
        for first in range(0, len(backwards), max(1, many)):
            bucket = backwards[first : first + max(1, many)]
            send = self._at_once if many == 0 else self._ahead
            bucket[-1].register_post_accumulate_grad_hook(lambda _, bucket=bucket, send=send: send(bucket))

    def _at_once(self, bucket: list[Tensor]) -> None:
        dist.all_reduce(bucket[0].grad)

    def _ahead(self, bucket: list[Tensor]) -> None:
        flat = torch.cat([p.grad.flatten() for p in bucket])
        self.flying.append((dist.all_reduce(flat, async_op=True), flat, bucket))

    def wait(self) -> None:
        """Until every gradient is the sum over ranks."""
        for work, flat, bucket in self.flying:
            work.wait()
            for p, part in zip(bucket, flat.split([p.numel() for p in bucket]), strict=True):
                p.grad.copy_(part.view_as(p))
        self.flying.clear()


def steps(job: Job) -> Callable[[], float]:
    """On a rank of a group that stands: each call is one step, and returns its loss."""
    torch.manual_seed(0)
    late = job.late.times if job.late and job.late.rank == dist.get_rank() else 1.0
    layers = [Layer(job.width, job.seconds * late) for _ in range(job.layers)]
    model, sums = nn.Sequential(*layers), Sums(layers, job.bucket)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 / dist.get_world_size())
    batches = iter(DataLoader(Slow(ENOUGH * SAMPLES, job.width, job.load / SAMPLES), batch_size=SAMPLES))

    def step() -> float:
        x = next(batches)
        loss = (model(x) - x).square().mean()
        loss.backward()
        sums.wait()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return step
