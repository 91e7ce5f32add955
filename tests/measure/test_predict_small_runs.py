"""Predictions held against small real steps on the CPU, setups drawn by a seed: the same bytes at every stage and at the peak."""

from __future__ import annotations

import random
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from lanes import some

from helpers.facts import Model
from helpers.measure import build, predict_step, track
from helpers.measure.predict.predict import STAGES
from helpers.step import checkpointing, hf_trainer
from helpers.step.models import ATTENTIONS
from helpers.step.precision import computes, optimizer

SLACK = 1024  # bytes


def draw(rng: random.Random) -> Model:
    heads, llama = rng.choice([2, 3, 4]), rng.random() < 0.6
    sizes = {name: rng.randint(*ends) for name, ends in (("hidden", (9, 40)), ("ffn", (9, 90)), ("vocab", (30, 300)))}
    return Model(
        "drawn",
        layers=rng.randint(1, 3),
        heads=heads,
        kv_heads=rng.choice([n for n in (1, 2, 3, 4) if heads % n == 0]),
        head_dim=2 * rng.randint(2, 5),
        context=64,
        norm="rms" if llama else "layer",
        mlp="swiglu" if llama else "gelu",
        positions="rotary" if llama else "learned",
        bias=not llama,
        tied=rng.random() < 0.3,
        **sizes,
    )


def measured(shape, batch, seq, how) -> tuple[dict[str, list[int]], int]:
    """Bytes at the stages of the second of two real steps, and the most of them."""
    precision = how["precision"]
    model = build(shape, attention=how["attention"], device="cpu", dtype=computes(precision))
    model.chunks, model.chunking = how.get("chunks", 1), how.get("chunking", "recompute")
    checkpointing.apply(model, how.get("checkpoint", "none"))
    adam = optimizer("adamw", model.parameters(), precision)
    around = (lambda: torch.autocast("cpu", torch.bfloat16)) if precision == "autocast" else nullcontext
    tokens, targets = (torch.zeros(batch, seq, dtype=torch.int64) for _ in range(2))
    inputs = (tokens, targets) if not how.get("trainer") else (tokens, targets, torch.tensor(batch * seq))
    with track(model, adam, inputs) as watch:
        watch.register(list(getattr(adam, "masters", {}).values()), "optimizer")
        watch.register(list(getattr(adam, "main_grads", {}).values()), "gradient")
        for _ in range(2):
            begin = len(watch.trace)
            for _ in range(how.get("accumulate", 1)):
                loss = forward(model, inputs, around, how)
                watch.mark(STAGES[0])
                loss.backward()
                del loss
                watch.mark(STAGES[1])
            if how.get("trainer"):
                hf_trainer.clip(model)
            adam.step()
            watch.mark(STAGES[2])
            adam.zero_grad()
            watch.mark(STAGES[3])
    return read(watch.trace, begin)


def forward(model, inputs, around, how):
    if how.get("trainer"):
        return hf_trainer.forward(model, *inputs, around)
    with around():
        return model(*inputs)


def read(trace, begin: int) -> tuple[dict[str, list[int]], int]:
    found: dict[str, list[int]] = {}
    for index, name, n in trace.marks:
        if index >= begin:
            found.setdefault(name, []).append(n)
    return found, int(np.max(trace.total[begin:]))


def said(shape, batch, seq, how) -> tuple[dict[str, list[int]], int]:
    trace = predict_step(shape, batch=batch, seq=seq, operators="cpu", **how).trace
    ends = [index for index, name, _ in trace.marks if name == STAGES[3]]
    return read(trace, ends[0] + 1)


HOW = {
    "plain": {"precision": "bf16"},
    "every second product": {"precision": "bf16-true", "checkpoint": "per-op"},
    "Hugging Face": {"precision": "autocast", "trainer": "hf"},
    "Hugging Face, checkpoints": {"precision": "autocast", "trainer": "hf", "checkpoint": "full", "accumulate": 2},
    "Megatron-LM": {"precision": "bf16-fp32grads", "accumulate": 3},
    "chunks again": {"precision": "bf16", "chunks": 4},
    "chunks at once": {"precision": "fp32", "chunks": 4, "chunking": "torchtitan"},
    "chunks of Liger": {"precision": "bf16-true", "chunking": "liger"},
}


@pytest.mark.parametrize("seed", some(range(12), [0], "eleven more setups of each"))
@pytest.mark.parametrize("name", HOW)
def test_the_bytes_of_a_real_step(name, seed):
    rng = random.Random(f"{name} {seed}")
    shape, batch, seq = draw(rng), rng.randint(1, 3), 4 * rng.randint(2, 9)
    how = HOW[name] | {"attention": rng.choice(ATTENTIONS)}
    (there, peak), (here, highest) = measured(shape, batch, seq, how), said(shape, batch, seq, how)
    assert {name: len(found) for name, found in there.items()} == {name: len(found) for name, found in here.items()}
    away = max(np.abs(np.subtract(found, here[name])).max() for name, found in there.items())
    print(f"{name} {seed}: {away} {peak - highest} of {peak}")
    assert max(away, abs(peak - highest)) <= SLACK, (shape, batch, seq, there, here, peak, highest)
