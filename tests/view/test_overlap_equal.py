"""The widget `overlap` in JavaScript: lanes, steps and sentences are Python's in 1,200 cases; links and Python bring the state back."""

from __future__ import annotations

import ast
import json
import math
import random

import pytest
import traitlets

from helpers.facts import LINKS, MODELS
from helpers.memory import Sharding
from helpers.memory.closed_form.weights import RankWeights
from helpers.overlap import Overlap, Unit, fill, gathered, overlap
from helpers.view.overlap import asked as offer
from helpers.view.overlap.asked import OverlapSpec, overlap_spec
from helpers.view.overlap.jobs import BACKWARD, GPUS, OFFERED, WIDTH, backwards, known, units
from helpers.view.overlap.page import OPTIONS, html
from helpers.view.overlap.ways import GRAIN, RUN, ways
from helpers.view.overlap.widget import explore_overlap, overlap_html
from helpers.view.overlap.words import overlap_sentence
from helpers.view.shared.schedules.traces import links

CASES, SPECS = 1200, 48
WRONG = [
    {"model": "GPT-4"},
    {"gpu": "L40S"},
    {"link": "wifi"},
    {"tokens": 300},
    {"bucket": 3},
    {"prefetch": 3},
    {"mode": "x"},
    {"way": "x"},
]


def some_case(rng: random.Random) -> dict:
    """Times of the order of those of calls, so that sometimes the one is longer and sometimes the other."""
    alpha, beta, n = rng.choice([0.0, 0.01, 0.3]), rng.choice([1e-9, 1e-8, 1e-7]), rng.randint(1, 12)
    line = {"alpha": alpha, "beta": beta}
    seconds = [rng.choice([0.0, rng.uniform(0, 1)]) for _ in range(2 * n)]
    nbytes = [rng.randint(0, 10**7) for _ in range(n)]
    if rng.random() < 0.5:
        return line | {"units": list(zip(seconds[:n], seconds[n:], nbytes, strict=True)), "ahead": rng.randrange(4)}
    layers = list(zip(seconds[:n], nbytes, strict=True))
    return line | {"layers": layers, "bucket": rng.choice([1, 10**6, 10**7, 10**9]), "before": rng.choice([0.0, 0.5])}


def some_spec(rng: random.Random) -> OverlapSpec:
    return overlap_spec(
        rng.choice(offer.MODES),
        rng.choice(offer.BUCKETS) or "all",
        rng.choice(offer.PREFETCH),
        rng.choice(OFFERED),
        rng.choice(offer.TOKENS),
        rng.choice(GPUS),
        rng.choice(list(LINKS)),
        rng.choice(offer.SHARES),
        rng.choice(list(ways()["ways"])),
    )


def of(case: dict) -> tuple[Overlap, tuple]:
    def seconds_of(nbytes: int) -> float:
        return case["alpha"] + nbytes * case["beta"]

    if "units" in case:
        return gathered([Unit(*one) for one in case["units"]], case["ahead"], seconds_of), ()
    buckets = fill(case["layers"], case["bucket"], before=case["before"])
    return overlap(case["before"] + sum(s for s, _ in case["layers"]), buckets, seconds_of), buckets


@pytest.fixture(scope="module")
def cases() -> list[dict]:
    rng = random.Random(21)
    return [some_case(rng) for _ in range(CASES)]


@pytest.fixture(scope="module")
def specs() -> list[OverlapSpec]:
    rng = random.Random(22)
    return [overlap_spec(), overlap_spec("units", 0), *(some_spec(rng) for _ in range(SPECS))]


@pytest.fixture(scope="module")
def played(cases, specs, play) -> dict:
    """One node process computes everything."""
    told = {
        "cases": cases,
        "specs": [spec.as_json() for spec in specs],
        "known": known(),
        "links": links(),
        "wrong": WRONG,
    }
    return play("overlap", told)


def near(got: list[float], want: list[float]) -> None:
    """As pytest.approx, in a fraction of its time."""
    assert len(got) == len(want)
    assert all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(got, want, strict=True)), (got, want)


def same(got: dict, o: Overlap) -> None:
    assert got["calls"] == [list(call) for call in o.calls] and got["gathered"] == o.gathered
    for name in ("computing", "spans"):
        flat = [[time for span in spans for time in span] for spans in (got[name], getattr(o, name))]
        near(*flat)
    four = [o.seconds, o.communication, o.exposed, o.hidden]
    near([got["computed"], *got["four"]], [o.computed, *four])


def test_javascript_computes_the_lanes_of_python(cases, played):
    shown = 0
    for case, got in zip(cases, played["cases"], strict=True):
        o, buckets = of(case)
        same(got, o)
        if buckets:
            assert [n for _, n in got["buckets"]] == [n for _, n in buckets]
            near([t for t, _ in got["buckets"]], [t for t, _ in buckets])
        shown += o.hidden > 0 and o.exposed > 0
    assert shown > CASES // 4, "cases in which all or nothing is hidden prove little"


