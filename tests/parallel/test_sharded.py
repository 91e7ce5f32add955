"""Sharded data parallel on four ranks: equal to one process, every byte predicted; FSDP2 beside ours; teams, types and prefetch."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from lanes import some
from torch.distributed import ReduceOp
from torch.distributed.fsdp._fully_shard._fsdp_collectives import _get_gradient_divide_factors as divided

from helpers import torch_versions
from helpers.ledger import SETUPS
from helpers.ledger.states import state_traffic
from helpers.measure import Sharding, predict_step
from helpers.memory.closed_form import states
from helpers.parallel import MLP, Training, Transformer, difference, sharded, train
from helpers.parallel.model import shape_of
from helpers.parallel.module import Module
from helpers.parallel.report import lines
from helpers.parallel.sharded import How
from helpers.parallel.sharded.ours import held, padded, unit_sizes
from helpers.parallel.table import STRATEGIES
from helpers.parallel.zero import Hybrid
from helpers.ranks.hooks.reducer import listening

ALL = [name for name in STRATEGIES if name.startswith("sharded")]
MIXED = "sharded, FSDP2, bf16 and fp32"
UNEVEN = Transformer(layers=1, width=10, heads=2, kv_heads=1, ffn=7, vocab=10, seq=3)  # four ranks divide little of it
TRAININGS = {
    "mlp": Training(optimizer="adamw"),
    "transformer": Training(Transformer(), optimizer="sgd"),
    "uneven": Training(UNEVEN, optimizer="adamw", steps=2),
    "float32": Training(Transformer(layers=1), dtype=torch.float32, steps=3),
    "bf16": Training(dtype=torch.bfloat16, optimizer="adamw", steps=3),
}


def every_line(names: list[str], training: Training) -> dict[str, list]:
    """Inside a rank: all strategies one after the other, in one call."""
    return {name: lines(STRATEGIES[name], training) for name in names}


@pytest.mark.parametrize("kind", some(TRAININGS, ["uneven"], "strategies on other models and in other types"))
def test_every_strategy_is_single_process_training_with_the_predicted_traffic_and_memory(ranks, kind):
    """Losses and parameters after the steps; on every rank, to the call and to the byte."""
    names = [name for name in ALL if name != MIXED]
    for name, found in ranks.run(every_line, names, TRAININGS[kind])[0].items():
        assert [text for one in found for text in one.wrong] == [], name
        assert all(one.sent > 0 for one in found)


def test_the_volumes_of_the_formulas(ranks):
    """Errata E21: with resharding a step moves 3N(P-1)/P, half as much again as DDP; a root that stays gathered 2N(P-1)/P."""
    training = Training(MLP(4, 16), steps=2)
    found = ranks.run(every_line, ["data, DDP", *ALL], training)[0]
    n, p = training.model.nparams * 8, 4
    once = training.steps * n * (p - 1) / p
    volumes = {name: {one.sent for one in found[name]} for name in ALL if name != MIXED}
    want = {"ZeRO-1": 2, "ZeRO-2": 2, "ZeRO-3": 3, "FSDP2": 3, "FSDP2, one root": 2, "FSDP2, kept gathered": 2}
    assert {name: volumes[f"sharded, {name}"] for name in want} == {name: {k * once} for name, k in want.items()}
    in_teams = training.steps * (3 * n * (2 - 1) / 2 + 2 * (n / 2) * (2 - 1) / 2)
    assert volumes["sharded, ZeRO-3 in teams of two"] == volumes["sharded, FSDP2, in teams of two"] == {in_teams}
    assert found["data, DDP"][1].sent == 2 * once
    ends = (n / 4) * 2  # of four equal layers the first and the last stay with the root
    between = (3 * (n - ends) + 2 * ends) * training.steps * (p - 1) / p
    assert volumes["sharded, FSDP2, embeddings in the root"] == {between} and 2 * once < between < 3 * once


def in_types(training: Training, how: How) -> tuple:
    ddp = lines(STRATEGIES["data, DDP"], training)
    got = sharded.fsdp2.fsdp2(training, how)
    return float(got.moved.sent("all_gather")), float(got.moved.sent("reduce_scatter")), ddp[1].calls, ddp[1].sent, got


def test_with_types_said_fsdp2_moves_what_ddp_does(ranks):
    """Errata E21: bf16 gathers and an fp32 reduce are 2 + 2 + 4 bytes a parameter; DDP's fp32 all_reduce is 2 x 4."""
    training, how = Training(dtype=torch.float32, optimizer="adamw"), How(gather=torch.bfloat16, reduce=torch.float32)
    n = training.model.nparams * training.steps * 3 / 4
    plain = train(training)
    want = sharded.fsdp2.mixed_reference(training, 4, torch.bfloat16)
    for gathered, reduced, _, ddp, got in ranks.run(in_types, training, how):
        assert (gathered, reduced) == (2 * 2 * n, 4 * n) and gathered + reduced == ddp == 8 * n
        assert difference(got, want) < 1e-6, "each share in bf16, their mean in fp32"
        assert difference(got, plain) > 1e-4, "it did compute in bf16"
    paper = STRATEGIES[MIXED].predicted(training, 4, 0)
    assert paper.total == 8 * n


