"""The checkers of the chapter accept the solutions and refuse every seeded wrong answer, with the reason."""

import math
import re

import pytest
from solutions import refused

from helpers.exercises.too_big import FORGOTTEN, MOMENTS, cache, forgot, gpus, saved


def right_gpus(nparams, capacity):
    return math.ceil(16 * nparams / capacity)


def right_saved(m):
    def peak(kept):
        return max(m.states + kept + m.loss, m.states + m.gradients + m.update)

    return peak(m.kept) - peak(m.recomputed)


def right_cache(model, batch, seq):
    seq = min(seq, model.window or seq)
    if model.latent:
        return 2 * batch * seq * model.layers * (model.latent.rank + model.latent.rope)
    return 2 * 2 * batch * seq * model.layers * model.kv_heads * model.head_dim


def test_the_right_answers_pass():
    for answer in (gpus(right_gpus), saved(right_saved), cache(right_cache), forgot(FORGOTTEN)):
        assert answer.passed, answer.message


@pytest.mark.parametrize(
    "wrong",
    [
        lambda p, c: 12 * p // c + 1,
        lambda p, c: 16 * p // c,
        lambda p, c: 16 * p // c + 1,
        lambda p, c: round(16 * p / c),
        lambda p, c: math.ceil(18 * p / c),
        lambda p, c: None,
    ],
)
def test_a_wrong_number_of_gpus_is_refused(wrong):
    found = gpus(wrong)
    assert not found.passed and re.search(r"\b(1 GPU|\d+ GPUs) of 80 GiB", found.message)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: m.kept - m.recomputed,
        lambda m: m.kept,
        lambda m: 0,
        lambda m: max(0, m.kept + m.loss - m.gradients - m.update),
        lambda m: m.kept + m.loss - max(m.recomputed, m.gradients),
    ],
)
def test_a_wrong_saving_is_refused(wrong):
    refused(saved(wrong), "the peak falls from")


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda m, b, s: right_cache(m, b, s) // 2, "keys and values"),
        (lambda m, b, s: right_cache(m, 1, s), "keys and values"),
        (lambda m, b, s: 4 * b * s * m.layers * m.hidden, "KV heads only"),
        (lambda m, b, s: 4 * b * s * m.layers * m.kv_hidden if m.window else right_cache(m, b, s), "looks back 4,096"),
        (lambda m, b, s: 4 * b * s * m.layers * m.kv_hidden if m.latent else right_cache(m, b, s), "one latent vector"),
    ],
)
def test_a_wrong_cache_is_refused(wrong, hint):
    refused(cache(wrong), hint)


def test_each_symptom_must_be_named():
    for symptom in FORGOTTEN:
        for wrong in ({}, FORGOTTEN | {symptom: "offload"}):
            assert not forgot(wrong).passed
    assert "offload" in forgot(FORGOTTEN | {next(iter(FORGOTTEN)): "offload"}).message


def test_the_peak_moves_in_some_cases_and_stays_in_others():
    assert {m.saved == 0 for m in MOMENTS} == {True, False}
    assert any(0 < m.saved < m.kept - m.recomputed for m in MOMENTS)
