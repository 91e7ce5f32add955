"""The widget `holds` in JavaScript: what it says, counts and matches is what Python does; links and Python bring the state back."""

from __future__ import annotations

import ast
import itertools

import pytest
import traitlets

from helpers.view.holds.page import html
from helpers.view.holds.steps import CLASSES, NAMES, by_class, deed, known, matched, moments, nranks, peak, states
from helpers.view.holds.widget import HoldsSpec, explore_holds, holds_html, holds_sentence, holds_spec

UNFIT = [{"way": "zero-4"}, {"beside": "zero-3"}, {"beside": "fsdp"}, {"at": 34}, {"at": 99}, {"rank": 4}]


@pytest.fixture(scope="module")
def specs() -> list[HoldsSpec]:
    """Every state that there is."""
    first = holds_spec("zero-3", at=15)
    pairs = [(way, beside) for way, beside in itertools.product(NAMES, ("", *NAMES)) if way != beside]
    rest = [
        holds_spec(way, beside, at, rank)
        for way, beside in pairs
        for at in range(len(moments(way)))
        for rank in range(nranks(way))
    ]
    return [first, *rest]


@pytest.fixture(scope="module")
def played(specs, play) -> dict:
    """One node process computes everything."""
    told = {"known": known(), "specs": specs, "unfit": UNFIT}
    return play("holds", told)


def test_javascript_says_and_counts_what_python_does(specs, played):
    assert len(specs) > 1_000
    for spec, got in zip(specs, played["specs"], strict=True):
        assert got["sentence"] == holds_sentence(spec), spec
        assert got["sizes"] == by_class(spec.way, spec.at, spec.rank), spec
        assert got["states"] == states(spec.way, spec.at, spec.rank), spec
    assert played["matched"] == [
        [way, at, other, matched(way, at, other)] for way in NAMES for at in range(len(moments(way))) for other in NAMES
    ]
    assert played["peaks"] == [[way, [peak(way, rank) for rank in range(nranks(way))]] for way in NAMES]


def test_a_link_and_a_line_of_python_bring_the_state_back(specs, played):
    for spec, got in zip(specs, played["specs"], strict=True):
        assert (got["linked"], got["fits"]) == (spec.as_json(), True)
        call = ast.parse(got["python"]).body[-1].value
        options = {one.arg: one.value.value for one in call.keywords}
        assert holds_spec(*(one.value for one in call.args), **options) == spec
    assert played["unfit"] == [False] * len(UNFIT)
    assert played["other"] is None, "another widget's link"


def test_a_moment_keeps_its_meaning_under_another_way():
    gathers = [i for i, one in enumerate(moments("zero-3")) if (one["phase"], one["what"]) == ("forward", "all_gather")]
    for at in gathers:
        there = moments("ddp")[matched("zero-3", at, "ddp")]
        assert (there["phase"], there["what"], there["unit"]) == ("forward", "forward", moments("zero-3")[at]["unit"])
    for way, other in itertools.product(NAMES, NAMES):
        found = [matched(way, at, other) for at in range(len(moments(way)))]
        phases = [(one["phase"], moments(other)[i]["phase"]) for one, i in zip(moments(way), found, strict=True)]
        assert all(mine == theirs for mine, theirs in phases)
        assert way != other or found == list(range(len(found)))


def test_what_is_drawn_adds_up_to_what_the_tracker_saw():
    for way in NAMES:
        for moment, rank in itertools.product(moments(way), range(nranks(way))):
            here = moment["ranks"][rank]
            assert sum(map(sum, here["held"])) + here["rest"] == here["total"] <= here["most"]


def test_shard_and_whole_are_what_each_stage_promises():
    """Between steps: DDP keeps everything whole, each stage shares out one class more."""
    want = {
        "ddp": ["whole", "absent", "whole", "absent"],
        "zero-1": ["whole", "whole", "shard", "absent"],
        "zero-2": ["whole", "shard", "shard", "absent"],
        "zero-3": ["shard", "shard", "shard", "absent"],
        "fsdp2": ["shard", "absent", "shard", "absent"],
    }
    for way, how in want.items():
        for at, rank in itertools.product((0, len(moments(way)) - 1), range(nranks(way))):
            assert states(way, at, rank) == [how] * len(known()["ways"][way]["units"])
    assert states("zero-3", 2, 1)[:2] == [["whole", "shard", "shard", "kept"], ["shard", "shard", "shard", "absent"]]


def test_what_fsdp2_does_has_words_of_its_own():
    """It keeps the buffer of a gather for a while, and no rank updates what another owns."""
    said = [deed("fsdp2", at) for at in range(len(moments("fsdp2")))]
    freed = [words for words in said if "is freed; the buffer of its all_gather stays" in words]
    assert len(freed) == 4 and not any("others' parts" in words for words in said)
    assert said[-2] == "The optimizer updates the part of every layer that the rank owns."
    assert deed("ddp", 13) == "The optimizer updates all parameters, the same on every rank."


def test_the_fallback_and_the_directive():
    spec = holds_spec("zero-3", "ddp", 2, 1)
    assert html("zero-3", {"beside": "ddp", "at": 2, "rank": 1}) == holds_html(spec)
    assert "<td>968 KiB, whole</td>" in holds_html(spec) and "Rank 1 under ZeRO-3" in holds_html(spec)
    assert holds_sentence(spec).startswith("ZeRO-3, moment 3 of 34, forward. Forward of layer 0 is done.")
    assert len(CLASSES) == 4


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"way": "fsdp"}, "way must be one of ddp, zero-1, zero-2, zero-3, fsdp2, got 'fsdp'"),
        ({"beside": "zero-3"}, "beside zero-3 may stand one of ddp, zero-1, zero-2, fsdp2, or nothing, got 'zero-3'"),
        ({"at": 34}, "at must be a whole number from 0 to 33, got 34"),
        ({"at": True}, "got True"),
        ({"rank": -1}, "rank must be a whole number from 0 to 3, got -1"),
    ],
)
def test_what_was_not_recorded_is_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        holds_spec(**asked)


def test_a_kernel_has_the_moment_and_cannot_be_told_nonsense():
    widget = explore_holds("zero-2", "zero-1", at=6)
    assert widget.moment["what"] == "reduce_scatter" and repr(widget).startswith("HoldsWidget(ZeRO-2, moment 7 of 26")
    widget.spec = holds_spec("zero-3", at=33).as_json()
    assert widget.moment["what"] == "end"
    for wrong in ({"way": "ddp"}, holds_spec().as_json() | {"at": 50}):
        with pytest.raises(traitlets.TraitError, match="no spec of a step"):
            widget.spec = wrong
