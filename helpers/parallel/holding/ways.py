"""One training step each of DDP, ZeRO-1, -2, -3 and FSDP2 inside a rank, as moments. Chapters: data-parallel, sharded.

with Ranks(4, backend="gloo") as ranks:
    steps = ranks.run(step_of, "zero-3")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

from helpers.parallel.zero import Group, Zero
from helpers.parallel.zero.recorded import NRANKS, SHAPE, SIZE
from helpers.parallel.zero.training import blocks
from helpers.parallel.zero.watched import unsharded
from helpers.ranks.hooks.reducer import listening
from helpers.step.recipe import article_model
from helpers.tracker.tracker import Tracker, track

from .hooks import after_wrapping, before_wrapping
from .moments import OUTSIDE, SLOTS, Known, Moments

WAYS = ("ddp", "zero-1", "zero-2", "zero-3", "fsdp2")
WARM = 2  # DDP makes its buckets anew after its first step
Step = Callable[[], None]


def step_of(way: str) -> dict:
    """Inside a rank: train, and note one step. {"units", "whole", "moments"}; whole: a layer's parameters in bytes.

    ValueError for another way.
    """
    if way not in WAYS:
        raise ValueError(f"a way to share out is one of {', '.join(WAYS)}, got {way!r}")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, inputs = article_model(**SIZE), torch.ones(SHAPE)
    layers = blocks(model)
    names = {module: name for name, module in model.named_modules()}
    moments = Moments([names[layer] for layer in layers])
    whole = [sum(p.numel() * p.element_size() for p in layer.parameters()) for layer in layers]
    before_wrapping(layers, moments)
    train = {"ddp": _ddp, "fsdp2": _fsdp2}.get(way, _zero)
    with listening(moments.called):
        train(way, model, layers, inputs, moments)
    return {"units": moments.units, "slots": list(SLOTS), "whole": whole, "moments": moments.noted}


def _zero(way: str, model: nn.Module, layers: list[nn.Module], inputs: torch.Tensor, moments: Moments) -> None:
    zero = Zero(model, int(way[-1]), group=Group())
    after_wrapping(layers, moments)
    pairs = list(enumerate(zip(zero.units, zero.adams, strict=True)))
    moments.known = lambda: [
        (tensor, i, "gathered")
        for i, (unit, adam) in pairs
        for tensor in (unit.whole, unit.share, unit.grads, *adam.state)
    ]

    def update() -> None:
        zero.reduce()
        for i, (unit, adam) in pairs:
            adam.step(unit.grad)
            moments.note("update", i)
            unit.update(None)

    with track(model, inputs=inputs, on_event=moments.hear) as watch:
        zero.tell(watch.register)
        _steps(watch, moments, model, inputs, update, zero.zero_grad)


def _ddp(way: str, model: nn.Module, layers: list[nn.Module], inputs: torch.Tensor, moments: Moments) -> None:
    """A bucket a layer: what has no more room is sent."""
    from torch.nn.parallel import DistributedDataParallel

    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    whole = sum(p.numel() * p.element_size() for p in layers[0].parameters())

    def update() -> None:
        optimizer.step()
        moments.note("update")

    with track(model, optimizer, inputs, on_event=moments.hear) as watch:
        moments.watch = watch
        ddp = DistributedDataParallel(model, bucket_cap_mb=whole / 2**20)
        after_wrapping(layers, moments)
        _steps(watch, moments, ddp, inputs, update, optimizer.zero_grad)


def _fsdp2(way: str, model: nn.Module, layers: list[nn.Module], inputs: torch.Tensor, moments: Moments) -> None:
    """A unit a layer, as by default: what is gathered is freed after forward. Its buffers are made in a step that nobody watches."""
    from torch.distributed.device_mesh import init_device_mesh  # a second to import, and only this way wants it
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (torch.distributed.get_world_size(),))
    for module in (*layers, model):
        fully_shard(module, mesh=mesh)
    after_wrapping(layers, moments)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    model(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    moments.known = lambda: fsdp2_tensors(layers, optimizer)
    for unit, layer in enumerate(layers):
        telling(moments, unit, layer)

    def update() -> None:
        optimizer.step()
        moments.note("update")

    with track(model, optimizer, inputs, on_event=moments.hear) as watch:
        watch.register(list(unsharded(model)), "communication")
        _steps(watch, moments, model, inputs, update, optimizer.zero_grad)


def fsdp2_tensors(layers: Sequence[nn.Module], optimizer: torch.optim.Optimizer) -> Iterator[Known]:
    """What FSDP2 holds of each layer between its calls: shards, their gradients and states, and the buffers for whole parameters."""
    for unit, layer in enumerate(layers):
        yield from ((buffer, unit, "gathered") for buffer in unsharded(layer))
        for p in layer.parameters():
            yield p, unit, "parameter"
            yield from ((state, unit, "optimizer") for state in optimizer.state.get(p, {}).values())
            if p.grad is not None:
                yield p.grad, unit, "gradient"


def telling(moments: Moments, unit: int, layer: nn.Module) -> None:
    """Whatever a layer's parameter group gathers or reduces is that layer's. FSDP2 asks for a layer's parameters in the turn of another."""
    group = layer._get_fsdp_state()._fsdp_param_group

    def told(method: Callable) -> Callable:
        def call(*args: object, **kwargs: object) -> object:
            moments.unit = unit
            return method(*args, **kwargs)

        return call

    group.unshard, group.post_backward = told(group.unshard), told(group.post_backward)


def _steps(
    watch: Tracker, moments: Moments, model: nn.Module, inputs: torch.Tensor, update: Step, zero_grad: Step
) -> None:
    """Steps that warm up, and one that is noted."""
    moments.watch = watch
    for number in range(WARM + 1):
        if number == WARM:
            moments.begin()
        moments.phase = "start"
        moments.note("start")
        moments.phase = "forward"
        with watch.phase("forward"):
            loss = model(inputs).square().mean()
        moments.phase = "backward"
        with watch.phase("backward"):
            loss.backward()
        del loss
        moments.phase, moments.unit = "step", OUTSIDE
        with watch.phase("step"):
            update()
        zero_grad()
        moments.phase = "end"
        moments.note("end")


def heads(step: dict) -> list[tuple]:
    """What a step's moments are, without what is held: the same on every rank."""
    return [(m["phase"], m["what"], m["unit"], m["call"]) for m in step["moments"]]


__all__ = ["NRANKS", "WAYS", "heads", "step_of"]
