"""Ranks of trainings are forked from a process that has imported what each of them would import for seconds."""

import sys

import pytest

import helpers.parallel  # noqa: F401  says what is to be imported
from helpers.ranks.machine import server


def loaded():
    return "torch._dynamo" in sys.modules


def test_a_rank_has_the_compiler_before_its_first_optimizer(ranks):
    if server.context().get_start_method() != "forkserver":
        pytest.skip("ranks are spawned here, and import for themselves")
    assert ranks.run(loaded) == [True] * 4


def test_it_is_asked_for_once_and_comes_before_what_freezes(monkeypatch):
    monkeypatch.setattr(server, "PRELOAD", ["ours"])
    server.also("theirs")
    server.also("theirs")
    assert server.PRELOAD == ["theirs", "ours"]
