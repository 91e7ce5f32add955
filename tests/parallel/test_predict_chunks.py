"""What is predicted for a rank that computes its loss in pieces, against four Gloo ranks: the same bytes at every stage and at the peak."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from unittest import mock

import pytest
import torch
from drawn import GPT, LLAMA, Case, batch_of, kept_by, same_within, step, watched
from lanes import some, some_rows

from helpers.facts import Model
from helpers.measure import build
from helpers.measure.sharding import Sharding
from helpers.measure.sharding.fsdp2 import fully_shard, mesh_of
from helpers.measure.sharding.part import Part
from helpers.measure.sharding.share import wait_for_pieces
from helpers.parallel.zero import Zero
from helpers.parallel.zero.watched import unsharded
from helpers.step import checkpointing
from helpers.step.precision import FSDP2, computes, optimizer

NRANKS = 4
CHUNKINGS = ("torchtitan", "recompute", "liger")
CHECKPOINTS = ["none", "per-op", "full"]


def draw(way: str, chunking: str, seed: int, plan: Sharding, precisions: list[str]) -> Case:
    """A Llama or a GPT of any size whose head is its widest part, so that the pieces make the peak."""
    rng = random.Random(f"{way} {chunking} {seed}")
    tensor, llama = plan.tensor, rng.random() < 0.7
    shape = Model(
        "drawn",
        layers=rng.randint(1, 3),
        hidden=rng.randint(9, 40),
        heads=rng.choice([tensor, 2 * tensor, 3 * tensor]),
        head_dim=2 * rng.randint(2, 5),
        ffn=tensor * rng.randint(9, 90),
        vocab=rng.randint(100, 400),
        context=128,
        **(LLAMA if llama else GPT),
        tied=rng.random() < 0.3,
    )
    chunks = 1 if chunking == "liger" else rng.randint(2, 5)
    how = {"precision": rng.choice(precisions), "checkpoint": rng.choice(CHECKPOINTS), "accumulate": rng.randint(1, 2)}
    how |= {"chunks": chunks, "chunking": chunking}
    return Case(shape, rng.randint(1, 3), chunks * tensor * rng.randint(2, 20 // tensor), plan, how)


def in_pieces(model, case: Case):
    """The model, told in which pieces to compute its loss."""
    for p in model.parameters():
        p.detach().zero_()
    model.chunks, model.chunking = case.how["chunks"], case.how["chunking"]
    model.apart = case.how["chunking"] == "torchtitan" and case.how["precision"] in FSDP2
    return checkpointing.apply(model, case.how["checkpoint"])


def in_steps(case: Case, model, trainer, inner, told):
    """Watched. inner: the torch.optim.Optimizer inside the trainer, which asks for a loss apart when forward is over."""
    tokens, targets = batch = batch_of(case)

    def forward():
        return model.loss(model(tokens), targets) if model.apart else model(tokens, targets)

    return watched(model, inner, batch, told, partial(step, case, forward, trainer))


def sharded(model, case: Case, mesh):
    """torch's own fully_shard on every unit, and the optimizer of the shards."""
    fully_shard(model, FSDP2[case.how["precision"]], case.plan, mesh)
    return torch.optim.AdamW(model.parameters(), foreach=False)


def on_fsdp2(case: Case):
    """This rank of four data ranks."""
    torch.set_num_threads(1)
    model = in_pieces(build(case.shape, attention="math", device="cpu"), case)
    adam = sharded(model, case, mesh_of(case.plan))
    return in_steps(case, model, adam, adam, lambda watch: watch.register(list(unsharded(model)), "communication"))


@pytest.mark.parametrize("seed", some(range(6), [0], "five more setups of each"))
@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_pieces_under_fully_shard(ranks, chunking, seed):
    plan = Sharding(data=NRANKS, zero=3 - (seed % 3 == 2))
    case = draw("FSDP2", chunking, seed, plan, [*FSDP2])
    same_within(case, ranks.run(on_fsdp2, case)[0])


