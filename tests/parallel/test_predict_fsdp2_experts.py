"""What is predicted for a rank under FSDP2 whose experts are elsewhere: torch's fully_shard with a mesh for each, on four Gloo ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
import torch
from lanes import some
from test_predict_experts import balanced
from test_predict_experts import draw as of_experts
from test_predict_fsdp2 import NRANKS, SLACK, Case, apart, most, second, steps
from test_predict_fsdp2_pipeline import step

from helpers.measure import predict_step, track
from helpers.measure.predict.predict import STAGES
from helpers.measure.sharding import Parts, Sharding
from helpers.measure.sharding.fsdp2 import units
from helpers.measure.sharding.fsdp2.units import in_order
from helpers.measure.sharding.part import Elsewhere, Part
from helpers.measure.step import checkpointing
from helpers.measure.step.precision import FSDP2
from helpers.memory import Trace
from helpers.parallel.zero.watched import unsharded

PRECISIONS = [*FSDP2]


def draw(expert: int, seed: int) -> Case:
    """The shape of test_predict_experts; the precision goes round."""
    shape, batch, seq, how = of_experts(3, expert, 1000 + seed)
    precision = PRECISIONS[(seed + expert) % len(PRECISIONS)]
    return Case(shape, batch, seq, precision, how["checkpoint"], 2 + (seed + expert // 2) % 2, how["accumulate"])


def sharded(model: Part, precision: str, again: Callable[[bool], bool], mesh) -> None:
    """As torchtitan does (distributed/fsdp.py at b5bcd76): experts on a mesh of their own in their block's state; prefetch by name.

    again: is a unit resharded after forward, of whether it may be. mesh: ranks with the same experts, ranks with different ones.
    """
    from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
    from torch.distributed.fsdp._fully_shard._fsdp_common import ShardPlacementResult
    from torch.distributed.fsdp._fully_shard._fsdp_init import _get_mesh_info
    from torch.distributed.tensor import Shard

    policy, everybody = FSDP2[precision], mesh._flatten("data")
    how = {
        "mesh": everybody,
        "mp_policy": MixedPrecisionPolicy(policy.compute, policy.reduce, cast_forward_inputs=False),
    }
    theirs = {p for one in model.modules() if isinstance(one, Elsewhere) for p in one.parameters()}
    few, all_of_them = _get_mesh_info(mesh["alike"], None), _get_mesh_info(everybody, None)
    block = {"shard_placement_fn": lambda p: ShardPlacementResult(Shard(0), few if p in theirs else all_of_them)}
    for modules, may in units(model):
        more = block if modules[0] in set(model.layers) else {}
        fully_shard(modules if len(modules) > 1 else modules[0], reshard_after_forward=again(may), **how, **more)
    fully_shard(model, **how)
    row = in_order(model)
    for one, after in pairwise(row):
        one.set_modules_to_forward_prefetch([after])
        after.set_modules_to_backward_prefetch([one])
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)  # Gloo has no PREMUL_SUM
            module.set_gradient_divide_factor(1.0)


def real(case: Case, expert: int) -> Trace:
    """The second step of this rank, watched."""
    from torch.distributed.device_mesh import init_device_mesh

    from helpers.measure.sharding import moves
    from helpers.measure.step.experts import Experts
    from helpers.parallel.expert.exchange import all_to_all

    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (NRANKS // expert, expert), mesh_dim_names=("alike", "spread"))
    with mock.patch.object(Experts, "counts", balanced):
        model = Part(case.shape, Sharding(data=NRANKS, zero=case.zero, expert=expert), "math", device="cpu")
    checkpointing.apply(model, case.checkpoint)
    sharded(model, case.precision, lambda may: may and case.zero == 3, mesh)
    adam = torch.optim.AdamW(model.parameters(), foreach=False)
    tokens, targets = (torch.zeros(case.batch, case.seq, dtype=torch.int64) for _ in range(2))
    with mock.patch.object(moves, "exchanged", lambda x: all_to_all(x, mesh.get_group("spread"))):
        steps(case, model, adam, tokens, targets, lambda name: None)
        with track(model, adam, (tokens, targets)) as watch:
            watch.register(list(unsharded(model)), "communication")
            watch.mark("start")
            steps(case, model, adam, tokens, targets, watch.mark)
    return watch.trace


def held_against(there: Trace, here: Trace, case: tuple[Case, Sharding]) -> None:
    """The same bytes at every stage and at the peak."""
    (measured, peak), (said, highest) = second(there), second(here)
    away = {name: np.abs(np.subtract(found, said[name])).max() for name, found in measured.items()}
    print(case[0].precision, case[0].checkpoint, case[0].accumulate, case[1], away, peak - highest, peak)
    assert measured.keys() == said.keys() == set(STAGES)
    assert apart(there, here) <= SLACK, (case, most(there), most(here))
    assert max(*away.values(), abs(peak - highest)) <= SLACK, (case, measured, said, peak, highest)


@pytest.mark.parametrize("seed", some(range(10), [8], "nine more setups of each"))
@pytest.mark.parametrize("expert", [2, 4])
def test_the_bytes_of_fully_shard_with_experts_elsewhere(ranks, expert, seed):
    against_its_prediction(ranks, draw(expert, seed), expert)


def test_one_rank_alone_with_its_experts_casts_them_one_by_one(ranks):
    """Few tokens and wide experts: forward is highest where the last block's are gathered, though there is nobody to gather from."""
    shape, *_ = of_experts(3, 4, 0)
    shape = replace(shape, layers=2, hidden=40, ffn=200, vocab=8, experts=4, active=1)
    against_its_prediction(ranks, Case(shape, 1, 4, "fsdp2", "none", 3, 1), 4)


