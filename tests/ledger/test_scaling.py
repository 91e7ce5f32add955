"""Efficiencies and Amdahl's share against times that were made with them."""

import random

import pytest

from helpers.ledger.scaling import Scaling


def amdahl(serial, ranks, whole=1.0):
    return {n: whole * (serial + (1 - serial) / n) for n in ranks}


def test_the_serial_share_of_times_that_have_one():
    rng = random.Random(4)
    for _ in range(200):
        serial, whole = rng.random(), rng.uniform(0.01, 10)
        found = Scaling(amdahl(serial, (1, 2, 4, 8), whole))
        assert found.serial == pytest.approx(serial, abs=1e-9)
        assert found.strong[8] == pytest.approx(1 / (1 + 7 * serial))
        assert found.most == pytest.approx(1 / serial)


def test_it_is_the_least_squares():
    times = {1: 1.0, 2: 0.61, 4: 0.37, 8: 0.31}
    found = Scaling(times).serial

    def missed(serial):
        return sum((t - paper) ** 2 for t, paper in zip(times.values(), amdahl(serial, times).values(), strict=True))

    assert all(missed(found) < missed(found + off) for off in (-1e-3, 1e-3))


def test_perfect_and_useless_ranks():
    perfect, useless = Scaling({1: 1.0, 2: 0.5, 4: 0.25}), Scaling({1: 1.0, 2: 1.0, 4: 1.0})
    assert perfect.strong == {1: 1, 2: 1, 4: 1} and perfect.serial == 0 and perfect.most == float("inf")
    assert useless.serial == pytest.approx(1) and useless.weak == {1: 1, 2: 1, 4: 1}


@pytest.mark.parametrize("seconds", [{}, {1: 1.0}, {2: 1.0, 4: 0.5}, {1: 0.0, 2: 1.0}, {1: 1.0, 2.5: 1.0}])
def test_what_cannot_be_compared_is_refused(seconds):
    with pytest.raises(ValueError, match="got"):
        Scaling(seconds)
