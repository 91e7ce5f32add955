"""torch's FSDP2, `fully_shard`, beside our ZeRO-3: the same numbers; what it moves depends on what it keeps. Chapter: sharded.

- every layer a unit that reshards after forward: 3N(P-1)/P, as ZeRO-3;
- a root by default stays gathered until backward, so it is gathered once, 2N(P-1)/P: of all parameters where it is the only
  unit, of the embeddings and the head where the blocks are units of their own, as one mostly has it;
- mixed precision, fp32 shards gathered in bf16, gradients reduced in fp32: 2 + 2 + 4 bytes a parameter instead of 4 + 4 + 4, so
  as many as DDP's all_reduce of fp32 gradients. Whoever compares volumes has to say the types.
- a mesh of two dimensions is HSDP.
torch/distributed/fsdp/_fully_shard of torch 2.13 and 2.15.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers import torch_versions
from helpers.parallel.checks import divides, whole
from helpers.parallel.data.replicated import local_loss_of, mean_over_ranks
from helpers.parallel.model import Transformer, share
from helpers.parallel.module import Module
from helpers.parallel.reference import Trained, Training, kept, step_counts
from helpers.parallel.strategy import Predicted, Strategy, watched

from .ours import TEAM

UNITS = ("layers", "blocks", "root")


@dataclass(frozen=True)
class How:
    """What fully_shard is told. ValueError for units that are none of UNITS, or to reshard to fewer than two ranks.

    units: "layers": each layer is a unit; "blocks": all but the first and the last, which stay with the root, as embeddings and head
    mostly do; "root": everything is one unit. reshard: reshard_after_forward everywhere (None: torch's default, every unit but the
    root reshards; a number: after forward it is shared out among so many neighbours, and gathered from them for backward). gather,
    reduce: the types of the mixed-precision policy. prefetch: every unit asks for
    so many that follow, in forward and in backward; 0 leaves it to torch, which asks for none in forward, where a GPU's host is ahead
    anyhow, and for one in backward. buffers: inputs of reduce_scatters that are kept (set_reduce_scatter_max_input_buffers, which
    torch has since 2.13). team: ranks of one replica.
    """

    units: str = "layers"
    reshard: bool | int | None = None
    gather: torch.dtype | None = None
    reduce: torch.dtype | None = None
    prefetch: int = 0
    buffers: int = 1
    team: int | None = None

    def __post_init__(self) -> None:
        if self.units not in UNITS:
            raise ValueError(f"units are one of {', '.join(UNITS)}, got {self.units!r}")
        if self.reshard is not None and not isinstance(self.reshard, bool):
            whole("ranks to reshard to", self.reshard, least=2)
        whole("units to prefetch", int(self.prefetch), least=0)
        whole("buffers", self.buffers)

    def apart(self, depth: int) -> range:
        """The layers that are units of their own; what is left is the root's."""
        return {"layers": range(depth), "blocks": range(1, depth - 1), "root": range(0)}[self.units]

    def gathers(self, root: bool, nshards: int) -> tuple[int, ...]:
        """Among how many ranks a step gathers a unit's parameters, each time: again for backward where it has resharded them."""
        reshards = not root if self.reshard is None else self.reshard
        if reshards is False:
            return (nshards,)
        again = nshards if reshards is True else reshards
        divides(again, "ranks to reshard to", nshards, "ranks")
        return nshards, again


