"""What is predicted for a rank of HSDP, two teams of two that each share a replica out: torch's fully_shard on a mesh, and our ZeRO-3."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import pytest
import torch
from drawn import Case, batch_of, kept_by, same_within, step, watched
from lanes import some
from test_predict_fsdp2 import draw, real

from helpers.measure import build
from helpers.measure.sharding import Sharding
from helpers.memory import Trace
from helpers.parallel.zero import Hybrid, Zero
from helpers.step import checkpointing
from helpers.step.precision import FSDP2, computes, optimizer

TEAM = 2
PLAN = Sharding(data=4, zero=3, team=TEAM)


def teamed(case: Case, **how: object) -> Case:
    return replace(case, plan=PLAN, how=case.how | how)


def by_hand(case: Case) -> Trace:
    """The same under our ZeRO-3."""
    torch.set_num_threads(1)
    model = build(case.shape, attention="math", device="cpu", dtype=computes(case.how["precision"]))
    checkpointing.apply(model, case.how["checkpoint"])
    kinds = {"optimizer": lambda shares: optimizer("adamw", shares, case.how["precision"]), "prefetch": True}
    zero = Zero(model, 3, group=Hybrid(TEAM), **kinds)
    batch, adam = batch_of(case), zero.optimizer
    return watched(model, adam, batch, kept_by(adam, zero), partial(step, case, lambda: model(*batch), zero))


@pytest.mark.parametrize("seed", some(range(18), [1], "seventeen more setups"))
def test_the_bytes_of_fully_shard_on_a_mesh(ranks, seed):
    rng = random.Random(f"teams {seed}")
    precision = [*FSDP2][seed % 3]
    case = teamed(draw(100 + seed), precision=precision, accumulate=rng.choice([1, 2]))
    same_within(case, ranks.run(real, case)[0])


@pytest.mark.parametrize("seed", some(range(8), [0], "seven more setups"))
def test_the_bytes_of_our_own_hybrid(ranks, seed):
    rng = random.Random(f"our teams {seed}")
    case = teamed(draw(200 + seed), precision=rng.choice(["fp32", "bf16", "bf16-true"]))
    same_within(case, ranks.run(by_hand, case)[0])
