"""What is predicted for a rank under ZeRO, against the same on four Gloo ranks: the same bytes at every stage and at the peak."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from lanes import some

from helpers.facts import Model
from helpers.measure import build, predict_step, track
from helpers.measure.predict.predict import STAGES
from helpers.measure.sharding import Sharding
from helpers.measure.step.precision import computes, optimizer
from helpers.parallel.zero import Zero

NRANKS = 4
SLACK = 1024  # bytes
WAYS = {
    "ZeRO-1": ("bf16", 1),
    "ZeRO-2": ("fp32", 2),
    "ZeRO-3": ("bf16", 3),
    "Megatron-LM's distributed optimizer": ("bf16-fp32grads", 1),
}


def draw(seed: str) -> tuple[Model, int, int]:
    """A Llama of any size, sequences, tokens."""
    rng = random.Random(seed)
    sizes = {name: rng.randint(*ends) for name, ends in (("hidden", (9, 40)), ("ffn", (9, 90)), ("vocab", (30, 200)))}
    shape = Model("drawn", layers=rng.randint(1, 3), heads=2, head_dim=2 * rng.randint(2, 5), context=64, **sizes)
    return shape, rng.randint(1, 3), rng.randint(5, 30)


def real(shape: Model, batch: int, seq: int, precision: str, stage: int):
    """This rank's second step, watched from the first one on."""
    torch.set_num_threads(1)
    model = build(shape, attention="math", device="cpu", dtype=computes(precision))
    main = torch.float32 if precision == "bf16-fp32grads" else None
    kind = "bf16" if main else precision
    zero = Zero(model, stage, prefetch=True, main_grads=main, optimizer=lambda shares: optimizer("adamw", shares, kind))
    tokens, targets = (torch.zeros(batch, seq, dtype=torch.int64) for _ in range(2))
    with track(model, zero.optimizer, (tokens, targets)) as watch:
        watch.register(list(getattr(zero.optimizer, "masters", {}).values()), "optimizer")
        zero.tell(watch.register)
        for _ in range(2):
            loss = model(tokens, targets)
            watch.mark(STAGES[0])
            loss.backward()
            del loss
            watch.mark(STAGES[1])
            zero.step()
            watch.mark(STAGES[2])
            zero.zero_grad()
            watch.mark(STAGES[3])
    return watch.trace


def second(trace) -> list[int]:
    """Bytes at the stages of the second step, and the most of them."""
    ends = [index for index, name, _ in trace.marks if name == STAGES[3]]
    found = [n for index, _, n in trace.marks if index > ends[0]]
    return [*found, int(np.max(trace.total[ends[0] + 1 :]))]


@pytest.mark.parametrize("seed", some(range(6), [0], "five more setups of each"))
@pytest.mark.parametrize("way", WAYS)
def test_the_bytes_of_a_real_rank(ranks, way, seed):
    precision, stage = WAYS[way]
    shape, batch, seq = draw(f"{way} {seed}")
    there = second(ranks.run(real, shape, batch, seq, precision, stage)[0])
    how = {"precision": precision, "sharding": Sharding(data=NRANKS, zero=stage), "attention": "math"}
    here = second(predict_step(shape, batch=batch, seq=seq, operators="cpu", **how).trace)
    print(way, there, here)
    assert len(there) == len(here) and np.abs(np.subtract(there, here)).max() <= SLACK, (shape, there, here)
