"""Strategies by the clock: tokens a second, MFU and HFU of the small transformer. Chapters: data-parallel, meshes.

The peak is what one large matrix product reaches on one rank alone, one thread. Where ranks share cores they cannot have it all at
once, and a small model's time is mostly Python and Gloo: these numbers say what a step costs here and nothing of which way is best on GPUs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.ledger.flops import Flops, flops
from helpers.parallel.model import Transformer, shape_of
from helpers.parallel.reference import Training
from helpers.parallel.strategy import unwatched
from helpers.parallel.table import STRATEGIES

# Of the table, the ways that train the transformer, and how they spare activations.
CLOCKED = {
    "data, sum and divide": "none",
    "data, overlapped": "none",
    "data, DDP": "none",
    "sharded, ZeRO-1": "none",
    "sharded, ZeRO-3": "none",
    "sharded, FSDP2": "none",
    "tensor, transformer, pairs": "none",
    "tensor, transformer, sequence": "none",
    "tensor, transformer, checkpointed": "full",
    "mesh, DP x TP": "none",
    "mesh, FSDP2 x DTensor": "none",
    "pipeline, 1F1B": "none",
}
MODEL = Transformer(layers=4, width=128, heads=4, kv_heads=4, ffn=512, vocab=256, seq=64)
TRAINING = Training(MODEL, batch=8, steps=4, optimizer="adamw", dtype=torch.float32)
SIDE = 768  # of the matrices that say what the peak is


class Clocked(NamedTuple):
    """seconds: of one step, on the rank that took longest, the least of several; the rest by formula from it."""

    name: str
    nranks: int
    seconds: float
    tokens_per_second: float
    mfu: float
    hfu: float


def clocked(
    name: str, call: Callable[..., list], nranks: int, peak: float, training: Training = TRAINING, reps: int = 5
) -> Clocked:
    """One strategy. call(fn, *args): runs it on every rank and gives their answers, as Ranks.run does; peak: FLOP/s of a rank.

    ValueError for a strategy that is not in CLOCKED, and for ranks that it cannot run on.
    """
    if name not in CLOCKED:
        raise ValueError(f"a strategy by the clock is one of {'; '.join(CLOCKED)}, got {name!r}")
    STRATEGIES[name].predicted(training, nranks, 0)
    every = call(seconds_of_steps, name, training, reps)
    step = min(max(rank[rep] for rank in every) for rep in range(reps))
    return told(name, nranks, step, peak, training)


def told(name: str, nranks: int, seconds: float, peak: float, training: Training) -> Clocked:
    """What follows from a step's seconds."""
    counted = asked(training, CLOCKED[name])
    tokens, there = training.batch * training.model.seq, seconds * nranks * peak
    return Clocked(name, nranks, seconds, tokens / seconds, counted.model / there, counted.hardware / there)


def asked(training: Training, checkpoint: str) -> Flops:
    """FLOPs of a step of the whole batch, every query with every key, as the step is counted."""
    return flops(shape_of(training.model), training.batch * training.model.seq, training.model.seq, checkpoint)


def seconds_of_steps(name: str, training: Training, reps: int) -> list[float]:
    """Inside a rank: seconds of a step, `reps` times, after a step that nobody clocks."""
    torch.set_num_threads(1)
    strategy = STRATEGIES[name]
    found = []
    with unwatched() as times:
        strategy.train(training.but(steps=1))
        for _ in range(reps):
            dist.barrier()
            strategy.train(training)
            found.append(times[-1] / training.steps)
    return found


def peak_of_one(reps: int = 5) -> float:
    """Inside a rank: FLOP/s of a matrix product of SIDE, one thread, the best of `reps`."""
    torch.set_num_threads(1)
    a = torch.randn(SIDE, SIDE)
    a @ a

    def once() -> float:
        start = time.perf_counter()
        a @ a
        return time.perf_counter() - start

    return 2 * SIDE**3 / min(once() for _ in range(reps))


def runnable(nranks: int, training: Training = TRAINING, names: Iterable[str] = CLOCKED) -> dict[str, str]:
    """Every name with "", or with why it cannot run on so many ranks."""
    found = {}
    for name in names:
        try:
            STRATEGIES[name].predicted(training, nranks, 0)
            found[name] = ""
        except ValueError as error:
            found[name] = str(error)
    return found