def reduced(training: Training, how: How) -> float:
    """Bytes of the reduce_scatters."""
    return float(sharded.fsdp2.fsdp2(training, how).moved.sent("reduce_scatter"))


def test_where_no_type_is_said_gradients_are_reduced_as_this_torch_does(ranks):
    """Up to 2.14 in bf16, as parameters are gathered; from 2.15 on in the fp32 of the shards."""
    training, how = Training(dtype=torch.float32, optimizer="adamw"), How(gather=torch.bfloat16)
    each = 4 if torch_versions.has("type-of-reduction", torch.__version__) else 2
    want = each * training.model.nparams * training.steps * 3 / 4
    assert sharded.fsdp2.predicted(training, 4, how=how).sent["reduce_scatter"] == want
    assert ranks.run(reduced, training, how) == [want] * 4


def in_two_teams(training: Training) -> dict[str, tuple[int, int]]:
    """Calls and bytes sent of torch's HSDP, by operation."""
    moved = sharded.fsdp2.fsdp2(training, How("blocks", team=2)).moved
    return {op: (n, moved.sent(op)) for op, n in moved.by_op().items()}


def test_a_line_of_the_ledger_has_the_calls_and_bytes_of_teams(ranks):
    """HSDP on a mesh of 2 x 2: shards inside a team, an all_reduce of each shard between the teams; of fp32 here half the bytes."""
    training = Training(Transformer(layers=3), steps=2, optimizer="adamw")
    setup = replace(SETUPS["7B"], model=shape_of(training.model), seq=training.model.seq)
    lines = [*state_traffic(setup, Sharding(data=4, zero=3, team=2), "fp32")]
    want: dict[str, tuple[int, int]] = {}
    for one in lines:
        calls, sent = want.get(one.collective, (0, 0))
        assert one.axis == ("replica" if one.collective == "all_reduce" else "data")
        want[one.collective] = calls + training.steps * one.times, sent + 2 * training.steps * one.sent
    assert ranks.run(in_two_teams, training) == [want] * 4


def prefetched(training: Training) -> list:
    return [
        sharded.ours.zero(training, stage=3, prefetch=True),
        sharded.fsdp2.fsdp2(training, How(prefetch=True)),
    ]


def test_prefetch_changes_when_and_not_what(ranks):
    training = Training(Transformer(layers=1), optimizer="adamw", steps=3)
    want, paper = train(training), sharded.ours.predicted(training, 4, stage=3)
    for found in ranks.run(prefetched, training):
        for got in found:
            assert difference(got, want) < 1e-10
            assert got.moved.by_op() == paper.calls and got.moved.sent() == paper.total


def order(prefetch: int) -> list[str]:
    """When each layer computes, and when its parameters are asked for."""
    training, seen = Training(MLP(3, 8)), []
    module = Module(training.model, training.params())
    sharded.fsdp2.sharded(module, How(prefetch=prefetch))
    for i, layer in enumerate(module.layers):
        layer.register_forward_hook(lambda *_, i=i: seen.append(f"layer {i}"))
    x, _ = training.data(0)
    with listening(lambda op, _: seen.append("gather") if op == "_allgather_base_" else None):
        module(x)
    return seen


def test_with_prefetch_the_next_layers_parameters_are_on_their_way_earlier(ranks):
    late, early, earliest = (ranks.run(order, prefetch)[0] for prefetch in (0, 1, 2))
    assert late == ["gather", "layer 0", "gather", "layer 1", "gather", "layer 2"]
    assert early == ["gather", "gather", "layer 0", "gather", "layer 1", "layer 2"]
    assert earliest == ["gather", "gather", "gather", "layer 0", "layer 1", "layer 2"]


