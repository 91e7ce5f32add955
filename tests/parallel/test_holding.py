"""A step as moments, on real Gloo ranks: what is held is the closed form's, what is called is the formulas', the record is such a step."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from helpers.memory.closed_form import states
from helpers.parallel.holding import NRANKS, SLOTS, WAYS, step_of
from helpers.parallel.holding.__main__ import NAME, together
from helpers.ranks.recorded import FOLDER

LAYERS, LAYER = 4, 198_272  # of the model, and parameters of one
CALLS = {
    "ddp": {"all_reduce": LAYERS},
    "zero-1": {"reduce_scatter": LAYERS, "all_gather": LAYERS},
    "zero-2": {"reduce_scatter": LAYERS, "all_gather": LAYERS},
    "zero-3": {"reduce_scatter": LAYERS, "all_gather": 2 * LAYERS},
    "fsdp2": {"reduce_scatter": LAYERS, "all_gather": 2 * LAYERS},
}


@pytest.fixture(scope="module")
def steps(ranks) -> dict[str, dict]:
    return {way: together(ranks.run(step_of, way)) for way in WAYS}


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict]:
    return json.loads((FOLDER / f"{NAME}.json").read_text(encoding="utf-8"))["data"]


def total(held: list[list[int]], *slots: str) -> int:
    return sum(layer[SLOTS.index(slot)] for layer in held for slot in slots)


@pytest.mark.matrix("recorded memory, measured again")
def test_the_record_is_what_ranks_do_now(steps, recorded):
    """All of it but a few bytes of bookkeeping that torch gives back when it likes."""
    assert steps.keys() == recorded.keys()
    for way, step in steps.items():
        mine, theirs = (json.loads(json.dumps(one)) for one in (step, recorded[way]))
        for one, other in zip(mine["moments"], theirs["moments"], strict=True):
            for now, then in zip(one.pop("ranks"), other.pop("ranks"), strict=True):
                assert now["held"] == then["held"]
                assert abs(now["total"] - then["total"]) <= 1024 * (way in ("ddp", "fsdp2"))
        assert mine == theirs


@pytest.mark.parametrize("way", WAYS)
def test_between_steps_a_rank_holds_what_the_closed_form_says(steps, way):
    torchs = way in ("ddp", "fsdp2")  # gradients are dropped between steps, and AdamW counts the steps of each tensor
    zero = {"ddp": 0, "fsdp2": 3}.get(way) if torchs else int(way[-1])
    want = states([LAYER] * LAYERS, "fp32", zero=zero, nranks=NRANKS).nbytes
    for moment in (steps[way]["moments"][0], steps[way]["moments"][-1]):
        for rank in moment["ranks"]:
            held, counts = rank["held"], 48 * LAYERS * torchs
            assert total(held, "parameter") == want["parameter"]
            assert total(held, "optimizer") == want["optimizer"] + counts
            assert total(held, "gradient") == (0 if torchs else want["gradient"])
            assert total(held, "gathered", "activation") == 0


@pytest.mark.parametrize("way", WAYS)
def test_every_byte_has_a_place_and_every_call_its_layer(steps, way):
    moments = steps[way]["moments"]
    for moment in moments:
        for rank in moment["ranks"]:
            assert sum(map(sum, rank["held"])) + rank["rest"] == rank["total"] <= rank["most"]
            assert rank["rest"] < 60_000, "input, output of a layer and the loss; no states among them"
    calls = [moment for moment in moments if moment["call"]]
    counted = {op: [one["unit"] for one in calls if one["what"] == op] for op in CALLS[way]}
    assert {op: len(units) for op, units in counted.items()} == CALLS[way] and sum(CALLS[way].values()) == len(calls)
    assert all(set(units) == set(range(LAYERS)) for units in counted.values())
    for moment in calls:
        factor = Fraction(2 if moment["what"] == "all_reduce" else 1) * Fraction(NRANKS - 1, NRANKS)
        assert moment["call"]["nbytes"] == 4 * LAYER and moment["call"]["sent"] == factor * 4 * LAYER


def test_zero_3_has_one_layer_whole_at_a_time(steps):
    for moment in steps["zero-3"]["moments"]:
        for rank in moment["ranks"]:
            lent = [unit for unit, held in enumerate(rank["held"]) if held[SLOTS.index("gathered")]]
            assert lent in ([], [moment["unit"]])


def test_fsdp2_asks_for_the_next_layer_before_it_reduces_this_one(steps):
    """Its own prefetch. A gathered layer is there twice: in the buffer of the all_gather, and in the parameters that forward uses."""
    told = [(m["what"], m["unit"]) for m in steps["fsdp2"]["moments"] if m["phase"] == "backward"]
    gathers, reduces = ([told.index((op, unit)) for unit in (3, 2, 1, 0)] for op in ("all_gather", "reduce_scatter"))
    assert gathers == sorted(gathers) and reduces == sorted(reduces)
    assert all(later < reduced for later, reduced in zip(gathers[1:], reduces, strict=False))
    for moment in steps["fsdp2"]["moments"]:
        if moment["what"] == "forward":
            assert [r["held"][moment["unit"]][SLOTS.index("gathered")] for r in moment["ranks"]] == [8 * LAYER] * NRANKS


def test_the_peak_is_the_traces(recorded):
    """Of the run that the page replays in the memory widget: the same model, the same step."""
    for way in WAYS[:-1]:  # of FSDP2 no trace is recorded
        peaks = json.loads((FOLDER / "memory" / f"{way}.json").read_text(encoding="utf-8"))["data"]["peaks"]
        most = [max(one["ranks"][rank]["most"] for one in recorded[way]["moments"]) for rank in range(NRANKS)]
        assert most == [peak["bytes"] for peak in peaks]


def test_another_way_is_refused():
    with pytest.raises(
        ValueError, match="a way to share out is one of ddp, zero-1, zero-2, zero-3, fsdp2, got 'zero-4'"
    ):
        step_of("zero-4")


def test_ranks_that_did_other_things_are_not_put_together(steps):
    one = {"units": ["a"], "slots": list(SLOTS), "whole": [4], "moments": []}
    other = {**one, "moments": [{"phase": "start", "what": "start", "unit": -1, "call": None}]}
    with pytest.raises(RuntimeError, match="the ranks' steps have other moments"):
        together([one, other])
