"""How a step is shared out, as plain data: what it refuses, what it says, and which layers stand where."""

import pytest

from helpers.facts import MODELS
from helpers.memory import Sharding, ShardingError, closed_form


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"data": 0}, "data is a whole number of at least 1, got 0"),
        ({"tensor": 2.0}, "tensor is a whole number of at least 1, got 2.0"),
        ({"zero": 4}, "zero is 0, 1, 2 or 3, got 4"),
        ({"zero": 3}, "zero=3 splits among data ranks, so data must be at least 2"),
        ({"pipeline": 4, "stage": 4}, "stage is one of 0 to 3 of pipeline=4, got 4"),
        ({"virtual": 2}, "virtual=2 parts of a rank interleave in a pipeline, so pipeline must be at least 2"),
        (
            {"pipeline": 4, "virtual": 2, "micro_batches": 6},
            "virtual=2 parts take micro-batches by pipeline=4, so it must divide micro_batches=6",
        ),
        ({"tensor": 2, "sequence": 1}, "sequence is True or False, got 1"),
        ({"sequence": True}, "sequence=True shares tokens among tensor ranks"),
        ({"expert": 8, "data": 4}, "expert=8 spreads experts over data ranks, so it must divide data=4"),
    ],
)
def test_what_contradicts_itself_is_refused(arguments, said):
    with pytest.raises(ShardingError) as refused:
        Sharding(**arguments)
    assert said in str(refused.value)


def test_a_sharding_says_what_it_is():
    assert str(Sharding()) == "a single rank" and Sharding(data=2, tensor=4, pipeline=3).nranks == 24
    assert str(Sharding(data=8, zero=3, tensor=2, sequence=True)) == "8 data, ZeRO-3, tensor 2 with sequence"


def test_stages_share_the_layers_and_hold_micro_batches_in_flight():
    stages = [Sharding(pipeline=4, stage=i, micro_batches=3) for i in range(4)]
    assert [list(s.layers(MODELS["GPT-2"])) for s in stages] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert [s.in_flight for s in stages] == [3, 3, 2, 1]
    assert [(s.first, s.last) for s in stages] == [(True, False), (False, False), (False, False), (False, True)]


@pytest.mark.parametrize(
    ("split", "said"),
    [
        ({"expert": 2, "data": 2, "zero": 1}, "no closed form has expert=2 with zero=1: ask predict_step"),
        ({"pipeline": 2, "virtual": 2, "micro_batches": 2}, "no closed form has virtual=2 parts of a rank"),
        ({"context": 2}, "no closed form has context=2: ask predict_step"),
    ],
)
def test_what_only_a_prediction_knows_is_refused_by_formulas(split, said):
    for ask in (closed_form.activations, closed_form.step):
        with pytest.raises(ShardingError, match=said):
            ask("Mixtral-8x7B", seq=64, sharding=Sharding(**split))
    with pytest.raises(ShardingError, match=said):
        closed_form.weights.RankWeights(MODELS["Mixtral-8x7B"], Sharding(**split))


def test_a_rank_with_several_parts_has_layers_far_from_each_other():
    rank = Sharding(pipeline=2, stage=1, virtual=3, micro_batches=2)
    assert [list(one.layers(MODELS["GPT-2"])) for one in rank.parts] == [[2, 3], [6, 7], [10, 11]]
    assert [one.last for one in rank.parts] == [False, False, True] and str(rank).startswith("stage 1 of 2, 3 parts")
    with pytest.raises(ShardingError, match="virtual=3 parts has as many ranges of layers"):
        rank.layers(MODELS["GPT-2"])
    with pytest.raises(ShardingError, match="virtual=5 parts cannot share layers=12 of GPT-2 evenly"):
        Sharding(pipeline=2, virtual=5, micro_batches=2).check(MODELS["GPT-2"], 7)


@pytest.mark.parametrize(
    ("name", "split", "fits"),
    [
        ("GPT-2", {"tensor": 4}, True),
        ("GPT-2", {"tensor": 8}, False),
        ("GPT-2", {"pipeline": 6}, True),
        ("GPT-2", {"pipeline": 8}, False),
        ("GPT-2", {"tensor": 4, "sequence": True}, False),
        ("Mixtral-8x7B", {"data": 8, "expert": 4}, True),
        ("Mixtral-8x7B", {"data": 6, "expert": 3}, False),
    ],
)
def test_a_model_is_held_against_the_ranks(name, split, fits):
    """Of seven tokens, which four ranks cannot share."""
    if fits:
        Sharding(**split).check(MODELS[name], 7)
    else:
        with pytest.raises(ShardingError, match=f"ranks cannot share .* of {name} evenly"):
            Sharding(**split).check(MODELS[name], 7)


@pytest.mark.parametrize(
    ("sharding", "said"),
    [
        (Sharding(), "a single rank"),
        (Sharding(data=8, zero=3), "8 data, ZeRO-3"),
        (Sharding(data=2, expert=2), "2 data, experts over 2"),
        (Sharding(tensor=2, sequence=True), "tensor 2 with sequence"),
        (Sharding(tensor=8, pipeline=4, stage=1, micro_batches=2), "tensor 8, stage 1 of 4, 2 micro-batches"),
    ],
    ids=range(5),
)
def test_it_says_what_differs_from_a_single_rank(sharding, said):
    assert str(sharding) == said