@pytest.mark.parametrize("model", [MLP(3, 10), Transformer(), UNEVEN])
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_states_are_those_of_the_closed_form(model, stage):
    """The calculator's formula, in fp32 with Adam; torch's step counts are beside it."""
    training = Training(model, dtype=torch.float32, optimizer="adamw")
    want = states(unit_sizes(model), "fp32", zero=stage, nranks=4).nbytes
    got = held(training, 4, stage)
    got["optimizer"] -= 4 * model.depth
    assert got == {cls: want[cls] for cls in got}


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_states_are_those_that_predict_step_finds_on_the_meta_device(stage):
    """Layers whose shares are multiples of the 512 bytes to which a GPU's allocator rounds; a step count is none of its tensors there."""
    training = Training(MLP(3, 32), dtype=torch.float32, optimizer="adamw")
    trace = predict_step(
        Module(training.model, training.params()).to("meta"),
        inputs=torch.empty(2, 32, device="meta"),
        loss=lambda out: out.square().mean(),
        precision="fp32",
        sharding=Sharding(data=4, zero=stage),
    ).trace
    alive = trace.at("after backward")
    want = held(training, 4, stage)
    want["optimizer"] -= 4 * training.model.depth
    assert {cls: alive[cls] for cls in want} == want


def peaks(training: Training) -> list[int]:
    ways = [partial(sharded.ours.zero, stage=stage) for stage in (1, 2, 3)]
    return [way(training).peak for way in ways]


def test_every_stage_peaks_lower(ranks):
    """A wide model on a small batch, so that states are what there is."""
    training = Training(MLP(6, 64), optimizer="adamw", batch=4, steps=2)
    for found in ranks.run(peaks, training):
        assert found == sorted(found, reverse=True) and len(set(found)) == 3


def resharded(training: Training) -> list[tuple]:
    """Of each way: the training, and whether this rank sent and called what is predicted."""
    found = []
    for reshard in (True, 2, False):
        how = How(reshard=reshard)
        got = sharded.fsdp2.fsdp2(training, how)
        paper = sharded.fsdp2.predicted(training, 4, 0, how)
        same = got.moved.by_op() == dict(paper.calls) and got.moved.sent() == paper.total
        found.append((got, float(got.moved.sent()), same))
    return found


@pytest.mark.matrix("more of FSDP2's dials")
def test_a_number_to_reshard_to_makes_the_second_gather_smaller_and_the_peak_higher(ranks):
    training = Training(MLP(8, 32), optimizer="adamw", steps=2)
    n, want = training.model.nparams * 8 * training.steps, train(training)
    for found in ranks.run(resharded, training):
        assert [sent for _, sent, _ in found] == [n * 9 / 4, n * (6 / 4 + 2 / 4), n * 6 / 4]
        assert all(same and difference(got, want) < 1e-10 for got, _, same in found)
        dropped, _, stays = (got.peak for got, _, _ in found)
        assert stays > dropped + 3 * 32 * 32 * 8, (
            "most of eight units at once, less what Gloo's threads hold a little longer"
        )


def test_units_that_are_none_are_refused():
    with pytest.raises(ValueError, match="units are one of layers, blocks, root, got 'all'"):
        How("all")
    with pytest.raises(ValueError, match="ranks to reshard to is a whole number from 2 on, got 1"):
        How(reshard=1)
    with pytest.raises(ValueError, match="3 ranks to reshard to do not divide ranks 4"):
        sharded.fsdp2.predicted(Training(), 4, 0, How(reshard=3))
    assert How(reshard=2).gathers(False, 8) == (8, 2), "the lab on eight ranks counts it"


def test_padding_is_per_layer():
    assert padded(MLP(3, 3), 4) == 3 * 12 and padded(MLP(3, 4), 4) == MLP(3, 4).nparams
    assert padded(UNEVEN, 4) > UNEVEN.nparams


def teams_of_three() -> str:
    with pytest.raises(ValueError) as error:
        Hybrid(3)
    return str(error.value)


def test_what_cannot_be_divided_is_refused(ranks):
    for name in ALL:
        with pytest.raises(ValueError, match="4 ranks do not divide batch 6"):
            STRATEGIES[name].predicted(Training(batch=6), 4, 0)
    with pytest.raises(ValueError, match="3 ranks of a team do not divide ranks 4: take ranks 3 or 6, or 2 or 4 ranks"):
        sharded.ours.predicted(Training(), 4, stage=3, team=3)
    assert (
        ranks.run(teams_of_three)
        == ["teams of 3 ranks do not fill 4 ranks: take teams of 2 or 4 ranks, or 3 or 6 ranks"] * 4
    )


class Eight:
    """As much of a process group as is asked for a divisor."""

    def size(self):
        return 8


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize(("told", "wanted"), [(False, ReduceOp.AVG), (True, ReduceOp.SUM)])
def test_fsdp2_averages_gradients_unless_told_to_sum(dtype, told, wanted):
    """What the chapter on who moves the bytes rests on: NVLS and symmetric kernels take the sum alone."""
    *_, scatter, _ = divided(Eight(), None, dtype, force_sum_reduction_for_comms=told)
    assert scatter == wanted
