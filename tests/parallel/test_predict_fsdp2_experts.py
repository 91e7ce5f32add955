"""What is predicted for a rank under FSDP2 whose experts are elsewhere: torch's fully_shard with a mesh for each, on four Gloo ranks."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pytest
import torch
from drawn import Case, same_within, watched
from lanes import some
from test_predict_experts import balanced
from test_predict_experts import draw as of_experts
from test_predict_fsdp2 import stepped, told
from test_predict_fsdp2_pipeline import told_how

from helpers.measure.sharding import Parts, Sharding
from helpers.measure.sharding.fsdp2 import fully_shard, mesh_of, sharded
from helpers.measure.sharding.part import Part
from helpers.memory import Trace
from helpers.step import checkpointing
from helpers.step.precision import FSDP2
from helpers.torch_versions import has

HAS = has("groups-of-a-unit", torch.__version__)
pytestmark = pytest.mark.skipif(not HAS, reason="FSDP2 with experts elsewhere is torch's from 2.12 on")
PRECISIONS = [*FSDP2]


def draw(expert: int, seed: int) -> Case:
    """The shape of test_predict_experts; the precision goes round."""
    case = of_experts(3, expert, 1000 + seed)
    precision = PRECISIONS[(seed + expert) % len(PRECISIONS)]
    return replace(
        case, plan=replace(case.plan, zero=2 + (seed + expert // 2) % 2), how=case.how | {"precision": precision}
    )


def shared_out(model: Part, case: Case, plan: Sharding, mesh) -> None:
    """As predicted, but for one option: Gloo has no PREMUL_SUM."""
    fully_shard(model, FSDP2[case.how["precision"]], plan, mesh)
    for module in sharded(model):
        module.set_force_sum_reduction_for_comms(True)


def real(case: Case) -> Trace:
    """The second step of this rank, watched."""
    from helpers.measure.sharding import moves
    from helpers.parallel.expert.exchange import all_to_all
    from helpers.step.experts import Experts

    torch.set_num_threads(1)
    mesh = mesh_of(case.plan)
    with mock.patch.object(Experts, "counts", balanced):
        model = Part(case.shape, case.plan, "math", device="cpu")
    checkpointing.apply(model, case.how["checkpoint"])
    shared_out(model, case, case.plan, mesh)
    with mock.patch.object(moves, "exchanged", lambda x: all_to_all(x, mesh.get_group("spread"))):
        return stepped(case, model)


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
    from helpers.parallel.expert.exchange import all_to_all
    from helpers.step.experts import Experts

    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("stage", "alike", "spread"))
    plan = planned(case, virtual, mesh.get_local_rank("stage"))
    with mock.patch.object(Experts, "counts", balanced):
        parts = [Part(case.shape, one, "math", device="cpu") for one in plan.parts]
    model = checkpointing.apply(Parts(parts, plan), case.how["checkpoint"])
    for part in parts:
        shared_out(part, case, plan, mesh["alike", "spread"])
    batch, adam, how = told_how(case, plan, parts, model, mesh)
    with mock.patch.object(moves, "exchanged", lambda x: all_to_all(x, mesh.get_group("spread"))):
        return watched(model, adam, batch, told(model), how)


@pytest.mark.parametrize("seed", some(range(8), [4], "seven more setups"))
def test_the_bytes_of_fully_shard_with_experts_elsewhere_in_a_pipeline(ranks, seed):
    virtual, case = 1 + seed % 2, draw(2, 20 + seed)
    case = replace(case, shape=replace(case.shape, layers=4))
    traces = ranks.run(in_a_pipeline, case, virtual)
    how = case.how | {"accumulate": 1}
    for stage in range(2):
        same_within(replace(case, plan=planned(case, virtual, stage), how=how), traces[2 * stage])
