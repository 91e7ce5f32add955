"""Bad input: a clear error that names the value and what was expected, and nothing was started."""

from __future__ import annotations

import pytest

from helpers.ranks import Ranks, world
from helpers.ranks.machine import devices
from helpers.ranks.pool import launch


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch):
    def refuse(*args):
        raise AssertionError("a process was started")

    monkeypatch.setattr(launch.Team, "_start", refuse)


@pytest.mark.parametrize("n", [0, -1, 65, 10**9])
def test_a_number_of_ranks_out_of_range(n):
    for make in (Ranks, world):
        with pytest.raises(ValueError, match=rf"lies in 1..64, got {n}"):
            make(n)


@pytest.mark.parametrize("n", [2.0, "4", True, [4]])
def test_a_number_of_ranks_that_is_no_number(n):
    for make in (Ranks, world):
        with pytest.raises(TypeError, match="whole number, got"):
            make(n)


def test_more_ranks_than_memory(monkeypatch):
    monkeypatch.setattr(devices, "free_nbytes", lambda: 600_000_000)
    with pytest.raises(
        ValueError, match=r"3 ranks want 750 MB of free memory \(250 MB each\), 600 MB are free: at most 2 fit"
    ):
        Ranks(3, backend="gloo")
    monkeypatch.setattr(devices, "free_nbytes", lambda: 750_000_000)
    devices.check_memory(3)


@pytest.mark.parametrize(
    "options, said",
    [
        ({"backend": "mpi"}, 'backend must be "nccl", "gloo" or None .* got \'mpi\''),
        ({"timeout": 0}, "timeout is a number of seconds > 0 and at most 1000000, got 0"),
        ({"timeout": "long"}, "timeout is a number of seconds > 0 .* got 'long'"),
        ({"timeout": float("inf")}, "timeout is a number of seconds > 0 .* got inf"),
        ({"timeout": float("nan")}, "timeout is a number of seconds > 0 .* got nan"),
        ({"env": {"A": 1}}, "env maps names to strings, got 'A': 1"),
        ({"env": ["A=1"]}, r"env maps names to strings, got \['A=1'\]"),
        ({"env": {"A=B": "1"}}, "env: a name is not empty and has no '='.* got 'A=B': '1'"),
        ({"env": {"": "1"}}, "env: a name is not empty .* got '': '1'"),
        ({"env": {"A": "1\0"}}, "nothing has a null character, got 'A': "),
    ],
)
def test_options(options, said):
    with pytest.raises((ValueError, TypeError), match=said):
        Ranks(2, **({"backend": "gloo"} | options))
