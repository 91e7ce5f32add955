"""What is predicted for a rank under ZeRO, against the same on four Gloo ranks: the same bytes at every stage and at the peak."""

from __future__ import annotations

import random
from functools import partial

import pytest
import torch
from drawn import Case, batch_of, kept_by, same_within, sizes, step, watched
from lanes import some

from helpers.facts import Model
from helpers.measure import build
from helpers.measure.sharding import Sharding
from helpers.parallel.zero import Zero
from helpers.step.precision import computes, optimizer

NRANKS = 4
WAYS = {
    "ZeRO-1": ("bf16", 1),
    "ZeRO-2": ("fp32", 2),
    "ZeRO-3": ("bf16", 3),
    "Megatron-LM's distributed optimizer": ("bf16-fp32grads", 1),
}


def draw(way: str, seed: int) -> Case:
    """A Llama of any size, sequences, tokens."""
    rng, (precision, stage) = random.Random(f"{way} {seed}"), WAYS[way]
    widths = sizes(rng)
    shape = Model("drawn", layers=rng.randint(1, 3), heads=2, head_dim=2 * rng.randint(2, 5), context=64, **widths)
    plan = Sharding(data=NRANKS, zero=stage)
    return Case(shape, rng.randint(1, 3), rng.randint(5, 30), plan, {"precision": precision})


def real(case: Case):
    """This rank, watched from its second step on."""
    torch.set_num_threads(1)
    precision = case.how["precision"]
    model = build(case.shape, attention="math", device="cpu", dtype=computes(precision))
    main = torch.float32 if precision == "bf16-fp32grads" else None
    kind = "bf16" if main else precision
    how = {"prefetch": True, "main_grads": main, "optimizer": lambda shares: optimizer("adamw", shares, kind)}
    zero = Zero(model, case.plan.zero, **how)
    batch, adam = batch_of(case), zero.optimizer
    return watched(model, adam, batch, kept_by(adam, zero), partial(step, case, lambda: model(*batch), zero))


@pytest.mark.parametrize("seed", some(range(6), [0], "five more setups of each"))
@pytest.mark.parametrize("way", WAYS)
def test_the_bytes_of_a_real_rank(ranks, way, seed):
    case = draw(way, seed)
    same_within(case, ranks.run(real, case)[0])