def sharded(module: Module, how: How) -> None:
    """Shard `module` in place, on all ranks."""
    from torch.distributed.device_mesh import init_device_mesh  # seconds to import, and only this wants it
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    nranks, device = dist.get_world_size(), torch.get_default_device().type
    shape = (nranks,) if how.team is None else (nranks // how.team, how.team)
    names = ("shard",) if how.team is None else ("replica", "shard")
    policy = MixedPrecisionPolicy(how.gather, how.reduce, cast_forward_inputs=False)
    given: dict[str, Any] = {"mesh": init_device_mesh(device, shape, mesh_dim_names=names), "mp_policy": policy}
    given["reshard_after_forward"] = how.reshard
    apart = [module.layers[i] for i in how.apart(len(module.layers))]
    for layer in apart:
        fully_shard(layer, **given)
    fully_shard(module, **given)
    if how.prefetch:
        _prefetch(apart, int(how.prefetch))
    if how.buffers > 1:
        module.set_reduce_scatter_max_input_buffers(how.buffers)


def _prefetch(layers: list[nn.Module], ahead: int) -> None:
    for i, layer in enumerate(layers):
        layer.set_modules_to_forward_prefetch(layers[i + 1 : i + 1 + ahead])
        if i:  # an empty list would leave it to torch
            layer.set_modules_to_backward_prefetch(layers[max(0, i - ahead) : i][::-1])


def module(training: Training, how: How = How()) -> Module:
    """Inside a rank: the model with its first parameters, sharded. All ranks make it together."""
    made = Module(training.model, training.params())
    sharded(made, how)
    return made


def fsdp2(training: Training, how: How = How()) -> Trained:
    """Inside a rank: torch's own. The dtype of `training` is that of the shards."""
    losses, net = [], module(training, how)
    optimizer = training.make_optimizer(net.parameters())
    with watched(training.model, net, optimizer) as watch:
        for step in range(training.steps):
            loss = local_loss_of(training, net, step, how.gather)
            loss.backward()
            watch.see([p.grad for p in net.parameters()], "gradient")
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
    params: dict[str, Tensor] = {name: p.full_tensor() for name, p in net.by_name().items()}
    return watch.trained(mean_over_ranks(losses), params)


def predicted(training: Training, nranks: int, rank: int = 0, how: How = How()) -> Predicted:
    """Parameters are cut along their first dimension, each on its own and filled up to the same number of rows for every rank.

    N in the types in which they travel: gathers in `how.gather`, gradients in `how.reduce`. Where that is not said they are reduced as they
    are gathered, and from torch 2.15 on in the type of the shards.
    """
    divides(nranks, "ranks", training.batch, "batch")
    nshards = nranks if how.team is None else how.team
    teams = divides(nshards, "ranks of a team", nranks, "ranks")
    depth, others = training.model.depth, Fraction(nshards - 1, nshards)
    apart = how.apart(depth)
    units = [[i] for i in apart] + [[i for i in range(depth) if i not in apart]] * (len(apart) < depth)
    unsaid = None if torch_versions.has("type-of-reduction", torch.__version__) else how.gather
    there, back = (how.gather or training.dtype).itemsize, (how.reduce or unsaid or training.dtype).itemsize
    calls, sent = Counter(), Counter()
    for layers in units * training.steps:
        n, groups = padded(training, nshards, layers), how.gathers(layers[0] not in apart, nshards)
        calls.update(all_gather=len(groups), reduce_scatter=1)
        gathered = n * there * sum(Fraction(size - 1, size) for size in groups)
        sent.update(all_gather=gathered, reduce_scatter=n * back * others)
        if how.team is not None:
            calls.update(all_reduce=1)
            sent.update(all_reduce=Fraction(n * back, nshards) * Fraction(2 * (teams - 1), teams))
    return Predicted(dict(calls), dict(sent), held(training, nshards, rank % nshards))


Rows = tuple[int, int, int]  # rows of a rank, rows in all, elements of a row


def rows(training: Training, nranks: int, layers: Iterable[int] | None = None) -> list[Rows]:
    """Of every parameter of these layers (None: of all)."""
    model = training.model
    shapes = [model.shapes[name] for i in (range(model.depth) if layers is None else layers) for name in model.names(i)]
    return [(-(-shape[0] // nranks), shape[0], torch.Size(shape[1:]).numel()) for shape in shapes]


def padded(training: Training, nranks: int, layers: Iterable[int] | None = None) -> int:
    """Elements of these layers' parameters, each filled up to whole rows for every rank."""
    return sum(each * nranks * wide for each, _, wide in rows(training, nranks, layers))


def held(training: Training, nranks: int, rank: int) -> dict[str, int]:
    """Shards of parameters and gradients with their filling; AdamW's state has none of it, and a step count for each parameter."""
    shard = padded(training, nranks) // nranks * training.itemsize
    mine = sum(max(0, min(each, there - rank * each)) * wide for each, there, wide in rows(training, nranks))
    adamw = 2 * mine * training.itemsize + step_counts(len(training.model.shapes))
    return {"parameter": shard, "gradient": shard, "optimizer": adamw if training.optimizer == "adamw" else 0}


def mixed_reference(training: Training, nranks: int, gather: torch.dtype) -> Trained:
    """One process does what the mixed-precision policy makes of `nranks` ranks: each share in the short type, the mean in the long."""
    model, params, losses = training.model, training.params(), []
    optimizer = training.make_optimizer(params.values())
    for step in range(training.steps):
        losses.append(0.0)
        for rank in range(nranks):
            short = {name: p.to(gather) for name, p in params.items()}
            x, y = share(training.data(step), rank, nranks)
            loss = model.loss(model.forward(short, x.to(gather) if x.is_floating_point() else x), y) / nranks
            loss.backward()  # the cast hands every share's gradient back in the long type, where they add up
            losses[-1] += loss.item()
        optimizer.step()
        optimizer.zero_grad()
    return Trained(losses, kept(params))


def _strategy(name: str, how: How, **changes: Any) -> Strategy:
    training = Training(**{"optimizer": "adamw", **changes})
    run, paper = partial(fsdp2, how=how), partial(predicted, how=how)
    against = {"reference": partial(mixed_reference, gather=how.gather)} if how.gather else {}
    return Strategy(f"sharded, FSDP2{name}", run, paper, training, by="FSDP2", **against)


STRATEGIES = (
    _strategy("", How()),
    _strategy(", embeddings in the root", How("blocks"), model=Transformer()),
    _strategy(", one root", How("root")),
    _strategy(", kept gathered", How(reshard=False)),
    _strategy(", in teams of two", How(team=TEAM)),
    _strategy(", bf16 and fp32", How(gather=torch.bfloat16, reduce=torch.float32), dtype=torch.float32),
)
