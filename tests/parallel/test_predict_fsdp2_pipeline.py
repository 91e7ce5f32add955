"""What is predicted for a pipeline's rank under FSDP2: torch's fully_shard, told what torch's own stages tell it, on four Gloo ranks."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from functools import partial
from unittest import mock

import pytest
import torch
from drawn import GPT, LLAMA, Case, batch_of, same_within, sizes, watched
from lanes import some
from test_predict_fsdp2 import told
from test_predict_pipeline import Stage, Waits, step

from helpers.facts import Model
from helpers.ledger import SETUPS
from helpers.ledger.states import state_traffic
from helpers.measure.sharding import Parts, Sharding
from helpers.measure.sharding.fsdp2 import fully_shard
from helpers.measure.sharding.part import Part
from helpers.measure.sharding.pipeline import schedule
from helpers.measure.sharding.stages import Stages
from helpers.memory import Trace
from helpers.parallel.counting import Moved, counted
from helpers.pipeline import peak
from helpers.pipeline.orders import with_shards
from helpers.pipeline.schedule import SHARDS
from helpers.ranks import Ranks
from helpers.step import checkpointing
from helpers.step.precision import FSDP2

DATA, PIPELINE = 2, 2
TEAM, TEAMS = 2, ("replicate", "shard")


def draw(seed: int) -> Case:
    rng = random.Random(f"fsdp2 pipeline {seed}")
    heads, llama, virtual = rng.choice([2, 3]), rng.random() < 0.6, [1, 2, 1, 3, 1, 4][seed % 6]
    widths = sizes(rng)
    shape = Model(
        f"drawn by {seed}",
        layers=PIPELINE * virtual * rng.randint(1, 2 if virtual < 3 else 1),
        heads=heads,
        kv_heads=rng.choice([1, heads]),
        head_dim=2 * rng.randint(2, 5),
        context=64,
        **(LLAMA if llama else GPT),
        **widths,
    )
    micro_batches = PIPELINE * rng.randint(1, 3) if virtual > 1 else rng.randint(1, 5)
    plan = Sharding(data=DATA, zero=rng.choice([2, 3]), pipeline=PIPELINE, virtual=virtual, micro_batches=micro_batches)
    how = {"precision": rng.choice([*FSDP2]), "checkpoint": rng.choice(["none", "per-op", "full"])}
    return Case(shape, rng.randint(1, 2), rng.randint(5, 30), plan, how)


class Sharded(Stage):
    """A stage under fully_shard."""

    def __init__(self, compute, *stage):
        super().__init__(*stage)
        self.compute = compute

    def empty(self):
        return torch.empty(*self.batch[0].shape, self.module.hidden, dtype=self.compute)


class Told(Waits):
    """Plays the program, told what torch's stages are told."""

    def step(self):
        stages = Stages({stage: one.module for stage, one in self.stages.items()})
        for action in self.program:
            if action.kind in SHARDS:
                stages.do(action)
                continue
            if action.computes:
                stages.before(action)
            self.do[action.kind](action)


def real(case: Case) -> Trace:
    """This rank's second step, watched."""
    from torch.distributed.device_mesh import init_device_mesh

    torch.set_num_threads(1)
    sizes, names = ((PIPELINE, TEAM, TEAM), TEAMS) if case.plan.team else ((PIPELINE, DATA), ("data",))
    mesh = init_device_mesh("cpu", sizes, mesh_dim_names=("stage", *names))
    plan = replace(case.plan, stage=mesh.get_local_rank("stage"))
    parts = [Part(case.shape, one, "math", device="cpu") for one in plan.parts]
    model = checkpointing.apply(Parts(parts, plan), case.how["checkpoint"])
    for part in parts:
        fully_shard(part, FSDP2[case.how["precision"]], plan, mesh[names])
    with torch.no_grad():
        _ = [p.zero_() for p in model.parameters()]
    batch, adam, how = told_how(case, plan, parts, model, mesh)
    return watched(model, adam, batch, told(model), how)


def told_how(case: Case, plan: Sharding, parts, model, mesh):
    """Batch, optimizer, and step(mark) of a rank under fully_shard."""
    batch, adam, group = batch_of(case), torch.optim.AdamW(model.parameters(), foreach=False), mesh.get_group("stage")
    made = schedule(PIPELINE, plan.micro_batches, plan.virtual)

    def play(stages):
        Told(with_shards(made), stages, group).step()

    stage = partial(Sharded, FSDP2[case.how["precision"]].compute)
    return batch, adam, partial(step, parts, batch, peak(made)[plan.stage], stage, play, adam)


@pytest.mark.parametrize("seed", some(range(24), [8, 9], "twenty-two more setups"))
def test_the_bytes_of_fully_shard_in_a_pipeline(ranks, seed):
    case = draw(seed)
    traces = ranks.run(real, case)
    for stage in range(PIPELINE):
        same_within(replace(case, plan=replace(case.plan, stage=stage)), traces[stage * DATA])


def counts(case: Case) -> Moved:
    """Of this rank's second step."""
    with mock.patch.object(sys.modules[__name__], "watched", second_counted):
        return real(case)


def second_counted(model, adam, batch, told, step) -> Moved:
    step(lambda name: None)
    with counted() as moved:
        step(lambda name: None)
    return moved


@pytest.mark.parametrize("zero", [2, 3])
@pytest.mark.parametrize("micro_batches", [1, 2, 5])
def test_the_calls_of_fully_shard_in_a_pipeline_are_the_ledger_s(ranks, zero, micro_batches):
    """What a backward has gathered serves the next forward, and gradients are reduced once."""
    shape = Model("small", layers=4, heads=2, head_dim=8, hidden=16, ffn=32, vocab=64, context=64)
    plan = Sharding(data=DATA, zero=zero, pipeline=PIPELINE, micro_batches=micro_batches)
    found = ranks.run(counts, Case(shape, 1, 8, plan, {"precision": "fsdp2", "checkpoint": "none"}))
    for stage in range(PIPELINE):
        setup = replace(SETUPS["70B"], model=shape)
        said = list(state_traffic(setup, replace(plan, stage=stage), "fsdp2"))
        for op, each in (("all_gather", DATA), ("reduce_scatter", 1)):
            calls = [one for one in said if one.collective == op]
            moved = found[stage * DATA]
            assert moved.ncalls(op) == sum(one.times for one in calls)
            assert moved.nbytes(op) == sum(one.nbytes * one.times for one in calls) // each


@pytest.mark.matrix("eight ranks")
def test_the_bytes_of_teams_in_a_pipeline():
    with Ranks(2 * TEAM * PIPELINE, backend="gloo", timeout=120) as eight:
        for seed in range(6):
            case = draw(seed)
            case = replace(case, plan=replace(case.plan, data=2 * TEAM, team=TEAM, zero=3))
            traces = eight.run(real, case)
            for stage in range(PIPELINE):
                same_within(replace(case, plan=replace(case.plan, stage=stage)), traces[stage * 2 * TEAM])
