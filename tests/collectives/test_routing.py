"""Routes as plain data: slots in the order of the reference, what leaves for whom, and the same choices as with tensors."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from helpers.collectives.routing import Routes, capacity, made_up, mixed, score
from helpers.parallel.expert import routing as tensors


def test_first_choices_are_served_first():
    routes = Routes((((0, 1), (1, 0)), ((1, 0), (1, 0))), 2, 1)
    assert routes.slot == (((0, -1), (0, -1)), ((0, 0), (-1, -1)))
    assert routes.by_expert == ((1, 1), (1, 1)) and routes.dropped == 4 and routes.asked == 8
    assert routes.matrix == ((1, 1), (1, 1)) and routes.loads == (2, 2) and routes.fullest == 1
    free = Routes(routes.chosen, 2)
    assert free.dropped == 0 and free.matrix == ((2, 2), (2, 2)) and free.rows(0, 1) == 2 and routes.rows(0, 1) == 1


def test_the_matrix_has_a_column_for_each_rank():
    routes = Routes((((3, 0), (3, 1)), ((2, 3), (3, 2))), 4)
    assert routes.matrix == ((2, 2), (0, 4)) and routes.loads == (1, 1, 2, 4)
    assert routes.fullest == Fraction(6, 4)


@pytest.mark.parametrize("seed", range(12))
def test_slots_are_those_of_the_tensors(seed):
    nranks, tokens, experts, k = 1 + seed % 3, 5 + seed, 6, 1 + seed % 3
    routes = made_up(nranks, tokens, experts, k, 9 * seed, 0.75, seed)
    for rank in range(nranks):
        numbers = range(rank * tokens, (rank + 1) * tokens)
        scores = [[score(seed, t, e, experts, 9 * seed) - e / 100 for e in range(experts)] for t in numbers]
        got = tensors.routed(torch.tensor(scores, dtype=torch.float64) / 1e4, k, routes.slots)
        want = [
            [expert * routes.slots + place if place >= 0 else -1 for expert, place in zip(*both, strict=True)]
            for both in zip(routes.chosen[rank], routes.slot[rank], strict=True)
        ]
        assert got.slot.tolist() == want
        assert got.dropped == sum(place < 0 for places in routes.slot[rank] for place in places)


def test_capacity_is_the_tensors():
    cases = [(t, k, e, f) for t in (1, 7, 64) for k in (1, 2) for e in (2, 8) for f in (0.25, 1, 1.25, 2.0)]
    assert [capacity(*one) for one in cases] == [tensors.capacity(*one) for one in cases]


def test_a_skewed_router_has_favourites_and_an_even_one_has_none():
    even, skewed = (made_up(4, 64, 8, 2, skew).loads for skew in (0, 100))
    assert max(even) < 1.3 * 64 < 3 * 64 < max(skewed) and min(skewed) == 0
    assert made_up(4, 64, 8, 2, 50) == made_up(4, 64, 8, 2, 50) != made_up(4, 64, 8, 2, 50, seed=1)


def test_mixing_is_murmurs():
    """Its finalizer has one known fixed point, and a value that others publish."""
    assert mixed(0) == 0 and mixed(1) == 0x514E28B7


@pytest.mark.parametrize(
    ("chosen", "experts", "slots", "told"),
    [
        ((((0,),), ((0,),)), 3, 1, "3 experts do not lie evenly on 2 ranks"),
        ((), 2, 1, "2 experts do not lie evenly on 0 ranks"),
        ((((0,),),), 2, 0, "slots are at least 1, or None for no limit, got 0"),
        ((((2,),),), 2, 1, "experts are 0 to 1, a token chose 2"),
    ],
)
def test_what_does_not_fit_together_is_refused(chosen, experts, slots, told):
    with pytest.raises(ValueError, match=told):
        Routes(chosen, experts, slots)
