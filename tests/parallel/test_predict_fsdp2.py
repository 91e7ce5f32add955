"""What is predicted for a rank under FSDP2, against torch's own fully_shard on four Gloo ranks: the same bytes at every stage and peak."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest
import torch
from drawn import GPT, LLAMA, Case, batch_of, predicted, same_within, step, watched
from lanes import some
from torch import nn

from helpers.facts import Model
from helpers.measure import build
from helpers.measure.predict.predict import STAGES
from helpers.measure.sharding import Sharding
from helpers.measure.sharding.fsdp2 import fully_shard, mesh_of
from helpers.memory import Trace
from helpers.memory.closed_form import fsdp2_states
from helpers.parallel.zero.watched import unsharded
from helpers.step import checkpointing
from helpers.step.precision import FSDP2

NRANKS = 4
STATES = ("parameter", "gradient", "optimizer")


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
        **(LLAMA if llama else GPT),
        tied=rng.random() < 0.3,
    )
    batch, seq = rng.randint(1, 3), rng.randint(5, 40)
    how = {"precision": rng.choice([*FSDP2]), "checkpoint": rng.choice(["none", "matmuls", "per-op", "full"])}
    plan = Sharding(data=NRANKS, zero=rng.choice([2, 3, 3]))
    return Case(shape, batch, seq, plan, how | {"accumulate": rng.choice([1, 1, 2])})


def real(case: Case) -> Trace:
    """This rank, watched from its second step on; in teams where the case says so."""
    torch.set_num_threads(1)
    model = checkpointing.apply(build(case.shape, attention="math", device="cpu"), case.how["checkpoint"])
    fully_shard(model, FSDP2[case.how["precision"]], case.plan, mesh_of(case.plan))
    return stepped(case, model)


def stepped(case: Case, model: nn.Module) -> Trace:
    """Watched."""
    optimizer, batch = torch.optim.AdamW(model.parameters(), foreach=False), batch_of(case)
    with torch.no_grad():
        _ = [p.zero_() for p in model.parameters()]
    return watched(model, optimizer, batch, told(model), partial(step, case, lambda: model(*batch), optimizer))


def told(model: nn.Module) -> Callable:
    """Says what the buffers of whole parameters are for."""
    return lambda watch: watch.register(list(unsharded(model)), "communication")


def states_of(trace: Trace) -> dict[str, int]:
    """Bytes of the states after the last step."""
    held = trace.at(STAGES[2])
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
    assert [states_of(trace) for trace in there] == [kept(case, rank) for rank in range(NRANKS)]
    assert states_of(here) == kept(case, 0)
    off = same_within(case, there[0])
    assert not off[-2:].any(), "after the update, and without gradients"