def against_its_prediction(ranks, case: Case, expert: int) -> None:
    there = ranks.run(real, case, expert)[0]
    how = {name: getattr(case, name) for name in ("batch", "seq", "precision", "checkpoint", "accumulate")}
    plan = Sharding(data=NRANKS, zero=case.zero, expert=expert)
    here = predict_step(case.shape, attention="math", operators="cpu", sharding=plan, **how).trace
    held_against(there, here, (case, plan))


def planned(case: Case, virtual: int, stage: int) -> Sharding:
    """Two stages of two data ranks, each of which has half of the experts."""
    many = {"virtual": virtual, "micro_batches": 2 * case.accumulate}
    return Sharding(data=2, zero=case.zero, expert=2, pipeline=2, stage=stage, **many)


def in_a_pipeline(case: Case, virtual: int) -> Trace:
    """The second step of this rank, watched."""
    from torch.distributed.device_mesh import init_device_mesh

    from helpers.measure.sharding import moves
    from helpers.measure.step.experts import Experts
    from helpers.parallel.expert.exchange import all_to_all

    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("stage", "alike", "spread"))
    plan = planned(case, virtual, mesh.get_local_rank("stage"))
    with mock.patch.object(Experts, "counts", balanced):
        parts = [Part(case.shape, one, "math", device="cpu") for one in plan.parts]
    model = checkpointing.apply(Parts(parts, plan), case.checkpoint)
    for part in parts:
        sharded(part, case.precision, lambda _: case.zero == 3, mesh["alike", "spread"])
    adam = torch.optim.AdamW(model.parameters(), foreach=False)
    batch = tuple(torch.zeros(case.batch, case.seq, dtype=torch.int64) for _ in range(2))
    how = plan, case.precision, parts, adam, batch, mesh.get_group("stage")
    with mock.patch.object(moves, "exchanged", lambda x: all_to_all(x, mesh.get_group("spread"))):
        step(*how, lambda name: None)
        with track(model, adam, batch) as watch:
            watch.register(list(unsharded(model)), "communication")
            watch.mark("start")
            step(*how, watch.mark)
    return watch.trace


@pytest.mark.parametrize("seed", some(range(8), [4], "seven more setups"))
def test_the_bytes_of_fully_shard_with_experts_elsewhere_in_a_pipeline(ranks, seed):
    virtual, case = 1 + seed % 2, draw(2, 20 + seed)
    case = replace(case, shape=replace(case.shape, layers=4))
    traces = ranks.run(in_a_pipeline, case, virtual)
    how = {name: getattr(case, name) for name in ("batch", "seq", "precision", "checkpoint")}
    for stage in range(2):
        plan = planned(case, virtual, stage)
        here = predict_step(case.shape, attention="math", operators="cpu", sharding=plan, **how).trace
        held_against(traces[2 * stage], here, (case, plan))
