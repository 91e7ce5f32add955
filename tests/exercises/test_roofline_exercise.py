"""The checkers of roofline accept what is right and refuse every seeded wrong answer, with the case that shows it."""

import math

import pytest
from solutions import refused, solutions

from helpers.exercises import roofline as exercise


# intensity -----------------------------------------------------------------------------------------------------------
def right_intensity(m, n, k, nbytes, weight_nbytes):
    return 2 * m * n * k / (m * k * nbytes + k * n * weight_nbytes + m * n * nbytes)


def test_the_right_intensity_is_accepted():
    answer = exercise.intensity(right_intensity)
    assert answer.passed and "all 20 products" in str(answer)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda m, n, k, b, w: right_intensity(m, n, k, b, w) / 2, "you said 0.1667 FLOP/B, it is 0.3333"),
        (lambda m, n, k, b, w: 2 * m * n * k / (b * (m * k + k * n + m * n)), "0.5 a weight"),
        (lambda m, n, k, b, w: 2 * m * n * k / (m * k * b + k * n * w), "it is 0.3333"),
        (lambda m, n, k, b, w: right_intensity(m, n, k, 2, w), "4 bytes an element"),
        (lambda m, n, k, b, w: right_intensity(m, n, k, w, b), "0.5 a weight"),
        (lambda m, n, k, b, w: m / 2 if m > 1 else right_intensity(m, n, k, b, w), "For [64, 11008]"),
        (lambda m, n, k, b, w: None, "expected FLOP per byte, got None"),
        (lambda m, n, k, b, w: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_wrong_intensities_are_refused(wrong, said):
    refused(exercise.intensity(wrong), said)


# trips ---------------------------------------------------------------------------------------------------------------
def right_trips(others):
    return sum(others) + 2 * len(others), sum(others) + 2


def test_the_right_count_of_trips_is_accepted():
    assert exercise.trips(right_trips).passed


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda o: (2 * len(o), 2), "With [1] further"),
        (lambda o: (right_trips(o)[0], 2), "it is 3 and 3"),
        (lambda o: (right_trips(o)[0], right_trips(o)[0]), "it is 4 and 2"),
        (lambda o: (right_trips(o)[0], right_trips(o)[0] - len(o)), "you said 2 and 1"),
        (lambda o: (right_trips(o)[0], sum(o) + 1), "you said 2 and 1"),
        (lambda o: right_trips(o)[0], "expected two counts"),
        (lambda o: (0, 0, 0), "expected two counts"),
    ],
)
def test_wrong_trips_are_refused(wrong, said):
    answer = exercise.trips(wrong)
    assert not answer.passed and said.replace("With", "with") in str(answer), answer


# ridge batch ---------------------------------------------------------------------------------------------------------
def right_batch(roof, n, k, weight_nbytes):
    left = 2 * n * k - roof.ridge * 2 * (n + k)
    return math.ceil(roof.ridge * n * k * weight_nbytes / left * (1 - 1e-12)) if left > 0 else None


def test_the_solution_on_the_page_solves_the_exercise():
    assert exercise.ridge_batch(solutions("roofline")["my_batch"]).passed


def test_the_right_batch_is_accepted():
    answer = exercise.ridge_batch(right_batch)
    assert answer.passed and "all 36" in str(answer), answer


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda r, n, k, w: math.ceil(r.ridge), "it is 11"),
        (lambda r, n, k, w: math.ceil(r.ridge * w / 2), "it is 11"),
        (lambda r, n, k, w: right_batch(r, n, k, 2), "1 bytes a weight"),
        (lambda r, n, k, w: right_batch(r, n, k, w) or 10**6, "it is None"),
        (lambda r, n, k, w: None, "you said None, it is 11"),
        (lambda r, n, k, w: (right_batch(r, n, k, w) or 0) + 1, "you said 12"),
        (lambda r, n, k, w: "many", "expected a whole number or None"),
    ],
)
def test_wrong_batches_are_refused(wrong, said):
    refused(exercise.ridge_batch(wrong), said)


# heavy cache ---------------------------------------------------------------------------------------------------------
def right_context(model, batch):
    learned = model.context * model.hidden if model.positions == "learned" else 0
    read = model.nparams - learned - (0 if model.tied else model.vocab * model.hidden)
    return read // (batch * 2 * model.layers * model.kv_hidden) + 1


def test_the_right_context_is_accepted():
    answer = exercise.heavy_cache(right_context)
    assert answer.passed, answer


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda m, b: right_context(m, 1), "with 8 requests at once"),
        (lambda m, b: m.nparams // (b * 2 * m.layers * m.kv_hidden) + 1, "GPT-2 with 1 request"),
        (lambda m, b: right_context(m, b) * m.kv_heads // m.heads, "Llama-3-8B"),
        (lambda m, b: right_context(m, b) * 2, "GPT-2 with 1 request at once"),
        (lambda m, b: None, "expected a number of tokens"),
    ],
)
def test_wrong_contexts_are_refused(wrong, said):
    refused(exercise.heavy_cache(wrong), said)
