"""The widget `choice` in JavaScript: what it offers, says and draws is what Python computes; links and Python bring the state back."""

from __future__ import annotations

import ast
import random
from itertools import groupby

import pytest
import traitlets

from helpers.facts import MACHINES
from helpers.nccl.tuning import COLLECTIVES
from helpers.view.choice.asked import NODES, OFFERED, SIZES, VERSIONS, ChoiceSpec, published, racked, ranks
from helpers.view.choice.page import html
from helpers.view.choice.widget import choice_html, choice_sentence, choice_spec, explore_choice
from helpers.view.shared.nccl import known

BLACKWELL = [version for version in VERSIONS if version != "2.23.4"]  # whose search knows no Blackwell
CASES = 300
B200 = choice_spec("HGX-B200", "8 MiB", 4, version="2.29.2", beside="2.28.9")


def some_spec(rng: random.Random) -> ChoiceSpec:
    machine = rng.choice(list(OFFERED))
    nodes = 1 if racked(OFFERED[machine]) else rng.choice((1, 1, *NODES))
    versions = BLACKWELL if "B" in OFFERED[machine].accelerator else VERSIONS
    nranks, collective = rng.choice(ranks(machine, nodes)), rng.choice(COLLECTIVES)
    return choice_spec(
        machine, rng.choice(SIZES), nranks, nodes, collective, rng.choice(versions), rng.choice(versions)
    )


@pytest.fixture(scope="module")
def specs() -> list[ChoiceSpec]:
    rng = random.Random(8)
    told = [run for run in published() if run["version"] in VERSIONS and run["gpu"] == "B200"]
    seen = [
        choice_spec("HGX-B200", rng.choice(SIZES), run["nranks"], 1, run["collective"], run["version"]) for run in told
    ]
    return [B200, choice_spec(), *(some_spec(rng) for _ in range(CASES)), *seen]


@pytest.fixture(scope="module")
def played(specs, play) -> dict:
    """One node process computes everything."""
    told = {"known": known(), "published": published(), "specs": specs}
    return play("choice", told)


def test_javascript_says_what_python_says(specs, played):
    for spec, got in zip(specs, played["specs"], strict=True):
        assert got["sentence"] == choice_sentence(spec), spec
        assert got["measured"] == spec.measured(), spec
    assert sum(got["measured"] is not None for got in played["specs"]) > 15


def test_a_link_and_a_line_of_python_bring_the_state_back(specs, played):
    for spec, got in zip(specs, played["specs"], strict=True):
        assert (got["linked"], got["fits"]) == (spec.as_json(), True)
        call = ast.parse(got["python"]).body[-1].value
        options = {one.arg: one.value.value for one in call.keywords}
        assert choice_spec(*(one.value for one in call.args), **options) == spec


def test_what_is_offered_is_what_python_takes(played):
    assert [name for name, *_ in played["offered"]] == list(OFFERED)
    for (name, nodes, versions), by_nodes in zip(played["offered"], played["ranks"], strict=True):
        assert nodes == ([1] if racked(OFFERED[name]) else list(NODES))
        assert versions == (BLACKWELL if "B" in OFFERED[name].accelerator else list(VERSIONS))
        assert [tuple(one) for one in by_nodes] == [ranks(name, n) for n in nodes]
    assert played["settled"] == {**B200.as_json(), "nranks": 5, "nodes": 1, "version": "2.30.7"}


def test_the_picture_has_every_candidate_and_changes_where_python_does(specs, played):
    for spec, found, names, dots in zip(specs, played["stretches"], played["curves"], played["dots"], strict=False):
        ways = [(n, choice_spec(**{**vars(spec), "nbytes": n}).chosen()) for n in SIZES]
        told = [
            (name, [n for n, _ in part])
            for name, part in groupby(ways, lambda one: f"{one[1].algorithm}/{one[1].protocol}")
        ]
        assert [(one["name"], 2 ** one["from"], 2 ** one["to"]) for one in found] == [
            (name, part[0], part[-1]) for name, part in told
        ]
        assert set(names) == {f"{c.algorithm}/{c.protocol}" for c in spec.chosen().candidates}
        assert all(choice_spec(**{**vars(spec), "nbytes": n}).measured() == seconds for n, seconds in dots)
    assert len(played["dots"][0]) > 15


