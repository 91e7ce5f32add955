"""Expert parallel training: ranks with other samples each, and some of the experts each. Chapter: expert.

What data must move, when, and why: a token is on the rank that has its sample, its experts are elsewhere. In every layer with experts
each rank sends a buffer of experts * capacity tokens, N bytes with its empty slots, by an all_to_all; the answers come back by a second.
Backward makes the same two ways in reverse. Together 4N(P-1)/P a layer, P being the ranks that share out the experts: (P-1)/P of each
buffer leave its rank. That is half of what an all_reduce of N moves (2N(P-1)/P), not more, as is often said (E20): what an
all_to_all strains is the network's middle, and the number of messages.
Everything that is no expert is on all ranks and sees a part of the batch: its gradients pass an all_reduce, as in data parallel. An
expert has seen the tokens of its whole group already; where several groups hold the same expert, these average it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.parallel.checks import divides
from helpers.parallel.counting import Moved, counted
from helpers.parallel.model import Model, Params, share
from helpers.parallel.reference import Trained, Training, train
from helpers.parallel.strategy import Predicted, Strategy, watched
from helpers.parallel.tensor.conjugates import all_gather, own_part
from helpers.parallel.tensor.ours import states

from .exchange import Exchange, exchanged, exchanged_by_torch
from .routed import Routed, through


@dataclass(frozen=True)
class Spread(Routed):
    """A Routed whose experts are spread over `group`: this rank's are model.experts / its ranks, in rank order."""

    group: Any = None
    exchange: Exchange = exchanged

    def answers(self, i: int, params: Params, slots: Tensor) -> Tensor:
        """Slots to the ranks that have their experts, through these, and back. slots: [experts * slots of one, width]."""
        nranks, here = self.group.size(), self.experts // self.group.size()
        got = self.exchange(slots, self.group)  # from each rank: here * slots
        mine = got.view(nranks, here, -1, self.width).transpose(0, 1).reshape(here, -1, self.width)
        out = through(mine, params[f"{i}.up"], params[f"{i}.down"])
        back = out.view(here, nranks, -1, self.width).transpose(0, 1).reshape(-1, self.width)
        return self.exchange(back, self.group)


def expert(training: Training, ranks: int | None = None, exchange: Exchange = exchanged) -> Trained:
    """Inside a rank: the experts of training.model (a Routed) spread over `ranks` neighbouring ranks (None: all)."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    ep = nranks if ranks is None else ranks
    check(training, nranks, ep)
    spread, alike = groups(nranks, ep)
    model = _spread(training.model, spread, exchange)
    params = slices(training.params(), spread)
    optimizer, losses = training.make_optimizer(params.values()), []
    with watched(model, params, optimizer) as watch:
        for step in range(training.steps):
            x, y = share(training.data(step), rank, nranks)
            loss = model.loss(model.forward(params, x), y)
            loss.backward()
            average(params, spread.size(), alike)
            watch.after_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach().double())
    total = torch.stack(losses)
    dist.all_reduce(total)
    return watch.trained((total / nranks).tolist(), gathered(params, spread))


def gradients(
    training: Training, ranks: int | None = None, exchange: Exchange = exchanged
) -> tuple[dict[str, Tensor], Moved]:
    """Inside a rank: the gradients of the first step, all experts', as one process has them; and what it moved. No optimizer."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    ep = nranks if ranks is None else ranks
    check(training, nranks, ep)
    spread, alike = groups(nranks, ep)
    model, params = _spread(training.model, spread, exchange), slices(training.params(), spread)
    x, y = share(training.data(0), rank, nranks)
    with counted() as moved:
        model.loss(model.forward(params, x), y).backward()
        average(params, spread.size(), alike)
    return gathered({name: p.grad for name, p in params.items()}, spread), moved


def groups(nranks: int, ranks: int) -> tuple[dist.ProcessGroup, dist.ProcessGroup]:
    """(those who share out one set of experts, those who hold the same experts). All ranks have to ask."""
    from torch.distributed.device_mesh import init_device_mesh  # a second to import, and only this wants it

    shape = nranks // ranks, ranks
    mesh = init_device_mesh(torch.get_default_device().type, shape, mesh_dim_names=("replica", "expert"))
    return mesh.get_group("expert"), mesh.get_group("replica")