def between_tensor_ranks(case: Case):
    """This rank of some that share every layer and the tokens between layers; where there are data ranks, too, under fully_shard."""
    from torch.distributed.device_mesh import init_device_mesh

    from helpers.measure.sharding import moves

    torch.set_num_threads(1)
    plan, precision, both = case.plan, case.how["precision"], case.how["precision"] in FSDP2
    mesh = init_device_mesh("cpu", (plan.data, plan.tensor), mesh_dim_names=("data", "tensor"))
    group, ops = mesh.get_group("tensor").group_name, torch.ops._c10d_functional  # DTensor's, which checkpointing knows

    def all_gathered(part, nranks):
        return ops.wait_tensor(ops.all_gather_into_tensor(part, nranks, group))

    def reduce_scattered(whole, nranks):
        return ops.wait_tensor(ops.reduce_scatter_tensor(whole, "sum", nranks, group))

    dtype = torch.float32 if both else computes(precision)
    model = in_pieces(Part(case.shape, plan, "math", device="cpu", dtype=dtype), case)
    adam = sharded(model, case, mesh["data"]) if both else optimizer("adamw", model.parameters(), precision)

    def told(watch):
        watch.register(list(unsharded(model)), "communication")
        kept_by(adam)(watch)

    with mock.patch.multiple(moves, all_gathered=all_gathered, reduce_scattered=reduce_scattered):
        return in_steps(case, model, adam, adam, told)


SEQUENCE = [(chunking, plan) for chunking in CHUNKINGS[:2] for plan in ("tensor", "tensor and FSDP2")]


@pytest.mark.parametrize("seed", some(range(4), [0], "three more setups of each"))
@pytest.mark.parametrize("chunking, way", some_rows(SEQUENCE, [SEQUENCE[1]], "three more ways"))
def test_pieces_under_sequence_parallelism(ranks, chunking, way, seed):
    """Of tokens that are gathered once. With tensor ranks and FSDP2, as torchtitan runs 70B."""
    both = way != "tensor"
    plan = Sharding(data=2, zero=3, tensor=2, sequence=True) if both else Sharding(tensor=NRANKS, sequence=True)
    case = draw(way, chunking, seed, plan, [*FSDP2] if both else ["fp32", "bf16", "bf16-true"])
    same_within(case, ranks.run(between_tensor_ranks, case)[0])


ZEROS = {"ZeRO-1": 1, "ZeRO-2": 2, "ZeRO-3": 3, "Megatron-LM's distributed optimizer": 1}


def under_zero(case: Case):
    """This rank of four data ranks under helpers.parallel.zero."""
    torch.set_num_threads(1)
    precision = case.how["precision"]
    model = in_pieces(build(case.shape, attention="math", device="cpu", dtype=computes(precision)), case)
    main = torch.float32 if precision == "bf16-fp32grads" else None
    made = {"optimizer": lambda shares: optimizer("adamw", shares, "bf16" if main else precision), "main_grads": main}
    zero = Zero(model, case.plan.zero, prefetch=True, **made)
    wait_for_pieces(model, zero)

    return in_steps(case, model, zero, zero.optimizer, kept_by(zero.optimizer, zero))


@pytest.mark.parametrize("seed", some(range(3), [0], "two more setups of each"))
@pytest.mark.parametrize("chunking", some(CHUNKINGS, CHUNKINGS[:1], "two more chunkings"))
@pytest.mark.parametrize("way", some(ZEROS, ["ZeRO-2"], "three more ways"))
def test_pieces_under_zero(ranks, way, chunking, seed):
    plan, megatron = Sharding(data=NRANKS, zero=ZEROS[way]), way not in ("ZeRO-1", "ZeRO-2", "ZeRO-3")
    case = draw(way, chunking, seed, plan, ["bf16-fp32grads"] if megatron else ["fp32", "bf16", "bf16-true"])
    if chunking == "torchtitan":
        case = replace(case, shape=replace(case.shape, tied=False))
    same_within(case, ranks.run(under_zero, case)[0])


def gradients(stage: int, chunks: int):
    """Of every share after two steps, zeroed in between."""
    torch.manual_seed(0)
    shape = Model("small", layers=1, heads=2, head_dim=8, hidden=16, ffn=32, vocab=64, context=16)
    model = build(shape, attention="math", device="cpu")
    model.chunks, model.chunking = chunks, "torchtitan"
    zero = Zero(model, stage)
    wait_for_pieces(model, zero)
    for shift in (1, 2):
        zero.zero_grad()
        tokens = torch.arange(32).view(2, 16)
        model(tokens, tokens.roll(-shift, 1)).backward()
        zero.reduce()
        for unit in zero.units:
            unit.ready = False
    return [unit.grad.clone() for unit in zero.units]


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_zero_waits_for_the_last_piece(ranks, stage):
    whole, pieces = ranks.run(gradients, stage, 1), ranks.run(gradients, stage, 4)
    for one, other in zip(whole, pieces, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
