"""predict_step's step as one rank of many does it. Chapter: too-big."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from helpers.facts import Model
from helpers.measure.predict.meta_step import MetaStep, Setup
from helpers.memory.payloads import bucket_sizes
from helpers.memory.sharding import Sharding, ShardingError
from helpers.parallel.zero import Paper, Zero
from helpers.parallel.zero.training import blocks
from helpers.step import checkpointing
from helpers.step import precision as types
from helpers.tracker.tracker import Tracker

from . import fsdp2
from .part import Elsewhere, Part, check_part
from .pipeline import Parts, Pipeline


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
        self.fsdp2: list[nn.Module] = []
        optimizers = None
        if policy := types.FSDP2.get(setup.precision):
            self.fsdp2, mesh = [*model.children()] if isinstance(model, Parts) else [model], fsdp2.mesh_of(sharding)
            for part in self.fsdp2:
                fsdp2.fully_shard(part, policy, sharding, mesh)
            self.shards = fsdp2.shards(model)
            optimizers = [types.optimizer(setup.optimizer, self.shards, setup.precision)]
        elif sharding.zero:
            self.zero = zero(model, setup, sharding)
            optimizers = [self.zero.optimizer]
            wait_for_pieces(model, self.zero)
        super().__init__(setup, model, optimizers)
        if sharding.context > 1:
            self.inputs = replace(setup, seq=setup.seq // sharding.context).batch_of()

    def begin(self, watch: Tracker) -> None:
        """Also: what ZeRO holds, or DDP's buckets (fp32 gradient buffers are reduced where they are)."""
        super().begin(watch)
        self.phase = watch.phase
        watch.label(label=f"{self.setup.label}, {self.sharding}", sharding=str(self.sharding))
        if self.zero is not None:
            self.zero.tell(watch.register)
        elif self.fsdp2:
            fsdp2.tell(self.model, watch.register)
        elif self.sharding.data_ranks > 1 and self.setup.precision != "bf16-fp32grads":
            self.buckets = make_buckets(self.model)
            watch.register(self.buckets, "communication")

    def forward(self) -> Tensor | None:
        """Until most micro-batches wait. The loss, or None where micro-batches keep it."""
        if not isinstance(self.model, Part | Parts):
            return super().forward()
        with self.setup.around():
            dtype = types.computes(self.setup.precision)
            self.pipeline = Pipeline(self.model, lambda: self.inputs, self.phase, self.fsdp2, dtype)
            self.pipeline.fill()
        return None

    def backward(self, loss: Tensor | None) -> None:
        """The rest of the step's forwards and backwards."""
        if loss is not None:
            super().backward(loss)
        else:
            with self.setup.around():
                self.pipeline.drain()

    def update(self) -> None:
        """The optimizer's step, and with ZeRO what it sends."""
        if self.fsdp2:
            for shard, p in zip(self.shards, self.model.parameters(), strict=True):
                shard.grad = None if p.grad is None else p.grad.to_local()
        super().update() if self.zero is None else self.zero.step()

    def zero_grad(self) -> None:
        """ZeRO's gradient buffers stay."""
        if self.fsdp2:
            self.model.zero_grad()
        super().zero_grad()
        if self.zero is not None:
            self.zero.zero_grad()


def zero(model: nn.Module, setup: Setup, sharding: Sharding) -> Zero:
    """The states shared out among data ranks; those of experts among the ranks that have the same ones."""
    main = setup.precision == "bf16-fp32grads"
    return Zero(
        model,
        sharding.zero,
        units=units(model) if sharding.expert > 1 else None,
        group=Paper(sharding.shards),
        prefetch=True,
        optimizer=lambda shares: types.optimizer(setup.optimizer, shares, "bf16" if main else setup.precision),
        main_grads=torch.float32 if main else None,
        groups={one: Paper(sharding.data // sharding.expert) for one in model.modules() if isinstance(one, Elsewhere)},
    )


def wait_for_pieces(model: nn.Module, zero: Zero) -> None:
    """A head's gradient is whole after the last piece of the loss, as DeepSpeed's tiled loss has it (ds_grad_is_ready)."""
    for module in model.modules():
        if (head := getattr(module, "head", None)) is not None:
            head.set_requires_gradient_sync = partial(zero.set_requires_gradient_sync, head)


def make_buckets(model: nn.Module) -> list[torch.Tensor]:
    """Buffers as DDP keeps them beside the gradients, last parameters first: flat pieces that are reduced while backward goes on."""
    params = [p for p in model.parameters() if p.requires_grad]
    dtype, device = params[0].dtype, params[0].device
    sizes = bucket_sizes(p.numel() * p.element_size() for p in reversed(params))
    return [torch.empty(size // dtype.itemsize, dtype=dtype, device=device) for size in sizes]


def units(model: nn.Module) -> list[nn.Module]:
    """Every block, and behind it its experts."""
    return [one for block in blocks(model) for one in block.modules() if one is block or isinstance(one, Elsewhere)]


def check(setup: Setup, sharding: Sharding) -> None:
    """ShardingError for what is asked for and cannot be."""
    if setup.precision in types.FSDP2:
        _check_fsdp2(setup, sharding)
    if sharding.zero > 1 and setup.precision == "bf16-fp32grads":
        raise ShardingError(
            f"zero={sharding.zero} reduces gradients in the weights' type here; precision bf16 or fp32, got bf16-fp32grads"
        )
    if setup.accumulate > 1 and sharding.pipeline > 1:
        raise ShardingError(
            f"a pipeline adds up the gradients of its micro_batches; accumulate is 1 there, got {setup.accumulate}"
        )
    if isinstance(setup.model, Model):
        check_part(setup.model, sharding, setup.seq)
        sharding.check_context(setup.model, setup.seq)
        # Every block needs a random state of its own
        if sharding.context > 1 and setup.dropout and sharding.form != "heads":
            raise ShardingError(
                f"dropout among context ranks is written with form='heads' only, got form={sharding.form!r}, dropout={setup.dropout}"
            )
        in_parts = setup.chunking == "torchtitan" and setup.chunks > 1
        if in_parts and setup.model.tied and sharding.zero and setup.precision not in types.FSDP2:
            raise ShardingError(
                f"a tied head's gradient is not whole with its last piece, so ZeRO cannot tell when to reduce it, got chunks={setup.chunks}"
            )
        if setup.chunking == "liger" and sharding.sequence:
            raise ShardingError(
                f"chunking 'liger' wants every token and the whole vocabulary in one kernel: not under sequence parallelism, got {sharding}"
            )
    elif sharding.nranks > sharding.data or sharding.micro_batches > 1 or sharding.expert > 1:
        raise ShardingError(f"a module of your own is shared out by data and zero only, got {sharding}")


def build(setup: Setup, sharding: Sharding) -> nn.Module:
    """This rank's part or parts, in its type, with its checkpointing."""
    dtype: torch.dtype = types.computes(setup.precision)
    parts = [
        Part(setup.model, one, setup.attention, setup.dropout, device="meta", dtype=dtype) for one in sharding.parts
    ]
    setup.share_out_loss(parts[-1])
    made = Parts(parts, sharding) if sharding.virtual > 1 else parts[0]
    return checkpointing.apply(made, setup.checkpoint, setup.around)


def _check_fsdp2(setup: Setup, sharding: Sharding) -> None:
    if sharding.zero not in (2, 3):
        raise ShardingError(
            f"precision {setup.precision} is that of FSDP2, which shards: zero is 3, or 2 to keep what was gathered, got {sharding.zero}"
        )