def _spread(model: Routed, group: dist.ProcessGroup, exchange: Exchange) -> Spread:
    settings = {name: getattr(model, name) for name in Routed.__dataclass_fields__}
    return Spread(**settings | {"parts": 1}, group=group, exchange=exchange)


def is_expert(name: str) -> bool:
    """Is it a parameter of experts, one behind the other along its first dimension?"""
    return name.endswith((".up", ".down"))


def slices(params: Params, group: dist.ProcessGroup) -> Params:
    """This rank's experts, and all that is none."""
    with torch.no_grad():
        return {n: nn.Parameter(own_part(p, 0, group) if is_expert(n) else p) for n, p in params.items()}


def gathered(params: Params, group: dist.ProcessGroup) -> Params:
    """All experts. Every rank of the group has to ask."""
    return {n: all_gather(p.detach(), 0, group) if is_expert(n) else p for n, p in params.items()}


def average(params: Params, shared_by: int, alike: dist.ProcessGroup) -> None:
    """Gradients of each rank's mean loss become those of the mean over all ranks.

    An expert's gradient is a sum over the `shared_by` ranks of its group; with the mean over the groups that hold it, divided
    by shared_by, it is the mean over all. One flat all_reduce for each kind.
    """
    experts = [p for name, p in params.items() if is_expert(name)]
    _mean([p for name, p in params.items() if not is_expert(name)], None)
    if alike.size() > 1:
        _mean(experts, alike)
    for p in experts:
        p.grad /= shared_by


def _mean(params: list[nn.Parameter], group: dist.ProcessGroup | None) -> None:
    flat = torch.cat([p.grad.flatten() for p in params])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG, group=group)
    for p, piece in zip(params, flat.split([p.numel() for p in params]), strict=True):
        p.grad.copy_(piece.view_as(p))


def check(training: Training, nranks: int, ranks: int) -> Routed:
    """ValueError, before anything is launched, for what ranks cannot share out."""
    model = training.model
    if not isinstance(model, Routed):
        raise ValueError(f"experts are those of a Routed, got {type(model).__name__}")
    divides(ranks, "ranks of experts", nranks, "ranks")
    divides(ranks, "ranks of experts", model.experts, "experts")
    divides(nranks, "ranks", training.batch, "batch")
    return model


def predicted(
    training: Training, nranks: int, rank: int = 0, ranks: int | None = None, exchange: Exchange = exchanged
) -> Predicted:
    """4N(P-1)/P a layer with experts, an all_reduce of what is no expert, and one of a rank's experts where several groups have them."""
    ep = nranks if ranks is None else ranks
    steps, size = training.steps, training.itemsize
    model = check(training, nranks, ep)
    buffer = model.experts * model.slots(training.batch // nranks) * model.width * size
    mine, rest = numels(model, ep)
    replicas = nranks // ep
    sent = {
        "all_to_all": steps * model.layers * 4 * buffer * Fraction(ep - 1, ep),
        "all_reduce": steps
        * size
        * (rest * Fraction(2 * (nranks - 1), nranks) + mine * Fraction(2 * (replicas - 1), replicas)),
    }
    calls = {"all_to_all": 4 * model.layers * steps, "all_reduce": steps * (1 + (replicas > 1))}
    return Predicted(calls, sent, states(training, mine + rest, len(model.shapes)))


def numels(model: Model, ranks: int) -> tuple[int, int]:
    """Elements of one rank's experts, and of all that is none."""
    sizes = {name: torch.Size(shape).numel() for name, shape in model.shapes.items()}
    experts = sum(n for name, n in sizes.items() if is_expert(name))
    return experts // ranks, sum(sizes.values()) - experts


def reference(training: Training, nranks: int) -> Trained:
    """One process that routes as nranks ranks do, each its own part, with its own capacity and drops."""
    return train(training.but(model=replace(training.model, parts=nranks)))


def _strategy(name: str, by: str = "ours", **how: Any) -> Strategy:
    training = Training(Routed(), batch=32, optimizer="adamw")
    run, paper = partial(expert, **how), partial(predicted, **how)
    return Strategy(f"expert{name}", run, paper, training, by=by, reference=reference)


STRATEGIES = (
    _strategy(""),
    _strategy(", over two of four ranks", ranks=2),
    _strategy(", functional all_to_all", by="functional collectives", exchange=exchanged_by_torch),
)
