"""Tensor, expert, norms and meshes on paper: what is refused, which slots tokens get, and sums that pages quote."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
import torch

from helpers.parallel import expert, meshes, norms, table
from helpers.parallel.checks import divides_all
from helpers.parallel.expert.routing import capacity, combined, dispatched, routed
from helpers.parallel.model import MLP, Transformer
from helpers.parallel.reference import Training
from helpers.parallel.tensor import activations as tensor_activations
from helpers.parallel.tensor import cuts, dtensor, matmul, ours

WIDE = Training(ours.WIDE)


def refused(run, *args, **how) -> str:
    with pytest.raises(ValueError) as caught:
        run(*args, **how)
    return str(caught.value)


@pytest.mark.parametrize(
    ("training", "nranks", "way", "told"),
    [
        (
            Training(Transformer()),
            4,
            "pairs",
            "4 tensor ranks do not divide kv_heads 2: take kv_heads 4, or 2 tensor ranks",
        ),
        (WIDE, 3, "pairs", "3 tensor ranks do not divide heads 4: take heads 3 or 6, or 2 or 4 tensor ranks"),
        (Training(Transformer(kv_heads=4, seq=6)), 4, "sequence", "4 tensor ranks do not divide seq 6"),
        (Training(Transformer(kv_heads=4, ffn=30)), 4, "pairs", "do not divide ffn 30: take ffn 28 or 32"),
        (
            Training(MLP(3)),
            2,
            "pairs",
            "takes matrices two by two, and layers is 3: take layers 2 or 4, or way 'gathered'",
        ),
        (Training(MLP(4, 18)), 4, "gathered", "do not divide width 18: take width 16 or 20, or 3 or 6 tensor ranks"),
        (Training(batch=6), 4, "sequence", "do not divide batch of a replica 6"),
        (Training(), 4, "rows", "is one of gathered, pairs, sequence, got 'rows'"),
    ],
)
def test_sizes_that_do_not_divide_are_refused_with_the_nearest_that_do(training, nranks, way, told):
    assert told in refused(ours.predicted, training, nranks, 0, way)


def test_ranks_that_are_offered_divide_every_size():
    """64 heads have 16 as a divisor, 8 heads of keys and values and 448 hidden numbers do not: 8 is offered, which divides all."""
    model = Transformer(width=128, heads=64, kv_heads=8, ffn=448)
    assert refused(ours.predicted, Training(model), 16).endswith("take kv_heads 16, or 8 tensor ranks")
    assert refused(ours.predicted, Training(model), 6).endswith("take heads 60 or 66, or 4 or 8 tensor ranks")
    assert divides_all(4, "ranks", {"heads": 64, "ffn": 448}) == {"heads": 16, "ffn": 112}
    assert "ffn is a whole number from 1 on, got 0" in refused(divides_all, 2, "ranks", {"heads": 4, "ffn": 0})


def test_every_room_says_which_ranks_work():
    """A batch with one sample more: who shares it out refuses it, with the nearest batches and the nearest numbers of ranks."""
    told = {}
    for one in table.STRATEGIES.values():
        try:
            one.predicted(one.training.but(batch=one.training.batch + 1), one.nranks, 0)
        except ValueError as error:
            told[one.name] = str(error)
    assert len(told) > len(table.STRATEGIES) / 2
    for name, words in told.items():
        assert re.search(r"take .*\d+ or \d+.*, or .*\d", words), f"{name}: {words}"


def test_a_room_of_transformers_names_another_model():
    """As `python -m helpers.parallel --model mlp` asks all of them."""
    for one in table.STRATEGIES.values():
        for model in (MLP(), Transformer()):
            try:
                one.predicted(one.training.but(model=model), 2, 0)
            except ValueError as error:
                assert re.search(r"got (MLP|Transformer)|ranks", str(error)), f"{one.name}: {error}"
    each = table.STRATEGIES["tensor, DTensor, transformer, q, k and v each"]
    assert "are those of a Transformer, got MLP" in refused(each.predicted, Training(), 2)


def test_activations_are_told_of_what_the_tables_have():
    assert "got 'gathered'" in refused(tensor_activations.predicted, WIDE, 4, "gathered")


def test_experts_that_do_not_divide_are_refused():
    training = Training(expert.Routed(), batch=32)
    assert "3 ranks of experts do not divide ranks 4: take" in refused(expert.ours.predicted, training, 4, ranks=3)
    six = training.but(model=expert.Routed(experts=6))
    assert "do not divide experts 6: take experts 4 or 8, or 3 or 6" in refused(expert.ours.predicted, six, 4)
    assert "take batch 28 or 32" in refused(expert.ours.predicted, training.but(batch=30), 4)
    assert "is a whole number from 1 on, got 0" in refused(expert.ours.predicted, training, 4, ranks=0)
    assert "got k=9 of 8" in refused(expert.Routed, k=9)
    assert "got 0.0" in refused(expert.Routed, factor=0.0)
    assert "got MLP" in refused(expert.ours.predicted, Training(), 4)


def test_meshes_that_do_not_fill_the_ranks_are_refused():
    told = refused(meshes.predicted, WIDE, 4, axes=meshes.Axes(2, 2, 2))
    assert told == (
        "replica 2 x shard 2 x tensor 2 are 8 ranks, and there are 4: take 8 ranks, or replica 1 or shard 1 or tensor 1"
    )
    told = refused(meshes.predicted, WIDE, 4, axes=meshes.Axes(3, 1, 1))
    assert told.endswith("are 3 ranks, and there are 4: take 3 ranks, or replica 4")
    told = refused(meshes.predicted, WIDE, 4, axes=meshes.Axes(3, 3, 1))
    assert told.endswith("take 9 ranks, or axes out of 1, 2, 4 with the product 4")
    assert "parts (replicas x shards) do not divide batch 9" in refused(
        meshes.predicted, WIDE.but(batch=9), 4, axes=meshes.Axes(shard=2, tensor=2)
    )
    assert "tensor is a whole number from 1 on, got 0" in refused(meshes.Axes, tensor=0)


def test_meshes_with_pipelines_are_refused_before_anything_starts():
    axes, paper = meshes.PipelineAxes, meshes.predicted_piped
    assert "data 1 x pipeline 2 x tensor 4 are 8 ranks" in refused(paper, WIDE, 4, axes=axes(1, 2, 4))
    assert "5 stages of 4 layers leave a stage" in refused(paper, WIDE, 5, axes=axes(1, 5, 1))
    assert "do not divide kv_heads 2" in refused(paper, Training(Transformer()), 4, axes=axes(1, 1, 4))
    assert "4 microbatches are more than the 2 samples" in refused(paper, WIDE, 4, axes=axes(4))
    told = refused(paper, Training(MLP(6)), 4, axes=axes(1, 2, 2))
    assert told == (
        "pairs keeps layers together two by two, and 2 stages of 6 layers begin one at layer 3: "
        "take 1, 3 stages, or way 'gathered'"
    )
    assert "do not divide batch of a replica 2" in refused(paper, Training(), 4, axes=axes(1, 1, 4), way="sequence")
    assert "pipeline is a whole number from 1 on, got 0" in refused(axes, pipeline=0)


def test_recompute_repeats_what_the_tensor_axis_says_and_nothing_else():
    """A block's two sums are 4 a step, with recompute 6; torch's stops before the second of the repeated two: 5."""
    axes = meshes.Axes(shard=2, tensor=2)
    once, again = (meshes.by_axis(WIDE, 4, axes=axes, checkpoint=on) for on in (False, True))
    assert again["shard"] == once["shard"] and again["replica"] == once["replica"] == {}
    for k in range(2):
        assert 2 * again["tensor"]["all_reduce"][k] == 3 * once["tensor"]["all_reduce"][k]
    torchs = meshes.predicted_by_torch(WIDE, 4, axes=axes, checkpoint=True)
    assert 6 * torchs.sent["all_reduce"] == 5 * again["tensor"]["all_reduce"][1]


def test_sequence_sends_a_share_to_the_next_stage():
    """Every tensor rank sends all of the activations under "pairs", its own tokens under "sequence"."""
    axes = meshes.PipelineAxes(pipeline=2, tensor=2)
    pairs, sequence = (meshes.by_axis_piped(WIDE, 4, 1, axes=axes, way=way) for way in ("pairs", "sequence"))
    n = WIDE.batch * ours.WIDE.seq * ours.WIDE.width * WIDE.itemsize * WIDE.steps
    assert pairs["pipeline"]["send"] == (20, n) and sequence["pipeline"]["send"] == (20, n / 2)


def test_norms_are_refused_for_other_models():
    assert "got 'group'" in refused(norms.Normed, kind="group")
    assert "got MLP" in refused(norms.predicted, Training(), 4)


def test_a_block_moves_eight_shares_of_its_activations():
    """4 all_reduces of N; sequence the same bytes and two norms; computed again, the forward's half once more."""
    n = Fraction(3, 4) * WIDE.batch * ours.WIDE.seq * ours.WIDE.width * WIDE.itemsize * WIDE.steps * ours.WIDE.layers
    norm = 2 * 2 * Fraction(3, 4) * ours.WIDE.width * WIDE.itemsize * WIDE.steps * ours.WIDE.layers
    ends = 2 * n / ours.WIDE.layers
    assert ours.predicted(WIDE, 4).total == 8 * n
    assert ours.predicted(WIDE, 4, way="sequence").total == 8 * n + norm + ends
    assert ours.predicted(WIDE, 4, checkpoint=True).total == 12 * n
    wide = Fraction(ours.WIDE.ffn, ours.WIDE.width)
    assert ours.predicted(WIDE, 4, way="gathered").total == (8 + 2 * wide) * n


