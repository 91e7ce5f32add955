"""What is predicted for a rank under FSDP2 whose experts are elsewhere: torch's fully_shard with a mesh for each, on four Gloo ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from unittest import mock

import pytest
import torch
from drawn import Case, same_within, watched
from lanes import some
from test_predict_experts import balanced
from test_predict_experts import draw as of_experts
from test_predict_fsdp2 import NRANKS, steps
from test_predict_fsdp2_pipeline import step

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
    case = of_experts(3, expert, 1000 + seed)
    precision = PRECISIONS[(seed + expert) % len(PRECISIONS)]
    return replace(
        case, plan=replace(case.plan, zero=2 + (seed + expert // 2) % 2), how=case.how | {"precision": precision}
    )


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


def told(model) -> Callable:
    return lambda watch: watch.register(list(unsharded(model)), "communication")


def real(case: Case) -> Trace:
    """The second step of this rank, watched."""
    from torch.distributed.device_mesh import init_device_mesh

    from helpers.measure.sharding import moves
    from helpers.measure.step.experts import Experts
    from helpers.parallel.expert.exchange import all_to_all

    torch.set_num_threads(1)
    expert = case.plan.expert
    mesh = init_device_mesh("cpu", (NRANKS // expert, expert), mesh_dim_names=("alike", "spread"))
    with mock.patch.object(Experts, "counts", balanced):
        model = Part(case.shape, case.plan, "math", device="cpu")
    checkpointing.apply(model, case.how["checkpoint"])
    sharded(model, case.how["precision"], lambda may: may and case.plan.zero == 3, mesh)
    adam = torch.optim.AdamW(model.parameters(), foreach=False)
    tokens, targets = (torch.zeros(case.batch, case.seq, dtype=torch.int64) for _ in range(2))
    with mock.patch.object(moves, "exchanged", lambda x: all_to_all(x, mesh.get_group("spread"))):
        return watched(model, adam, (tokens, targets), told(model), partial(steps, case, model, adam, tokens, targets))


@pytest.mark.parametrize("seed", some(range(10), [8], "nine more setups of each"))
@pytest.mark.parametrize("expert", [2, 4])
def test_the_bytes_of_fully_shard_with_experts_elsewhere(ranks, expert, seed):
    case = draw(expert, seed)
    same_within(case, ranks.run(real, case)[0])


def test_one_rank_alone_with_its_experts_casts_them_one_by_one(ranks):
    """Few tokens and wide experts: forward is highest where the last block's are gathered, though there is nobody to gather from."""
    case = of_experts(3, 4, 0)
    shape = replace(case.shape, layers=2, hidden=40, ffn=200, vocab=8, experts=4, active=1)
    case = Case(shape, 1, 4, case.plan, {"precision": "fsdp2", "checkpoint": "none", "accumulate": 1})
    same_within(case, ranks.run(real, case)[0])


def planned(case: Case, virtual: int, stage: int) -> Sharding:
    """Two stages of two data ranks, each of which has half of the experts."""
    many = {"virtual": virtual, "micro_batches": 2 * case.how["accumulate"]}
    return Sharding(data=2, zero=case.plan.zero, expert=2, pipeline=2, stage=stage, **many)


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
    model = checkpointing.apply(Parts(parts, plan), case.how["checkpoint"])
    for part in parts:
        sharded(part, case.how["precision"], lambda _: case.plan.zero == 3, mesh["alike", "spread"])
    adam = torch.optim.AdamW(model.parameters(), foreach=False)
    batch = tuple(torch.zeros(case.batch, case.seq, dtype=torch.int64) for _ in range(2))
    how = plan, case.how["precision"], parts, adam, batch, mesh.get_group("stage")
    with mock.patch.object(moves, "exchanged", lambda x: all_to_all(x, mesh.get_group("spread"))):
        return watched(model, adam, batch, told(model), partial(step, *how))


@pytest.mark.parametrize("seed", some(range(8), [4], "seven more setups"))
def test_the_bytes_of_fully_shard_with_experts_elsewhere_in_a_pipeline(ranks, seed):
    virtual, case = 1 + seed % 2, draw(2, 20 + seed)
    case = replace(case, shape=replace(case.shape, layers=4))
    traces = ranks.run(in_a_pipeline, case, virtual)
    how = case.how | {"accumulate": 1}
    for stage in range(2):
        same_within(replace(case, plan=planned(case, virtual, stage), how=how), traces[2 * stage])
