"""What is predicted for a rank of a pipeline, against four real ranks: the same bytes at every stage and at the peak."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import pytest
import torch
from drawn import GPT, LLAMA, Case, batch_of, kept_by, same_within, sizes, update, watched
from lanes import some

from helpers.facts import Model
from helpers.measure import predict_step
from helpers.measure.predict.predict import STAGES
from helpers.measure.sharding import Parts, Sharding, part
from helpers.measure.sharding.part import Part
from helpers.memory.closed_form import states
from helpers.parallel.pipeline.runner import Runner
from helpers.pipeline import SCHEDULES, peak
from helpers.step import checkpointing
from helpers.step.precision import computes, optimizer

NRANKS = 4


def draw(seed: int) -> Case:
    rng = random.Random(f"pipeline {seed}")
    heads, llama = rng.choice([2, 3, 4]), rng.random() < 0.6
    widths = sizes(rng, vocab=300)
    virtual = [2, 3, 1, 2][seed % 4]
    shape = Model(
        f"drawn by {seed}",
        layers=NRANKS * virtual * rng.randint(1, 2),
        heads=heads,
        kv_heads=rng.choice([n for n in (1, 2, 3, 4) if heads % n == 0]),
        head_dim=2 * rng.randint(2, 5),
        context=64,
        **(LLAMA if llama else GPT),
        **widths,
    )
    micro_batches = NRANKS * rng.randint(1, 2) if virtual > 1 else rng.randint(1, 9)
    how = {
        "precision": rng.choice(["fp32", "bf16", "bf16-true", "bf16-fp32grads"]),
        "checkpoint": rng.choice(["none", "per-op", "full"]),
    }
    plan = Sharding(pipeline=NRANKS, virtual=virtual, micro_batches=micro_batches)
    return Case(shape, rng.randint(1, 2), rng.randint(5, 30), plan, how)


class Stage:
    """A part of the model where the runner wants a stage. mark: told when `most` micro-batches wait."""

    def __init__(self, module: Part, batch: tuple[torch.Tensor, torch.Tensor], waiting: dict, full):
        self.module, self.batch, self.waiting, self.full = module, batch, waiting, full

    def forward(self, microbatch, x):
        plan, (tokens, targets) = self.module.sharding, self.batch
        x = tokens if x is None else x.requires_grad_()
        out = self.module(x, targets if plan.last else None)
        self.waiting[plan.stage, microbatch] = x, torch.autograd.graph.get_gradient_edge(out)
        out = None if plan.last else out.detach()
        self.full()
        return out

    def backward(self, microbatch, dy):
        x, edge = self.waiting.pop((self.module.sharding.stage, microbatch))
        torch.autograd.backward((edge,), None if dy is None else (dy,))
        return x.grad

    def empty(self):
        return next(self.module.parameters()).new_empty((*self.batch[0].shape, self.module.hidden))


class Waits(Runner):
    """A send is over before the next action: else what it holds depends on the neighbour's clock."""

    def _send(self, action):
        super()._send(action)
        for work, _ in self.leaving:
            work.wait()
        self.leaving.clear()


def step(parts, batch, most, stage, play, adam, mark) -> None:
    """Of a pipeline's rank. most: micro-batches that wait when its forwards are over. stage: makes a Stage. play(stages): the program."""
    waiting, seen = {}, []

    def full():
        if len(waiting) == most and not seen:
            seen.append(mark(STAGES[0]))

    play({one.sharding.stage: stage(one, batch, waiting, full) for one in parts})
    mark(STAGES[1])
    update(adam, mark)


def real(case: Case):
    """This rank, watched from its second step on."""
    import torch.distributed as dist

    torch.set_num_threads(1)
    rank, precision = dist.get_rank(), case.how["precision"]
    plan = replace(case.plan, stage=rank)
    parts = [Part(case.shape, one, "math", device="cpu", dtype=computes(precision)) for one in plan.parts]
    parts[-1].chunks, parts[-1].chunking = case.how.get("chunks", 1), case.how.get("chunking", "recompute")
    model = checkpointing.apply(Parts(parts, plan), case.how["checkpoint"])
    adam, batch = optimizer("adamw", model.parameters(), precision), batch_of(case)
    schedule = SCHEDULES["interleaved" if plan.virtual > 1 else "1f1b"](NRANKS, plan.micro_batches, plan.virtual)
    how = parts, batch, peak(schedule)[rank], Stage, lambda stages: Waits(schedule, stages).step(), adam
    return watched(model, adam, batch, kept_by(adam), partial(step, *how))


@pytest.mark.parametrize("seed", some(range(12), [0], "eleven more setups"))
def test_the_bytes_of_a_real_rank(ranks, seed):
    case = draw(seed)
    traces = ranks.run(real, case)
    for rank in (seed % NRANKS, (seed + 3) % NRANKS):
        same_within(replace(case, plan=replace(case.plan, stage=rank)), traces[rank])


@pytest.mark.parametrize("seed", some(range(4), [1], "three more setups of each"))
@pytest.mark.parametrize("chunking", some(["torchtitan", "recompute", "liger"], ["torchtitan"], "two more chunkings"))
def test_the_last_stage_computes_its_loss_in_pieces(ranks, chunking, seed):
    chunks, case = 1 if chunking == "liger" else 2 + seed, draw(seed)
    case = replace(case, seq=chunks * 5, how=case.how | {"chunks": chunks, "chunking": chunking})
    traces = ranks.run(real, case)
    for rank in (0, NRANKS - 1):
        same_within(replace(case, plan=replace(case.plan, stage=rank)), traces[rank])


def test_interleaving_keeps_more_and_the_same_states():
    """Narayanan et al. 2021: rank 0 of p holds activations of 1 + (p - 1) / (p v) times 1F1B's micro-batches."""
    shape = Model("a small Llama", layers=8, heads=4, head_dim=16, hidden=64, ffn=176, vocab=256, context=512)
    kept = {}
    for virtual in (1, 2):
        plan = Sharding(pipeline=4, virtual=virtual, micro_batches=8)
        done = predict_step(shape, seq=512, steps=1, sharding=plan, operators="cpu")
        there = done.trace.peak.by_class
        kept[virtual] = there["activation"]
        mine = part(shape, Sharding(pipeline=4), 512)
        assert done.nparams == sum(p.numel() for p in mine.parameters())
        assert there["parameter"] == states(done.nparams)["parameters"].nbytes
    assert kept[2] / kept[1] == pytest.approx(1 + 3 / 8, rel=0.05)
