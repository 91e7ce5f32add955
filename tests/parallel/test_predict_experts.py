"""What is predicted for a rank whose experts are elsewhere, under ZeRO, against four real ranks: the same bytes at every stage and peak."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from unittest import mock

import pytest
import torch
from drawn import Case, batch_of, kept_by, same_within, sizes, step, watched
from lanes import some
from torch import nn

from helpers.facts import MODELS, Model
from helpers.measure import predict_step
from helpers.measure.predict.predict import STAGES
from helpers.measure.sharding import Sharding, share
from helpers.measure.sharding.part import Elsewhere, Part
from helpers.memory.closed_form import states
from helpers.parallel.zero import Zero
from helpers.step import checkpointing
from helpers.step.precision import computes, optimizer

NRANKS = 4
WAYS = [(zero, expert) for zero in (1, 2, 3) for expert in (2, 4)]


def draw(zero: int, expert: int, seed: int) -> Case:
    rng = random.Random(f"experts {zero} {expert} {seed}")
    experts = expert * rng.randint(1, 3)
    widths = sizes(rng, ffn=60)
    shape = Model(
        "drawn",
        layers=rng.randint(1, 3),
        heads=2,
        head_dim=2 * rng.randint(2, 5),
        context=64,
        experts=experts,
        active=rng.randint(1, min(3, experts)),
        **widths,
    )
    precision = rng.choice(["fp32", "bf16", "bf16-true"] if zero > 1 else ["fp32", "bf16", "bf16-fp32grads"])
    how = {"precision": precision, "checkpoint": rng.choice(["none", "full"]), "accumulate": rng.randint(1, 2)}
    plan = Sharding(data=NRANKS, zero=zero, expert=expert)
    return Case(shape, rng.randint(1, 2), NRANKS * rng.randint(1, 7), plan, how)


def balanced(self, chosen):
    """As many rows for each expert as a prediction takes: what the router says would make ranks differ."""
    n, visits = len(self.experts), chosen.numel()
    return [visits // n + (i < visits % n) for i in range(n)]


def real(case: Case):
    """This rank, watched from its second step on."""
    import torch.distributed as dist

    from helpers.measure.sharding import moves
    from helpers.parallel.expert.exchange import all_to_all
    from helpers.parallel.expert.ours import groups
    from helpers.parallel.zero import Group
    from helpers.step.experts import Experts

    torch.set_num_threads(1)
    spread, alike = groups(dist.get_world_size(), case.plan.expert)
    precision = case.how["precision"]
    with mock.patch.object(Experts, "counts", balanced):
        model = Part(case.shape, case.plan, "math", device="cpu", dtype=computes(precision))
    checkpointing.apply(model, case.how["checkpoint"])
    main = torch.float32 if precision == "bf16-fp32grads" else None
    sharded = Zero(
        model,
        case.plan.zero,
        units=share.units(model),
        prefetch=True,
        main_grads=main,
        optimizer=lambda shares: optimizer("adamw", shares, "bf16" if main else precision),
        groups={one: Group(alike) for one in model.modules() if isinstance(one, Elsewhere)},
    )
    batch, adam = batch_of(case), sharded.optimizer
    with mock.patch.object(moves, "exchanged", lambda x: all_to_all(x, spread)):
        return watched(model, adam, batch, kept_by(adam, sharded), partial(step, case, lambda: model(*batch), sharded))


@pytest.mark.parametrize("seed", some(range(4), [0], "three more setups of each"))
@pytest.mark.parametrize("way", some(WAYS, [(2, 2)], "five more ways"))
def test_the_bytes_of_a_real_rank(ranks, way, seed):
    case = draw(*way, seed)
    same_within(case, ranks.run(real, case)[0])


def test_experts_are_shared_out_among_the_ranks_that_have_the_same_ones():
    """Of Mixtral, eight data ranks: experts over two, so a quarter of four experts' states is here, and an eighth of all else."""
    shape = replace(MODELS["Mixtral-8x7B"], layers=2)
    done = predict_step(shape, seq=64, sharding=Sharding(data=8, zero=3, expert=2))
    held = done.trace.at(STAGES[2])
    experts = 4 * 3 * shape.hidden * shape.ffn
    others = [shape.layer_nparams() - 2 * experts] * 2 + [(2 * shape.vocab + 1) * shape.hidden]
    want = states([experts] * 2, zero=3, nranks=4).nbytes, states(others, zero=3, nranks=8).nbytes
    assert {cls: held[cls] for cls in want[0]} == {cls: want[0][cls] + want[1][cls] for cls in want[0]}


class Two(nn.Module):
    """A map that all ranks have, and one that every second rank has."""

    def __init__(self, rank: int, nkinds: int):
        super().__init__()
        torch.manual_seed(0)
        self.everybodys = nn.Linear(5, 5)
        torch.manual_seed(1 + rank % nkinds)
        self.mine = nn.Linear(5, 5)

    def forward(self, x):
        return self.mine(self.everybodys(x)).square().mean()


def steps_apart(nkinds: int) -> list[float]:
    """Of each stage, after two steps: how far parameters are from those of gradients averaged by hand."""
    import torch.distributed as dist

    from helpers.parallel.expert.ours import groups
    from helpers.parallel.zero import Group

    rank, nranks = dist.get_rank(), dist.get_world_size()
    _, alike = groups(nranks, nkinds)
    torch.manual_seed(10 + rank)
    batches, apart = torch.randn(2, 3, 5), []
    for stage in (1, 2, 3):
        plain, model = Two(rank, nkinds), Two(rank, nkinds)
        adam = torch.optim.AdamW(plain.parameters(), foreach=False)
        zero = Zero(model, stage, units=[model.mine], groups={model.mine: Group(alike)})
        for x in batches:
            plain(x).backward()
            for p in plain.parameters():
                dist.all_reduce(p.grad, group=alike if p in set(plain.mine.parameters()) else None)
                p.grad /= nranks
            adam.step()
            adam.zero_grad()
            model(x).backward()
            zero.step()
            zero.zero_grad()
        for unit in zero.units:
            unit.gather()
        both = zip(plain.parameters(), model.parameters(), strict=True)
        apart.append(max((a - b).abs().max().item() for a, b in both))
    return apart


@pytest.mark.parametrize("nkinds", [2, 4])
def test_an_expert_learns_from_all_ranks(ranks, nkinds):
    """Each rank's rows are a part of the batch, so the mean is over all ranks, also where one rank alone has the expert."""
    for apart in ranks.run(steps_apart, nkinds):
        assert max(apart) < 1e-6
