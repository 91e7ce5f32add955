"""What is predicted for a rank under FSDP2, against torch's own fully_shard on four Gloo ranks: the same bytes at every stage and peak."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import torch
from lanes import some

from helpers.facts import Model
from helpers.measure import build, predict_step, track
from helpers.measure.predict.predict import STAGES
from helpers.measure.sharding import Sharding
from helpers.measure.sharding.fsdp2 import units
from helpers.measure.step import checkpointing
from helpers.measure.step.precision import FSDP2
from helpers.memory import CLASSES, Trace
from helpers.memory.closed_form import fsdp2_states
from helpers.parallel.zero.watched import unsharded

NRANKS = 4
SLACK = 1024  # bytes; most are 4 away, by the loss
STATES = ("parameter", "gradient", "optimizer")


@dataclass(frozen=True)
class Case:
    """One setup, drawn by a seed: nothing in it was chosen so that rows go up among the ranks."""

    shape: Model
    batch: int
    seq: int
    precision: str
    checkpoint: str
    zero: int
    accumulate: int


def draw(seed: int) -> Case:
    rng = random.Random(seed)
    heads, head_dim = rng.choice([2, 3, 4]), 2 * rng.randint(2, 5)
    llama = rng.random() < 0.7
    shape = Model(
        f"drawn by {seed}",
        layers=rng.randint(2, 3),
        hidden=rng.randint(9, 40),
        heads=heads,
        kv_heads=rng.choice([n for n in (1, 2, 3, 4) if heads % n == 0]),
        head_dim=head_dim,
        ffn=rng.randint(9, 90),
        vocab=rng.randint(30, 200),
        context=64,
        norm="rms" if llama else "layer",
        mlp="swiglu" if llama else "gelu",
        positions="rotary" if llama else "learned",
        bias=not llama,
        tied=rng.random() < 0.3,
    )
    return Case(
        shape,
        rng.randint(1, 3),
        rng.randint(5, 40),
        rng.choice([*FSDP2]),
        rng.choice(["none", "matmuls", "per-op", "full"]),
        rng.choice([2, 3, 3]),
        rng.choice([1, 1, 2]),
    )


def real(case: Case) -> Trace:
    """The second step of this rank, watched."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    torch.set_num_threads(1)
    model = checkpointing.apply(build(case.shape, attention="math", device="cpu"), case.checkpoint)
    policy = FSDP2[case.precision]
    mixed = MixedPrecisionPolicy(policy.compute, policy.reduce, cast_forward_inputs=False)
    how = {"mesh": init_device_mesh("cpu", (NRANKS,)), "mp_policy": mixed}
    for modules, again in units(model):
        fully_shard(modules if len(modules) > 1 else modules[0], reshard_after_forward=again and case.zero == 3, **how)
    fully_shard(model, **how)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    tokens = torch.zeros(case.batch, case.seq, dtype=torch.int64)
    targets = torch.zeros_like(tokens)
    with torch.no_grad():
        _ = [p.zero_() for p in model.parameters()]
    steps(case, model, optimizer, tokens, targets, lambda name: None)
    with track(model, optimizer, (tokens, targets)) as watch:
        watch.register(list(unsharded(model)), "communication")
        watch.mark("start")
        steps(case, model, optimizer, tokens, targets, watch.mark)
    return watch.trace


def steps(case, model, optimizer, tokens, targets, mark) -> None:
    for _ in range(case.accumulate):
        loss = model(tokens, targets)
        mark(STAGES[0])
        loss.backward()
        del loss
        mark(STAGES[1])
    optimizer.step()
    mark(STAGES[2])
    optimizer.zero_grad()
    mark(STAGES[3])


def predicted(case: Case) -> Trace:
    """Rank 0's second step."""
    how = {"precision": case.precision, "checkpoint": case.checkpoint, "accumulate": case.accumulate}
    sharding = Sharding(data=NRANKS, zero=case.zero)
    done = predict_step(
        case.shape, batch=case.batch, seq=case.seq, attention="math", operators="cpu", sharding=sharding, **how
    )
    return done.trace


def second(trace: Trace) -> tuple[dict[str, list[int]], int]:
    """Bytes alive at the stages of the last step, and its peak."""
    stages = [(i, name, n) for i, name, n in trace.marks if name != "start"]
    half = len(stages) // 2 if len([1 for _, name, _ in stages if name == STAGES[3]]) == 2 else 0
    begin = stages[half - 1][0] if half else next(i for i, name, _ in trace.marks if name == "start")
    found = {}
    for _, name, n in stages[half:]:
        found.setdefault(name, []).append(n)
    return found, int(np.max(trace.total[begin:]))


def most(trace: Trace) -> list[int]:
    """The most bytes of each forward, backward and update."""
    marks = [(a, b, name) for (a, _, _), (b, name, _) in pairwise(trace.marks)]
    return [int(np.max(trace.total[a : b + 1])) for a, b, name in marks if name in STAGES[:3]]


def apart(there: Trace, here: Trace) -> int:
    """How far the most of each forward and backward of the last step is from what was predicted; of its update the same to the byte."""
    real, said = most(there), most(here)[-len(most(there)) :]
    assert real[-1] == said[-1], "most bytes within the update"
    return int(np.abs(np.subtract(real, said)).max())


def at_rest(trace: Trace) -> dict[str, int]:
    """Bytes of the states after the last step."""
    index = [i for i, name, _ in trace.marks if name == STAGES[2]][-1]
    held = dict(zip(CLASSES, map(int, trace.by_class[index]), strict=True))
    return {cls: held[cls] for cls in STATES}


def kept(case: Case, rank: int) -> dict[str, int]:
    """The closed form's, and AdamW's step count for each parameter."""
    shapes = [tuple(p.shape) for p in build(case.shape).parameters()]
    found = dict(fsdp2_states(shapes, NRANKS, rank).nbytes)
    return found | {"optimizer": found["optimizer"] + 4 * len(shapes)}


@pytest.mark.parametrize("seed", some(range(24), [0, 4], "twenty-two more setups"))
def test_the_bytes_of_fully_shard(ranks, seed):
    case = draw(seed)
    there, here = ranks.run(real, case), predicted(case)
    assert [at_rest(trace) for trace in there] == [kept(case, rank) for rank in range(NRANKS)]
    assert at_rest(here) == kept(case, 0)
    (measured, peak), (said, highest) = second(there[0]), second(here)
    assert {name: len(found) for name, found in measured.items()} == {name: len(found) for name, found in said.items()}
    away = {name: np.abs(np.subtract(found, said[name])).max() for name, found in measured.items()}
    assert max(*away.values(), abs(peak - highest)) <= SLACK, (case, measured, said, peak, highest)
    assert away[STAGES[2]] == away[STAGES[3]] == 0
    assert apart(there[0], here) <= SLACK, (case, most(there[0]), most(here))