def test_heads_need_no_gather():
    """E54: attention of cut heads is local; E44: gathering every output moves more than pairs."""
    block = cuts.traffic(ours.WIDE, "pairs", 8)[1]
    assert {op for op, _ in block.forward + block.backward} == {"all_reduce"}
    assert ours.predicted(WIDE, 4, way="gathered").total > ours.predicted(WIDE, 4).total
    assert ours.predicted(Training(), 4, way="gathered").total > ours.predicted(Training(), 4).total


def test_dtensor_moves_more_in_the_gathered_form():
    mlp = Training()
    assert dtensor.predicted(mlp, 4, way="gathered").total > ours.predicted(mlp, 4, way="gathered").total
    assert dtensor.predicted(mlp, 4, way="pairs").total == ours.predicted(mlp, 4, way="pairs").total


def test_an_all_to_all_moves_half_of_an_all_reduce_of_the_same_buffer():
    """E20: what is heavy about it is not its volume."""
    from helpers.collectives import PRIMITIVES

    assert 2 * PRIMITIVES["all_to_all"].least(0, 8)[0] == PRIMITIVES["all_reduce"].least(0, 8)[0]


def test_the_slices_of_all_ranks_are_the_model():
    for way in cuts.WAYS:
        cut, mine = cuts.cuts(ours.WIDE, way), cuts.shapes(ours.WIDE, way, 4)
        for name, shape in ours.WIDE.shapes.items():
            times = 1 if cut[name] is None else 4
            assert torch.Size(mine[name]).numel() * times == torch.Size(shape).numel()