def test_the_lines_are_nccls_estimates_and_the_winner_has_ours_beside_them(specs, played):
    """A point at every power of two and one between two."""
    for spec, drawn in zip(specs, played["drawn"], strict=False):
        chosen = spec.chosen()
        lines = {name: {nbytes: rest for nbytes, *rest in points} for name, points in drawn["all"]}
        told = {f"{c.algorithm}/{c.protocol}": [c.raw, c.corrected] for c in chosen.candidates}
        assert {name: points[spec.nbytes] for name, points in lines.items()} == told
        first = chosen.candidates[0]
        won = {nbytes: rest for nbytes, *rest in drawn["won"]}
        assert won[spec.nbytes] == [f"{first.algorithm}/{first.protocol}", first.raw, first.corrected]
        assert len(won) == 2 * len(SIZES) - 1


def test_what_a_link_may_not_ask_for(played):
    assert played["unfit"] == [False] * 5 and played["fewer"] == 8, "all GPUs, where the asked number does not fit"


def test_the_case_of_four_b200():
    said = choice_sentence(B200)
    assert "takes Ring/Simple" in said and "a published run took 85 µs" in said
    assert "NCCL 2.28.9 takes Ring/LL128" in said and said.endswith("a published run took 48.6 µs.")
    assert choice_sentence(choice_spec(version="2.29.2", beside="2.29.2")).count("NCCL 2.29.2") == 1
    assert html("HGX-B200", {"nbytes": "8 MiB", "nranks": 4, "version": "2.29.2", "beside": "2.28.9"}) == choice_html(
        B200
    )


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"machine": "8xL40S"}, "machine must be one of DGX-A100, HGX-H100.*got '8xL40S'"),
        ({"collective": "all_to_all"}, "collective must be one of all_reduce.*got 'all_to_all'"),
        ({"version": "2.31.2"}, "version must be one of 2.23.4.*got '2.31.2'"),
        ({"beside": "newest"}, "beside must be one of.*got 'newest'"),
        ({"nodes": 5}, "nodes must be one of 1, 2.*got 5"),
        ({"nodes": True}, "nodes must be one of.*got True"),
        ({"nbytes": "3 MiB"}, "power of two from 1 KiB to 16 GiB, got '3 MiB'"),
        ({"nbytes": True}, "got True"),
        ({"nranks": 9}, "nranks must be one of 2, 3, .*8, got 9"),
        ({"nodes": 2, "nranks": 8}, "nranks must be one of 16, got 8"),
        ({"machine": "GB200-NVL72", "nodes": 2}, "one rack whose GPUs .* nodes must be 1, got 2"),
        ({"machine": "HGX-B200", "beside": "2.23.4"}, "NCCL 2.23 does not know Blackwell"),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        choice_spec(**asked)


def test_a_kernel_has_the_choice_and_cannot_be_told_nonsense():
    widget = explore_choice("HGX-B200", "8 MiB", nranks=4, beside="2.28.9")
    assert (widget.choice.algorithm, widget.choice.protocol) == ("Ring", "Simple")
    widget.spec = {**B200.as_json(), "version": "2.28.9"}
    assert widget.choice.protocol == "LL128" and repr(widget).startswith("ChoiceWidget(all_reduce of 8 MiB on 4 GPUs")
    for wrong in ({"machine": "HGX-B200"}, {**B200.as_json(), "nranks": 12}):
        with pytest.raises(traitlets.TraitError, match="no spec of a choice"):
            widget.spec = wrong


def test_every_machine_behind_a_switch_is_offered_once():
    single = {name for name, m in MACHINES.items() if m.shape == "switch" and (m.nodes == 1 or racked(m))}
    assert set(OFFERED) == single and "2x8-IB" not in OFFERED
