"""predict_step's step as one rank of many does it. Chapter: too-big."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from helpers.facts import Model
from helpers.measure.predict.meta_step import MetaStep, Setup
from helpers.measure.step import checkpointing
from helpers.measure.step import precision as types
from helpers.measure.tracker.tracker import Tracker
from helpers.memory.sharding import Sharding, ShardingError
from helpers.parallel.zero import Paper, Zero

from .buckets import make_buckets
from .part import Part, check_part
from .pipeline import Pipeline


class Share(MetaStep):
    """The events of one rank: its part of the model, its share of the states, the buffers of its collectives.

    With ZeRO the optimizer works on one flat share of each block. setup.batch: sequences of one micro-batch on this rank.
    ShardingError, before anything runs, for what cannot be shared out.
    """

    def __init__(self, setup: Setup, sharding: Sharding) -> None:
        check(setup, sharding)
        self.sharding = sharding
        model = build(setup, sharding) if isinstance(setup.model, Model) else setup.build()
        self.zero = self.pipeline = None
        optimizers = None
        if sharding.zero:
            self.zero = Zero(
                model,
                sharding.zero,
                group=Paper(sharding.data),
                prefetch=True,
                optimizer=lambda shares: types.optimizer(setup.optimizer, shares, setup.precision),
            )
            optimizers = [self.zero.optimizer]
        super().__init__(setup, model, optimizers)

    def begin(self, watch: Tracker) -> None:
        """Also: what ZeRO holds, or DDP's buckets (fp32 gradient buffers are reduced where they are)."""
        super().begin(watch)
        self.phase = watch.phase
        watch.label(label=f"{self.setup.label}, {self.sharding}", sharding=str(self.sharding))
        if self.zero is not None:
            self.zero.tell(watch.register)
        elif self.sharding.data > 1 and self.setup.precision != "bf16-fp32grads":
            self.buckets = make_buckets(self.model)
            watch.register(self.buckets, "communication")

    def forward(self) -> Tensor | None:
        """Until most micro-batches wait. The loss, or None where micro-batches keep it."""
        if not isinstance(self.model, Part):
            return super().forward()
        with self.setup.around():
            self.pipeline = Pipeline(self.model, lambda: self.inputs, self.phase)
            self.pipeline.fill()
        return None

    def backward(self, loss: Tensor | None) -> None:
        """The rest of the step's forwards and backwards."""
        if loss is not None:
            return super().backward(loss)
        with self.setup.around():
            self.pipeline.drain()
        return None

    def update(self) -> None:
        """The optimizer's step, and with ZeRO what it sends."""
        super().update() if self.zero is None else self.zero.step()

    def zero_grad(self) -> None:
        """ZeRO's gradient buffers stay."""
        super().zero_grad()
        if self.zero is not None:
            self.zero.zero_grad()


def check(setup: Setup, sharding: Sharding) -> None:
    """ShardingError for what is asked for and cannot be."""
    if sharding.zero and setup.precision == "bf16-fp32grads":
        raise ShardingError(
            f"zero={sharding.zero} reduces gradients in the weights' type here; precision bf16 or fp32, got bf16-fp32grads"
        )
    if setup.accumulate > 1 and sharding.pipeline > 1:
        raise ShardingError(
            f"a pipeline adds up the gradients of its micro_batches; accumulate is 1 there, got {setup.accumulate}"
        )
    if isinstance(setup.model, Model):
        check_part(setup.model, sharding, setup.seq)
        if sharding.sequence and setup.chunks > 1:
            raise ShardingError(
                f"chunks of the loss under sequence parallelism are not written, got chunks={setup.chunks}"
            )
    elif sharding.nranks > sharding.data or sharding.micro_batches > 1 or sharding.expert > 1:
        raise ShardingError(f"a module of your own is shared out by data and zero only, got {sharding}")


def build(setup: Setup, sharding: Sharding) -> nn.Module:
    """This rank's part, in its type, with its checkpointing."""
    dtype: torch.dtype = types.PRECISIONS[setup.precision]
    made = Part(setup.model, sharding, setup.attention, setup.dropout, device="meta", dtype=dtype)
    made.chunks, made.again = setup.chunks, checkpointing.recompute(setup.around)
    return checkpointing.apply(made, setup.checkpoint, setup.around)
