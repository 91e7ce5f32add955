"""torch's tensor parallel, `parallelize_module` over DTensor, beside ours: equal numbers, other traffic. Chapter: tensor-parallel.

A plan says how each map's weight is cut and how inputs and outputs lie; DTensor finds the collectives. Where it moves more than ours
(torch 2.13, torch/distributed/tensor/parallel/style.py):
- "gathered": a gathered output counts as the same on every rank, so gradients come back by an all_reduce in front of each map, where
  ours takes a reduce_scatter of half the bytes.
- each: q, k and v lie beside each other and have one input. A plan that names the three maps only makes each sum its own gradient: three
  all_reduces where one does. `PrepareModuleInput` on the attention around them makes it one.
- "sequence": the gradient of a norm's weight stays a partial sum (`p.grad.placements` says so) until the optimizer reads it, and is
  summed anew at each read: once by SGD, three times by AdamW with foreach=False.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from helpers.parallel.model import MLP, Model
from helpers.parallel.reference import Trained, Training
from helpers.parallel.strategy import Predicted, Strategy, watched

from .cuts import Moves, check
from .native import Native
from .ours import SHARE, WIDE, held, sent_bytes, step_moves

TOKENS = 1
READS = {"sgd": 1, "adamw": 3}  # how often an optimizer of one parameter at a time reads each gradient
Plan = dict[str, Any]


def plan(model: Model, way: str, each: bool = False) -> Plan:
    """What parallelize_module is told: a style for each module of `Native` that is not whole on every rank."""
    if isinstance(model, MLP):
        return {f"layers.{i}.map": _matrix(i, model.layers, way) for i in range(model.layers)}
    told = {
        f"layers.{i}.{name}": style
        for i in range(1, model.layers + 1)
        for name, style in _block(way == "sequence", each).items()
    }
    return told | (_ends(model.depth) if way == "sequence" else {})


def _matrix(i: int, layers: int, way: str) -> Any:
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel

    rows = Shard(0) if way == "sequence" else Replicate()
    if way == "gathered":
        return ColwiseParallel(output_layouts=Replicate())
    if i % 2 == 0:
        return ColwiseParallel(input_layouts=rows if i else Replicate())
    return RowwiseParallel(output_layouts=rows if i < layers - 1 else Replicate())


def _block(sequence: bool, each: bool) -> Plan:
    """The two pairs of a block. Colwise is cut by outputs, Rowwise by inputs: torch names what is cut of the transposed weight."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel

    tokens = Shard(TOKENS) if sequence else Replicate()
    first, second = ColwiseParallel(), RowwiseParallel(output_layouts=tokens)
    entered = PrepareModuleInput(input_layouts=tokens, desired_input_layouts=Replicate())
    found: Plan = {f"attention.{name}": first for name in "qkv"} | {"attention.o": second}
    found |= {"mlp.up": first, "mlp.down": second}
    if not each:
        found |= {"attention": entered, "mlp": entered}
    return found | ({"norm1": SequenceParallel(), "norm2": SequenceParallel()} if sequence else {})


def _ends(depth: int) -> Plan:
    """The embedding gives some tokens to each rank, the head takes all."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import PrepareModuleInput, PrepareModuleOutput

    tokens, whole = Shard(TOKENS), Replicate()
    return {
        "layers.0": PrepareModuleOutput(output_layouts=whole, desired_output_layouts=tokens),
        f"layers.{depth - 1}": PrepareModuleInput(
            input_layouts=tokens, desired_input_layouts=whole, use_local_output=True
        ),
    }


def parallelized(training: Training, way: str, mesh: Any, each: bool = False, batch: int | None = None) -> Native:
    """Inside a rank: the model of torch's layers, cut along a mesh of one dimension. batch: samples of a replica, if not all."""
    from torch.distributed.tensor.parallel import parallelize_module  # seconds to import, and only this wants it

    check(training.model, way, mesh.size(), batch or training.batch)
    module = Native(training.model, training.params())
    parallelize_module(module, mesh, plan(training.model, way, each))
    return module


def dtensor(training: Training, way: str = "pairs", each: bool = False) -> Trained:
    """Inside a rank: torch's own, all ranks one group. way: "gathered" is written for the MLP."""
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh(torch.get_default_device().type, (dist.get_world_size(),), mesh_dim_names=("tensor",))
    module, losses = parallelized(training, way, mesh, each), []
    optimizer = training.make_optimizer(module.parameters())
    with watched(training.model, module, optimizer) as watch:
        for step in range(training.steps):
            x, y = training.data(step)
            loss = training.model.loss(module(x), y)
            loss.backward()
            watch.see([p.grad for p in module.parameters()], "gradient")
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return watch.trained(losses, whole(module))


def whole(module: Native) -> dict[str, torch.Tensor]:
    """Every parameter put together, by its name in the model. All ranks have to ask."""
    return {n: _whole(p) if hasattr(p, "placements") else p for n, p in module.by_name().items()}


def _whole(p: Any) -> torch.Tensor:
    """One axis of its mesh after the other: torch warns of several at once."""
    from torch.distributed.tensor import Replicate

    lies = list(p.placements)
    for axis in range(len(lies)):
        lies[axis] = Replicate()
        p = p.redistribute(placements=lies)
    return p.to_local()


def predicted(training: Training, nranks: int, rank: int = 0, way: str = "pairs", each: bool = False) -> Predicted:
    """Ours, but for what the module's docstring says."""
    check(training.model, way, nranks, training.batch)
    if each and isinstance(training.model, MLP):
        raise ValueError("q, k and v are those of a Transformer, got MLP: take each=False")
    moves = _moves(training, way, each)
    calls = {op: training.steps * sum(one == op for one, _ in moves) for op in SHARE}
    sent = {op: training.steps * sent_bytes(moves, op, nranks, training.itemsize) for op in SHARE}
    return Predicted(calls, sent, held(training, way, nranks))


def _moves(training: Training, way: str, each: bool) -> Moves:
    model, moves = training.model, step_moves(training.model, way, training.batch)
    if way == "gathered":
        return [("all_reduce", n) if op == "reduce_scatter" else (op, n) for op, n in moves]
    if way == "sequence" and not isinstance(model, MLP):
        return moves + [("all_reduce", model.width)] * (2 * model.layers * (READS[training.optimizer] - 1))
    if each:
        return moves + [("all_reduce", training.batch * model.seq * model.width)] * (2 * model.layers)
    return moves


def _strategy(name: str, training: Training, **how: Any) -> Strategy:
    return Strategy(
        f"tensor, DTensor{name}", partial(dtensor, **how), partial(predicted, **how), training, by="DTensor"
    )


STRATEGIES = (
    _strategy(" gathered", Training(), way="gathered"),
    _strategy(" pairs", Training(), way="pairs"),
    _strategy(" sequence", Training(), way="sequence"),
    _strategy(", transformer, pairs", Training(WIDE, optimizer="adamw"), way="pairs"),
    _strategy(", transformer, q, k and v each", Training(WIDE, optimizer="adamw"), way="pairs", each=True),
    _strategy(", transformer, sequence", Training(WIDE, optimizer="adamw"), way="sequence"),
)
