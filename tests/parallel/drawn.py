"""Setups that a seed draws for predictions, and how far a prediction may be from what ranks hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np
import torch
from torch import nn

from helpers.facts import Model
from helpers.measure import predict_step, track
from helpers.measure.predict.predict import STAGES
from helpers.measure.sharding import Sharding
from helpers.memory import Trace
from helpers.parallel.zero import Zero
from helpers.tracker.tracker import Tracker

SLACK = 1024  # bytes; most predictions are 0 to 8 away
# Gloo says that a collective is over a moment before its thread lets go of the tensors (ProcessGroupGloo::runLoop), so on a busy machine a
# step may hold some longer: the least of a few is the step's own.
STEPS = 3
LLAMA = {"norm": "rms", "mlp": "swiglu", "positions": "rotary", "bias": False}
GPT = {"norm": "layer", "mlp": "gelu", "positions": "learned", "bias": True}


@dataclass(frozen=True)
class Case:
    """One setup. plan: of rank 0, or of the rank that it names. how: of predict_step."""

    shape: Model
    batch: int
    seq: int
    plan: Sharding
    how: dict


def sizes(rng: Random, ffn: int = 90, vocab: int = 200) -> dict[str, int]:
    """Nothing in them was chosen so that rows go up among ranks."""
    return {"hidden": rng.randint(9, 40), "ffn": rng.randint(9, ffn), "vocab": rng.randint(30, vocab)}


# inside ranks --------------------------------------------------------------------------------------------------------------
def batch_of(case: Case, nranks: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and targets, of one of the ranks that share a sequence."""
    tokens, targets = (torch.zeros(case.batch, case.seq // nranks, dtype=torch.int64) for _ in range(2))
    return tokens, targets


def step(case: Case, forward: Callable[[], torch.Tensor], trainer: object, mark: Callable[[str], None]) -> None:
    """As a trainer has it, with a mark at every stage. forward(): a micro-batch's loss."""
    for _ in range(case.how.get("accumulate", 1)):
        loss = forward()
        mark(STAGES[0])
        loss.backward()
        del loss
        mark(STAGES[1])
    update(trainer, mark)


def update(trainer: object, mark: Callable[[str], None]) -> None:
    trainer.step()
    mark(STAGES[2])
    trainer.zero_grad()
    mark(STAGES[3])


def kept_by(adam: object, zero: Zero | None = None) -> Callable[[Tracker], None]:
    """Says what fp32 copies of weights and gradients are for, and what ZeRO has."""

    def told(watch: Tracker) -> None:
        watch.register(list(getattr(adam, "masters", {}).values()), "optimizer")
        watch.register(list(getattr(adam, "main_grads", {}).values()), "gradient")
        if zero:
            zero.tell(watch.register)

    return told


def watched(model: nn.Module, adam: object, batch: tuple, told: Callable, step: Callable[[Callable], None]) -> Trace:
    """A few steps after the first one, from the mark "start" on. step(mark) takes one."""
    step(lambda name: None)
    with track(model, adam, batch) as watch:
        told(watch)
        watch.mark("start")
        for _ in range(STEPS):
            step(watch.mark)
    return watch.trace


# on paper, and beside it ---------------------------------------------------------------------------------------------------
def predicted(case: Case) -> Trace:
    """Two steps on paper, with what torch built for the CPU."""
    how = {"batch": case.batch, "seq": case.seq, "attention": "math", "operators": "cpu", **case.how}
    return predict_step(case.shape, sharding=case.plan, **how).trace


def same_within(case: Case, there: Trace) -> np.ndarray:
    """What a rank held at every mark, and the most before it, is what is predicted, of several steps the least; of an update to the byte.

    How far the bytes at the marks are from what is predicted.
    """
    paper, steps = passes(predicted(case))[-1], passes(there)
    names = [name for name, *_ in paper]
    assert all([name for name, *_ in step] == names for step in steps)
    real, said = (np.array([[row[1:] for row in step] for step in one]) for one in (steps, [paper]))
    off = np.abs(real.min(axis=0) - said[0])
    print(case.plan, case.how, *zip(names, off.tolist(), strict=True))
    assert off.max() <= SLACK and not off[names.index(STAGES[2]), 1], (case, real, said)
    return off[:, 0]


def passes(trace: Trace) -> list[list[tuple[str, int, int]]]:
    """Of each step, from "start" or the end of another one to its end: (mark, bytes alive there, the most since the mark before)."""
    ends = [i for i, (_, name, _) in enumerate(trace.marks) if name in ("start", STAGES[3])]
    rows = [
        (name, n, int(np.max(trace.total[before : index + 1])))
        for (before, *_), (index, name, n) in pairwise(trace.marks)
    ]
    return [rows[start:end] for start, end in pairwise(ends)]
