"""What the widgets `occupancy` and `warp` compute in JavaScript is what Python computes, sentences and links included."""

from __future__ import annotations

import ast
import random

import pytest

from helpers.memory.occupancy import curve
from helpers.memory.warps import bank_conflicts, coalesce, diverge, pattern, strided
from helpers.view.occupancy.widget import NVIDIA, OccupancySpec, found, gpus, occupancy_sentence, occupancy_spec
from helpers.view.warp.widget import (
    BRANCHES,
    LENGTHS,
    OFFSETS,
    SIZES,
    STRIDES,
    VIEWS,
    WarpSpec,
    counts,
    lengths,
    warp_sentence,
    warp_spec,
)

CASES = 1200


def some_sm(rng: random.Random) -> OccupancySpec:
    gpu = rng.choice(list(NVIDIA))
    most = int(NVIDIA[gpu].shared_block.quantity)
    threads = rng.choice((rng.randint(1, 1024), 32 * rng.randint(1, 32)))
    shared = rng.choice((0, most, rng.randint(0, most), 1024 * rng.randint(0, most // 1024)))
    return occupancy_spec(gpu, threads, rng.choice((0, 32, 255, rng.randint(1, 255))), shared)


def some_warp(rng: random.Random) -> WarpSpec:
    ranges = (VIEWS, BRANCHES, LENGTHS, LENGTHS, STRIDES, OFFSETS, SIZES)
    return warp_spec(*(rng.choice(list(values)) for values in ranges))


@pytest.fixture(scope="module")
def cases() -> dict:
    rng = random.Random(12)
    return {
        "gpus": gpus(),
        "specs": [some_sm(rng) for _ in range(CASES)],
        "warps": [some_warp(rng) for _ in range(CASES)],
    }


@pytest.fixture(scope="module")
def played(cases, play) -> dict:
    """One node process computes everything."""
    return play("sm", cases)


def test_there_are_enough_cases(cases):
    assert len(cases["specs"]) >= 1000 and len(cases["warps"]) >= 1000
    assert {spec.gpu for spec in cases["specs"]} == set(NVIDIA)
    assert {spec.branch for spec in cases["warps"]} == set(BRANCHES)
    assert any(found(spec).blocks == 0 for spec in cases["specs"])


def test_every_sm_is_filled_the_same(cases, played):
    for spec, got in zip(cases["specs"], played["specs"], strict=True):
        want = found(spec)
        assert (got["blocks"], got["warps"], got["limits"]) == (want.blocks, want.warps, want.limits), spec
        assert got["limiters"] == list(want.limiters)
        assert got["sentence"] == occupancy_sentence(spec)


def test_every_curve_is_the_same(cases, played):
    for spec, got in zip(cases["specs"], played["curves"], strict=False):
        assert got == [warps for _, warps in curve(NVIDIA[spec.gpu], spec.registers, spec.shared)]


def test_every_warp_is_counted_the_same(cases, played):
    for spec, got in zip(cases["warps"], played["warps"], strict=True):
        access = coalesce(strided(spec.stride, spec.offset, spec.nbytes), spec.nbytes)
        assert got["counts"] == counts(spec), spec
        assert (tuple(got["sectors"]), tuple(got["lines"])) == (access.sectors, access.lines)
        assert tuple(map(tuple, got["words"])) == bank_conflicts(strided(spec.stride)).words
        assert got["sentence"] == warp_sentence(spec)
        if spec.view == "branch":
            issued = diverge(pattern(spec.branch), lengths(spec)).issued
            assert got["issued"] == [[branch, list(lanes)] for branch, lanes in issued]


def test_a_link_brings_the_state_back_and_python_the_widget(cases, played):
    for kind, field in (("specs", "fits"), ("warps", "drawable")):
        for spec, got in zip(cases[kind], played[kind], strict=True):
            assert (got["linked"], got[field]) == (spec.as_json(), True)
            call = ast.parse(got["python"]).body[-1].value
            options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
            assert options.items() <= spec.as_json().items()
            assert call.args[0].value == (spec.gpu if kind == "specs" else spec.view)
