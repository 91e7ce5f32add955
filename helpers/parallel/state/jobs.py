"""A training that can stop and go on: made, run for some steps, its state named, under each way to share it out. Chapter: sharded.

Every way has the same names and whole shapes for its tensors: "model.layers.0.weight", "optimizer.layers.0.weight.exp_avg",
"progress.step". So what one has saved another loads. Learning rates are not in it: they are the program's, as the data are, which
here depend on the step alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from helpers.parallel.data.replicated import local_loss_of, mean_over_ranks
from helpers.parallel.module import Module
from helpers.parallel.reference import Trained, Training, kept
from helpers.parallel.sharded import fsdp2
from helpers.parallel.zero import Group, Hybrid, Unit, Zero

from .pieces import Pieces
from .planners import State
from .saving import load, save

WAYS = ("ddp", "fsdp2", "zero-1", "zero-2", "zero-3")
STEP = "progress.step"


class Job:
    """Inside a rank: a model, how it is shared out, and how many steps it has done.

    net: what is called; inner: the same without a wrapper, whose parameters have the names of the checkpoint.
    """

    def __init__(self, net: nn.Module, inner: Module, optimizer: torch.optim.Optimizer):
        self.net, self.inner, self.optimizer = net, inner, optimizer
        self.done = torch.zeros((), dtype=torch.int64, device="cpu")
        with_state(optimizer)

    def step(self, loss: Tensor) -> None:
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.done += 1

    def state(self) -> State:
        """What has to be saved, by name: the tensors that are trained, or views of them."""
        return dict(sorted(self.tensors(), key=itemgetter(0))) | {STEP: self.done}

    def tensors(self) -> Iterator[tuple[str, Tensor | Pieces]]:
        """torch's own names and shards, of DDP and of FSDP2."""
        from torch.distributed.checkpoint.state_dict import get_state_dict

        model, optimizer = get_state_dict(self.net, self.optimizer)
        yield from ((f"model.{name}", one) for name, one in model.items())
        for name, held in optimizer["state"].items():
            yield from ((f"optimizer.{name}.{key}", one) for key, one in held.items() if isinstance(one, Tensor))

    def take(self, state: State) -> None:
        """Go on from a state that `load` has filled."""
        from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

        model, optimizer = get_state_dict(self.net, self.optimizer)
        model = {name: state[f"model.{name}"] for name in model}
        for name, held in optimizer["state"].items():
            held.update({key: state[f"optimizer.{name}.{key}"] for key in held if f"optimizer.{name}.{key}" in state})
        set_state_dict(self.net, self.optimizer, model_state_dict=model, optim_state_dict=optimizer)

    def params(self) -> dict[str, Tensor]:
        """Whole ones, on every rank, by their names in the model. All ranks together."""
        whole = self.inner.by_name()
        return {name: p.full_tensor() if hasattr(p, "full_tensor") else p for name, p in whole.items()}


class Ours(Job):
    """ZeRO-1, -2 and -3: of every tensor the part that lies in this rank's share of a flat buffer, whatever the stage keeps whole."""

    def __init__(self, zero: Zero, inner: Module):
        super().__init__(inner, inner, zero.optimizer)
        self.zero = zero

    def step(self, loss: Tensor) -> None:
        loss.backward()
        self.zero.step()
        self.zero.zero_grad()
        self.done += 1

    def tensors(self) -> Iterator[tuple[str, Tensor | Pieces]]:
        names = {p: name for name, p in self.inner.named_parameters()}
        for unit, share in zip(self.zero.units, self.zero.shares, strict=True):
            for p, start, cut in pieces(unit):
                yield f"model.{names[p]}", Pieces.of(unit.share[cut], p.shape, start)
                for key, one in self.optimizer.state[share].items():
                    whole = one if one.dim() == 0 else Pieces.of(one[cut], p.shape, start)
                    yield f"optimizer.{names[p]}.{key}", whole

    def take(self, state: State) -> None:
        """The shares are filled; stages 1 and 2 gather the parameters from them, stage 3 does at its next forward."""
        for unit in self.zero.units:
            unit.update(None)

    def params(self) -> dict[str, Tensor]:
        for unit in self.zero.units:
            unit.gather()
        return self.inner.by_name()


def pieces(unit: Unit) -> Iterator[tuple[nn.Parameter, int, slice]]:
    """Of every parameter of a unit: the first of its elements that this rank owns, and where in the share they lie; maybe none."""
    each = unit.numel // unit.group.nranks
    mine = each * unit.group.rank
    ends = list(accumulate(p.numel() for p in unit.params))
    for p, end in zip(unit.params, ends, strict=True):
        begin = end - p.numel()
        low, high = (min(max(at, mine), mine + each) for at in (begin, end))
        yield p, low - begin if high > low else 0, slice(low - mine, high - mine)


def with_state(optimizer: torch.optim.Optimizer) -> None:
    """An optimizer makes its state in its first step, and a checkpoint needs somewhere to go: a step that changes nothing.

    torch's get_state_dict does so by itself, and leaves a step count of one.
    """
    params = [p for group in optimizer.param_groups for p in group["params"]]
    rates = [group["lr"] for group in optimizer.param_groups]
    for p in params:
        p.grad = torch.zeros_like(p)
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad()
    for held in optimizer.state.values():
        if "step" in held:
            held["step"].zero_()


def job(way: str, training: Training, team: int | None = None) -> Job:
    """Inside a rank: at step 0. team: ranks of one replica (None: all), for what is sharded. ValueError for a way that is none."""
    if way not in WAYS:
        raise ValueError(f"a way to share out is one of {', '.join(WAYS)}, got {way!r}")
    if way == "fsdp2":
        net = fsdp2.module(training, fsdp2.How(team=team))
        return Job(net, net, training.make_optimizer(net.parameters()))
    net = Module(training.model, training.params())
    if way == "ddp":
        from torch.nn.parallel import DistributedDataParallel

        return Job(DistributedDataParallel(net), net, training.make_optimizer(net.parameters()))
    group = Group() if team is None else Hybrid(team)
    return Ours(Zero(net, int(way[-1]), group=group, optimizer=training.make_optimizer), net)


def losses(job: Job, training: Training, last: int) -> list[float]:
    """Train until `last` steps are done: the loss of the whole batch at each."""
    found = []
    for step in range(int(job.done), last):
        loss = local_loss_of(training, job.net, step)
        job.step(loss)
        found.append(loss.detach())
    return mean_over_ranks(found) if found else []


def begun(
    way: str, training: Training, root: str | Path, stop: int, team: int | None = None
) -> tuple[Path, list[float]]:
    """Inside a rank: train `stop` steps and save them. The checkpoint and the losses."""
    one = job(way, training, team)
    found = losses(one, training, stop)
    return save(one.state(), root, stop), found


def resumed(way: str, training: Training, folder: str | Path, team: int | None = None) -> Trained:
    """Inside a rank: go on from a checkpoint of any ranks and any way until the training's steps are done; its losses from there on."""
    one = job(way, training, team)
    state: dict[str, Any] = one.state()
    load(state, folder)
    one.take(state)
    found = losses(one, training, training.steps)
    return Trained(found, kept(one.params()))
