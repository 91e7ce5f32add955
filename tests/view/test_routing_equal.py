"""The widget `routing` in JavaScript: routes, slots and sentences are Python's in 1,200 cases; links and Python bring the state back."""

from __future__ import annotations

import ast
import json
import random

import pytest
import traitlets

from helpers.view.routing import asked as offer
from helpers.view.routing.asked import RoutingSpec, routing_spec
from helpers.view.routing.page import OPTIONS, html
from helpers.view.routing.widget import explore_routing, routing_html, routing_sentence

CASES = 1200


def some_spec(rng: random.Random) -> RoutingSpec:
    experts = rng.choice(offer.EXPERTS)
    return routing_spec(
        rng.choice(offer.TOKENS),
        experts,
        rng.choice(offer.TOP_K),
        rng.choice(offer.CAPACITIES),
        rng.choice([n for n in offer.NRANKS if n <= experts]),
        rng.choice(offer.SKEWS),
        rng.randrange(offer.SEEDS),
    )


@pytest.fixture(scope="module")
def specs() -> list[RoutingSpec]:
    rng = random.Random(20)
    return [routing_spec(), routing_spec(capacity=0.0), *(some_spec(rng) for _ in range(CASES))]


@pytest.fixture(scope="module")
def played(specs, play) -> dict:
    """One node process computes everything."""
    return play("routing", [spec.as_json() for spec in specs])


def test_javascript_routes_as_python_does(specs, played):
    for spec, got in zip(specs, played["specs"], strict=True):
        r = spec.routes
        assert got["routes"] == json.loads(json.dumps([r.slots, r.chosen, r.slot, r.matrix, r.loads, r.dropped])), spec
    assert sum(spec.routes.dropped > 0 for spec in specs) > CASES // 4


def test_and_says_what_python_says(specs, played):
    for spec, got in zip(specs, played["specs"], strict=True):
        assert got["sentence"] == routing_sentence(spec), spec


def test_a_link_and_a_line_of_python_bring_the_state_back(specs, played):
    for spec, got in zip(specs, played["specs"], strict=True):
        assert (got["linked"], got["fits"]) == (spec.as_json(), True)
        call = ast.parse(got["python"]).body[-1].value
        assert routing_spec(**{one.arg: one.value.value for one in call.keywords}) == spec


def test_a_capacity_moves_nothing_below_and_every_slot_has_room(played):
    assert all(got["still"] and got["fitsCell"] for got in played["specs"])


def test_what_is_offered_is_what_python_takes(played):
    names = {"nranks": offer.NRANKS, "tokens": offer.TOKENS, "experts": offer.EXPERTS, "top_k": offer.TOP_K}
    names |= {"skew": offer.SKEWS, "capacity": offer.CAPACITIES, "seed": range(offer.SEEDS)}
    assert played["offered"] == {name: list(values) for name, values in names.items()}
    assert played["unfit"] == [False] * 6 and played["foreign"] is None


def test_two_cases_in_words():
    assert routing_sentence(routing_spec()).startswith("32 tokens make 64 copies for 8 experts, 3 slots each for every")
    free = routing_sentence(routing_spec(capacity=0.0))
    assert "None is dropped" in free and "times as long as with equal loads" in free
    told = html("", {"tokens": 8, "capacity": 0.0})
    assert told == routing_html(routing_spec(capacity=0.0)) and set(OPTIONS) == set(routing_spec().as_json())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"tokens": 8.0}, "tokens must be one of 4, 6, 8, 12, 16, got 8.0"),
        ({"tokens": 5}, "tokens must be one of 4, 6, 8, 12, 16, got 5"),
        ({"experts": 6}, "experts must be one of 4, 8, 16, got 6"),
        ({"top_k": True}, "top_k must be one of 1, 2, 4, got True"),
        ({"capacity": 1.1}, "capacity must be one of 0.5, .*, 0, got 1.1"),
        ({"nranks": 3}, "nranks must be one of 2, 4, 8, got 3"),
        ({"nranks": 8, "experts": 4}, "nranks must be at most experts=4, got 8"),
        ({"skew": 5}, "skew must be one of 0, 10, .*got 5"),
        ({"seed": 100}, "seed must be one of 0 to 99, got 100"),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        routing_spec(**asked)


def test_a_directive_refuses_what_it_does_not_take():
    with pytest.raises(ValueError, match="no argument, got 'Mixtral'"):
        html("Mixtral", {})
    with pytest.raises(ValueError, match="or 0 for no limit, got 'much'"):
        OPTIONS["capacity"]("much")


def test_a_kernel_has_the_routes_and_cannot_be_told_nonsense():
    widget = explore_routing(skew=0, capacity=0)
    assert widget.routes.dropped == 0 and repr(widget).startswith("RoutingWidget(32 tokens make 64 copies")
    widget.spec = routing_spec(skew=100).as_json()
    assert widget.routes.dropped > 0
    for wrong in ({"tokens": 8}, {**routing_spec().as_json(), "nranks": 5}):
        with pytest.raises(traitlets.TraitError, match="no spec of a routing"):
            widget.spec = wrong
