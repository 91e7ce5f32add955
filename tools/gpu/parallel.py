"""Training on many ranks: every strategy as predicted, torch's SyncBatchNorm beside ours, and the idle share of pipelines."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Iterator

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.parallel import norms
from helpers.parallel.pipeline.emulated import idle_share, slept
from helpers.parallel.report import Line, lines
from helpers.parallel.strategy import Strategy
from helpers.parallel.table import STRATEGIES
from helpers.pipeline import SCHEDULES, Times, bubble_share
from helpers.ranks import RankError, Ranks

from .place import Place

LIMIT = 30.0  # seconds of one strategy's steps
ENOUGH = 110.0  # seconds after which no further strategy begins: the check itself has 150, and then nothing is told
FOUR = 4  # ranks that the table's trainings are made for
FORWARD = 0.02  # seconds of a stage's forward on one micro-batch
NEAR = 0.1  # how far the idle share may be from its formula
MICROBATCHES = 8


def strategies(place: Place) -> dict:
    """Every strategy of the table against one process and its formulas: difference, calls, bytes, memory of the states.

    What goes wrong with one stops no other; AssertionError names all that is not as predicted.
    """
    plan, left_out = planned(place)
    told, wrong, end = {}, [], time.monotonic() + ENOUGH
    for nranks, those in plan.items():
        with place.new(nranks, timeout=LIMIT) as ranks:
            ranks.run(loaded)
            for one in those:
                found, said = tried(ranks, one, end)
                wrong += said
                told[one.name] = {"nranks": nranks, "label": ranks.label, "wrong": said, **row(found)}
    assert not wrong, "; ".join(wrong)
    record = {"strategies": told, "left out": left_out}
    return {"as predicted": len(told), "left out": len(left_out), "record": {"parallel": record}}


def planned(place: Place) -> tuple[dict[int, list[Strategy]], dict[str, str]]:
    """({ranks: the strategies that run on so many}, {those that run on none: why}).

    All ranks there are; four where those do not divide the model, and where ranks share a GPU anyhow.
    """
    first = FOUR if place.shared else place.nranks
    plan: dict[int, list[Strategy]] = {}
    left_out: dict[str, str] = {}
    for one in STRATEGIES.values():
        for nranks in sorted({first, min(first, FOUR)}, reverse=True):
            why = refused(one, nranks)
            if not why:
                plan.setdefault(nranks, []).append(one)
                break
        else:
            left_out[one.name] = why
    return plan, left_out


def refused(one: Strategy, nranks: int) -> str:
    """Why the strategy does not run on so many ranks, or ""."""
    try:
        one.predicted(one.training, nranks, 0)
    except ValueError as error:
        return str(error)
    return ""


def loaded() -> None:
    """Inside ranks: what the first optimizer and DDP import, seconds that belong to no strategy."""
    importlib.import_module("torch._dynamo")


def tried(ranks: Ranks, one: Strategy, end: float) -> tuple[list[Line], list[str]]:
    """What every rank found, and what is wrong with it, in words; at `end` it is too late. After a failure the next call has new ranks."""
    if time.monotonic() > end:
        return [], [f"{one.name}: not reached in {ENOUGH:.0f} s"]
    try:
        found = ranks.run(lines, one, limit=LIMIT)[0]
    except RankError as error:
        return [], [f"{one.name}: {str(error).splitlines()[0]}"]
    return found, [f"{one.name}, {text}" for each in found for text in each.wrong]


def row(found: Iterable[Line]) -> dict:
    """Of all ranks, for the record; nothing where the strategy failed."""
    every = list(found)
    if not every:
        return {}
    return {
        "difference": max(one.difference for one in every),
        "calls": [one.calls for one in every],
        "sent": [one.sent for one in every],
        "held": [one.held for one in every],
    }


def batch_norm(place: Place) -> dict:
    """Ours and torch's, forward and backward, on ranks that have unequally many samples."""
    with place.ranks() as ranks:
        out, grad = map(max, zip(*ranks.run(beside_torch), strict=True))
    assert max(out, grad) < 1e-10, f"from SyncBatchNorm: {out:.1e} in forward, {grad:.1e} in backward"
    record = {"forward": out, "backward": grad}
    return {"difference": f"{max(out, grad):.1e}", "record": {"parallel-norms": record}}


def beside_torch(channels: int = 5) -> tuple[float, float]:
    """Inside ranks on GPUs: largest differences of the outputs, and of the inputs' gradients."""
    made = torch.Generator("cpu").manual_seed(dist.get_rank())
    size = (3 + dist.get_rank(), channels)
    x, weight = (torch.randn(size, generator=made, dtype=torch.float64, device="cpu").cuda() for _ in range(2))
    theirs = nn.SyncBatchNorm(channels, eps=norms.EPS, affine=False, track_running_stats=False).double()
    both = [_passed(fn, x, weight) for fn in (theirs, lambda x: norms.synchronised(x, dist.group.WORLD))]
    out, grad = ((a - b).abs().max().item() for a, b in zip(*both, strict=True))
    return out, grad


def _passed(fn, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """(output, gradient of x) of a loss that weighs every number differently."""
    x = x.clone().requires_grad_()
    out = fn(x)
    (out * weight).sum().backward()
    return out.detach(), x.grad


def idle(place: Place) -> dict:
    """How long ranks wait in a pipeline, stages that only take their time: within a tenth of the closed form."""
    found = {}
    with place.ranks() as ranks:
        for name, schedule in SCHEDULES.items():
            s = schedule(place.nranks, MICROBATCHES)
            steps = ranks.run(slept, s, Times(FORWARD, FORWARD, FORWARD), 2, limit=LIMIT)[0]
            found[name] = {"idle": min(map(idle_share, steps)), "closed form": float(bubble_share(s))}
    wrong = list(_far(found))
    assert not wrong, "; ".join(wrong)
    record = {"nranks": place.nranks, "micro-batches": MICROBATCHES, "schedules": found}
    return {name: f"{one['idle']:.1%}" for name, one in found.items()} | {"record": {"parallel-idle": record}}


def _far(found: dict[str, dict[str, float]]) -> Iterator[str]:
    for name, one in found.items():
        if abs(one["idle"] - one["closed form"]) > NEAR * one["closed form"]:
            yield f"{name}: idle {one['idle']:.1%}, by the closed form {one['closed form']:.1%}"