def test_the_four_cases():
    assert [matmul.case(*dims).number for dims in (("b", ""), ("i", "o"), ("i", "i"), ("b", "o"))] == [1, 2, 3, 4]
    assert matmul.case("i", "i", "b").after == "reduce_scatter" and matmul.case("i", "i").after == "all_reduce"
    assert matmul.case("", "i").gathers == "W" and matmul.case("b", "o") == (4, "X", "", "o")
    assert "got 'o'" in refused(matmul.case, "o", "i")
    assert "unless both cut 'i'" in refused(matmul.case, "b", "", "b")


def test_capacity_is_an_even_share_rounded_up():
    assert [capacity(8, 2, 8, f) for f in (1.0, 1.25, 0.1)] == [2, 3, 1]
    assert capacity(1, 1, 64, 1.0) == 1


def test_first_choices_come_first_and_the_late_are_dropped():
    """Three tokens want expert 1 first, expert 0 second; both have two slots."""
    scores = torch.tensor([[1.0, 2.0, 0.0]] * 3, dtype=torch.float64)
    routing = routed(scores, 2, 2)
    assert routing.slot.tolist() == [[2, 0], [3, 1], [-1, -1]] and routing.dropped == 2
    assert torch.allclose(routing.weight, torch.softmax(scores, -1)[:, [1, 0]])
    both = routed(torch.tensor([[2.0, 1.0], [1.0, 2.0]]), 2, 1)
    assert both.slot.tolist() == [[0, -1], [1, -1]]


def test_what_is_dispatched_comes_back_weighted():
    x = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    routing = routed(torch.tensor([[0.0, 5.0], [0.0, 5.0], [0.0, 5.0]]), 1, 2)
    slots = dispatched(x, routing, 4)
    assert slots.tolist() == [[0, 0], [0, 0], [1, 10], [2, 20]]
    weight = torch.softmax(torch.tensor([0.0, 5.0]), -1)[1]
    assert torch.allclose(combined(slots, routing), torch.stack([x[0] * weight, x[1] * weight, x[2] * 0]))


def test_names_in_the_table_are_their_own():
    listed = [one.name for module in table.MODULES for one in module.STRATEGIES]
    assert len(listed) == len(set(listed)) == len(table.STRATEGIES)
