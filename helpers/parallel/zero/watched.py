"""One rank's training steps under the tracker, shared out by hand or by torch's own DDP and FSDP2. Chapter: too-big."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist
from torch import nn

from helpers.memory import Trace
from helpers.tracker.allocator import allocator_counts, peaks_anew
from helpers.tracker.tracker import Tracker, track

from .group import Group, Paper
from .training import Zero, blocks

WAYS = ("ddp", "ddp-zero", "zero-1", "zero-2", "zero-3", "fsdp2-keep", "fsdp2")
WARM = 2  # steps of DDP that nobody looks at: it makes its buckets anew in between
Loss = Callable[..., torch.Tensor]


def watched(
    way: str,
    build: Callable[[], nn.Module],
    inputs: object,
    loss: Loss,
    steps: int = 2,
    prefetch: bool = False,
    group: Paper | None = None,
    **told: Callable,
) -> Trace:
    """Inside a rank: train `steps` steps and watch them. The trace has the marks "after forward", "after backward", "after step".

    way: "ddp" (torch's; "ddp-zero" with its ZeroRedundancyOptimizer), "zero-1", "zero-2", "zero-3" (ours), "fsdp2" or
    "fsdp2-keep" (torch's, the latter keeps what it has gathered until backward). build() makes the same model on every rank;
    loss(model, inputs) is a scalar. Gradients are dropped after each step. On a GPU the allocator's peaks begin anew, and what it
    counts stands in the trace's `about`. group: Paper(n) predicts a rank of ours on the meta device, in any process. told: on_event and
    on_sample, as track takes them. ValueError for another way.
    """
    if way not in WAYS:
        raise ValueError(f"a way to share out is one of {', '.join(WAYS)}, got {way!r}")
    if group is None and torch.cuda.is_initialized():
        peaks_anew()
    if way.startswith("zero"):
        zero = Zero(build(), int(way[-1]), group=group or Group(), prefetch=prefetch)
        return _zero(zero, inputs, loss, steps, **told)
    if group is not None:
        raise ValueError(f"torch's own {way} needs real ranks, got group={group!r}")
    model = build()
    if way.startswith("ddp"):
        return _ddp(model, inputs, loss, steps, way == "ddp-zero", **told)
    return _fsdp2(model, inputs, loss, steps, way == "fsdp2", **told)


def _zero(zero: Zero, inputs: object, loss: Loss, steps: int, **told: Callable) -> Trace:
    with track(zero.model, inputs=inputs, **told) as watch:
        zero.tell(watch.register)
        _steps(watch, lambda: loss(zero.model, inputs), zero, steps)
    group = zero.units[0].group
    return _named(watch, f"zero-{zero.stage}", group.rank, group.nranks)


def _ddp(model: nn.Module, inputs: object, loss: Loss, steps: int, shared: bool, **told: Callable) -> Trace:
    """Its buckets are made with it, so it is made while we look; it makes them anew before its second step.

    shared: every rank updates some of the parameters, whole ones, and keeps state for those only.
    """
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel

    how = {"foreach": False}
    if shared:
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, **how)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), **how)
    with track(model, optimizer.optim if shared else optimizer, inputs, **told) as watch:
        ddp = DistributedDataParallel(model)
        for _ in range(WARM):
            loss(ddp, inputs).backward()
            optimizer.step()
            optimizer.zero_grad()
        dist.barrier()
        time.sleep(0.02)  # Gloo's threads give back what they sent as soon as Python lets them
        before = len(watch.trace)
        _steps(watch, lambda: loss(ddp, inputs), optimizer, steps)
    name = "ddp-zero" if shared else "ddp"
    return _named(watch, name, dist.get_rank(), dist.get_world_size()).between(before, len(watch.trace))


def _fsdp2(model: nn.Module, inputs: object, loss: Loss, steps: int, reshard: bool, **told: Callable) -> Trace:
    """It makes its buffers in its first step, which nobody watches."""
    from torch.distributed.device_mesh import init_device_mesh  # a second to import, and only this way wants it
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(next(model.parameters()).device.type, (dist.get_world_size(),))
    for block in blocks(model):
        fully_shard(block, mesh=mesh, reshard_after_forward=reshard)
    fully_shard(model, mesh=mesh, reshard_after_forward=reshard)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    loss(model, inputs).backward()
    optimizer.step()
    optimizer.zero_grad()
    with track(model, optimizer, inputs, **told) as watch:
        watch.register(list(unsharded(model)), "communication")
        _steps(watch, lambda: loss(model, inputs), optimizer, steps)
    return _named(watch, "fsdp2" if reshard else "fsdp2-keep", dist.get_rank(), dist.get_world_size())


def unsharded(model: nn.Module) -> Iterator[torch.Tensor]:
    """The buffers of FSDP2 that hold whole parameters, after its first forward."""
    return (buffer for param in fsdp_params(model) for buffer in param.all_gather_outputs)


def fsdp_params(model: nn.Module) -> Iterator:
    """FSDP2's record of each parameter: its shard, and where it is whole. It has no public name for them."""
    from torch.distributed.fsdp import FSDPModule

    for state in dict.fromkeys(one._get_fsdp_state() for one in model.modules() if isinstance(one, FSDPModule)):
        plural = hasattr(state, "_fsdp_param_groups")  # from 2.12 on, where the singular refuses two
        for group in state._fsdp_param_groups if plural else [getattr(state, "_fsdp_param_group", None)]:
            yield from group.fsdp_params if group else ()


def _steps(
    watch: Tracker, loss: Callable[[], torch.Tensor], optimizer: Zero | torch.optim.Optimizer, steps: int
) -> None:
    watch.mark("start")
    for _ in range(steps):
        with watch.phase("forward"):
            value = loss()
        watch.mark("after forward")
        with watch.phase("backward"):
            value.backward()
        del value
        watch.register([p.grad for p in watch_params(optimizer) if p.grad is not None], "gradient")
        watch.mark("after backward")
        with watch.phase("step"):
            optimizer.step()
        watch.mark("after step")
        optimizer.zero_grad()
    watch.mark("end")


def watch_params(optimizer: Zero | torch.optim.Optimizer) -> list[nn.Parameter]:
    """The parameters that it updates. FSDP2 sets their gradients past every hook."""
    if isinstance(optimizer, Zero):
        return list(optimizer.model.parameters())
    return [p for group in optimizer.param_groups for p in group["params"]]


def _named(watch: Tracker, way: str, rank: int, nranks: int) -> Trace:
    watch.label(label=f"{way}, rank {rank} of {nranks}", rank=rank, nranks=nranks, way=way)
    if watch.trace.samples:
        watch.label(allocator=allocator_counts().data())
    return watch.trace
