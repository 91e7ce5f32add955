"""What is predicted for a rank of HSDP, two teams of two that each share a replica out: torch's fully_shard on a mesh, and our ZeRO-3."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from lanes import some
from test_predict_fsdp2 import SLACK, Case, apart, draw, most, second, steps

from helpers.measure import build, predict_step, track
from helpers.measure.predict.predict import STAGES
from helpers.measure.sharding import Sharding
from helpers.measure.sharding.fsdp2 import units
from helpers.measure.step import checkpointing
from helpers.measure.step.precision import FSDP2, computes, optimizer
from helpers.memory import Trace
from helpers.parallel.zero import Hybrid, Zero
from helpers.parallel.zero.watched import unsharded

TEAM = 2
PLAN = Sharding(data=4, zero=3, team=TEAM)


def by_torch(case: Case) -> Trace:
    """The second step of this rank under fully_shard, watched."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    torch.set_num_threads(1)
    model = checkpointing.apply(build(case.shape, attention="math", device="cpu"), case.checkpoint)
    policy = FSDP2[case.precision]
    mixed = MixedPrecisionPolicy(policy.compute, policy.reduce, cast_forward_inputs=False)
    mesh = init_device_mesh("cpu", (4 // TEAM, TEAM), mesh_dim_names=("replicate", "shard"))
    for modules, again in units(model):
        how = {"mesh": mesh, "mp_policy": mixed, "reshard_after_forward": again}
        fully_shard(modules if len(modules) > 1 else modules[0], **how)
    fully_shard(model, mesh=mesh, mp_policy=mixed)
    adam = torch.optim.AdamW(model.parameters(), foreach=False)
    tokens, targets = (torch.zeros(case.batch, case.seq, dtype=torch.int64) for _ in range(2))
    steps(case, model, adam, tokens, targets, lambda name: None)
    with track(model, adam, (tokens, targets)) as watch:
        watch.register(list(unsharded(model)), "communication")
        watch.mark("start")
        steps(case, model, adam, tokens, targets, watch.mark)
    return watch.trace


def by_hand(case: Case) -> Trace:
    """The same under our ZeRO-3."""
    torch.set_num_threads(1)
    model = build(case.shape, attention="math", device="cpu", dtype=computes(case.precision))
    checkpointing.apply(model, case.checkpoint)
    kinds = {"optimizer": lambda shares: optimizer("adamw", shares, case.precision), "prefetch": True}
    zero = Zero(model, 3, group=Hybrid(TEAM), **kinds)
    tokens, targets = (torch.zeros(case.batch, case.seq, dtype=torch.int64) for _ in range(2))
    steps(case, model, zero, tokens, targets, lambda name: None)
    with track(model, zero.optimizer, (tokens, targets)) as watch:
        watch.register(list(getattr(zero.optimizer, "masters", {}).values()), "optimizer")
        zero.tell(watch.register)
        watch.mark("start")
        steps(case, model, zero, tokens, targets, watch.mark)
    return watch.trace


def held_against(there: Trace, case: Case) -> None:
    """The prediction of the same step has the same bytes, at every stage and at the peak."""
    how = {name: getattr(case, name) for name in ("batch", "seq", "precision", "checkpoint", "accumulate")}
    here = predict_step(case.shape, attention="math", operators="cpu", sharding=PLAN, **how).trace
    (measured, peak), (said, highest) = second(there), second(here)
    away = {name: np.abs(np.subtract(found, said[name])).max() for name, found in measured.items()}
    print(case.precision, case.checkpoint, case.accumulate, away, peak - highest, peak)
    assert measured.keys() == said.keys() == set(STAGES)
    assert max(*away.values(), abs(peak - highest)) <= SLACK, (case, measured, said, peak, highest)
    assert apart(there, here) <= SLACK, (case, most(there), most(here))


@pytest.mark.parametrize("seed", some(range(18), [1], "seventeen more setups"))
def test_the_bytes_of_fully_shard_on_a_mesh(ranks, seed):
    rng = random.Random(f"teams {seed}")
    precision = [*FSDP2][seed % 3]
    case = replace(draw(100 + seed), zero=3, precision=precision, accumulate=rng.choice([1, 2]))
    held_against(ranks.run(by_torch, case)[0], case)


@pytest.mark.parametrize("seed", some(range(8), [0], "seven more setups"))
def test_the_bytes_of_our_own_hybrid(ranks, seed):
    rng = random.Random(f"our teams {seed}")
    case = replace(draw(200 + seed), zero=3, precision=rng.choice(["fp32", "bf16", "bf16-true"]))
    held_against(ranks.run(by_hand, case)[0], case)