def test_and_the_steps_of_models_on_links_in_the_same_words(specs, played):
    for spec, got in zip(specs, played["specs"], strict=True):
        if spec.mode != "recorded":
            same(got["step"], spec.shown)
        assert got["sentence"] == overlap_sentence(spec), spec


def test_a_link_and_a_line_of_python_bring_the_state_back(specs, played):
    for spec, got in zip(specs, played["specs"], strict=True):
        assert (got["linked"], got["fits"]) == (spec.as_json(), True)
        call = ast.parse(got["python"]).body[-1].value
        asked = {one.arg: one.value.value for one in call.keywords}
        assert overlap_spec(call.args[0].value, **asked) == spec


def test_what_is_offered_is_what_python_takes(played):
    names = {"bucket": offer.BUCKETS, "prefetch": offer.PREFETCH, "mode": offer.MODES}
    names |= {"tokens": offer.TOKENS, "share": offer.SHARES}
    assert played["offered"] == {name: list(values) for name, values in names.items()}
    assert played["unfit"] == [False] * len(WRONG) and played["foreign"] is None


@pytest.mark.parametrize("name", OFFERED)
def test_a_job_has_every_weight_of_its_model_once(name):
    model, tokens, rate = MODELS[name], 1000, 1e12
    layers, of_units = backwards(name, tokens, rate), units(name, tokens, rate)
    in_turn = [WIDTH * numel for numel, _ in RankWeights(model, Sharding()).tensors()]
    assert [nbytes for _, nbytes in layers if nbytes] == in_turn[::-1]
    assert sum(unit.nbytes for unit in of_units) == WIDTH * model.nparams
    backward = sum(seconds for seconds, _ in layers)
    assert sum(unit.backward for unit in of_units) == pytest.approx(backward)
    assert sum(unit.forward for unit in of_units) == pytest.approx(backward / 2)
    most = BACKWARD * model.nparams * tokens / rate
    assert 0.6 * most < backward < 1.001 * most or (model.tied and backward < 1.35 * most)


def test_a_recorded_step_is_drawn_as_it_was_recorded():
    run = json.loads(RUN.read_text(encoding="utf-8"))
    for name, way in zip(run["data"]["ways"], ways()["ways"].values(), strict=True):
        events = [event for event in run["data"]["ways"][name]["events"] if event["kind"] != "idle"]
        drawn = [one for rank in way["ranks"] for one in rank]
        assert len(drawn) == len(events) and {one[3] for one in drawn} == {event["what"] for event in events}
        ends = [max(one["end"] for one in events), max(one[2] for one in drawn) * GRAIN]
        assert ends[0] == pytest.approx(ends[1], abs=GRAIN)
    said = overlap_sentence(overlap_spec("recorded", way="naive"))
    assert said.startswith("Naive: a rank keeps the link for ") and run["label"] in said
    with pytest.raises(ValueError, match=r"not computed: look at ways\(\)"):
        _ = overlap_spec("recorded").shown
    assert "Recorded steps of four ranks" in html("recorded", {})


def test_two_cases_in_words():
    small = overlap_sentence(overlap_spec(bucket="all"))
    assert small.startswith("1 all_reduce keeps the link for ") and "Of that nothing is hidden and" in small
    sharded = overlap_sentence(overlap_spec("units", prefetch=0))
    assert (
        sharded.startswith("68 all_gathers and 34 reduce_scatters keep the link") and "Prefetch 0, 1 and 2" in sharded
    )
    told = html("units", {"prefetch": 2})
    assert told == overlap_html(overlap_spec("units", prefetch=2)) and {*OPTIONS, "mode"} == set(
        overlap_spec().as_json()
    )


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"mode": "rows"}, "mode must be one of buckets, units, recorded, got 'rows'"),
        ({"model": "GPT-4"}, "model must be one of GPT-2, .*got 'GPT-4'"),
        ({"gpu": "L40S"}, "gpu must be one of A100, .*got 'L40S'"),
        ({"link": "wifi"}, "link must be one of nvlink-3, .*got 'wifi'"),
        ({"tokens": 4096.0}, "tokens must be one of 256, .*got 4096.0"),
        ({"share": 45}, "share must be one of 20, .*got 45"),
        ({"way": "fast"}, "way must be one of naive, .*got 'fast'"),
        ({"prefetch": True}, "prefetch must be one of 0, 1, 2, got True"),
        ({"bucket": "3 MiB"}, "bucket must be one of 1 MiB, .*or all, got '3 MiB'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        overlap_spec(**asked)


def test_a_kernel_has_the_step_and_cannot_be_told_nonsense():
    widget = explore_overlap(bucket="all")
    assert widget.step.hidden == 0 and repr(widget).startswith("OverlapWidget(1 all_reduce keeps the link")
    widget.spec = overlap_spec("units").as_json()
    assert widget.step.gathered > 0
    for wrong in ({"tokens": 8}, {**overlap_spec().as_json(), "link": "wifi"}):
        with pytest.raises(traitlets.TraitError, match="no spec of a step"):
            widget.spec = wrong
