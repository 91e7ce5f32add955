"""What gpu-check makes of a sweep: how large it is, what it refuses, and under which names its figures stand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from helpers.ranks import Swept
from helpers.ranks.machine import gpus
from helpers.ranks.sweeping.found import Case, SweptRow, Took
from helpers.ranks.sweeping.processes import Compared, OneOrMany, Times
from helpers.ranks.sweeping.settings import Asked
from tools.gpu import scale, sweeps
from tools.gpu.place import Place

RING = Took("Ring", "LL")
TWO = Place("nccl", 2, 2)


def swept(*cases: Case) -> Swept:
    return Swept("all_reduce", 2, "2 ranks", False, cases)


def ran(wrong: int = 0, took: Took | None = RING) -> Case:
    row = SweptRow(Asked("Ring", "LL"), "all_reduce", 2, 1024, None, wrong, took, took and True)
    return Case(row.asked, "ran", rows=(row,))


@pytest.mark.parametrize(
    ("free", "most"),
    [((scale.ROOM, scale.ROOM), 2**26), ((scale.ROOM, scale.ROOM - 1), 2**20), ((scale.ROOM, None), 2**20)],
)
def test_a_sweep_is_as_large_as_the_fullest_gpu_lets_it(monkeypatch, free, most):
    found = gpus.Gpus(tuple(gpus.Gpu("NVIDIA H100", f"GPU-{i}", free=one) for i, one in enumerate(free)))
    monkeypatch.setattr(sweeps, "find_gpus", lambda: found)
    assert sweeps._largest(2**26) == most


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ((ran(wrong=3),), "3 elements are wrong"),
        ((ran(), Case(Asked("Tree"), "failed", "rank 1 is gone")), "Tree/auto: rank 1 is gone"),
        ((Case(Asked("Tree"), "refused", "no algorithm"),), "does not tell what was taken"),
        ((ran(), ran(took=None)), "does not tell what was taken"),
    ],
)
def test_a_sweep_that_is_not_sound_fails_its_check(monkeypatch, cases, said):
    monkeypatch.setattr(sweeps, "sweep", lambda *_, **__: swept(*cases))
    with pytest.raises(AssertionError, match=said):
        sweeps._swept("all_reduce")


def test_what_nccl_refused_is_named(monkeypatch):
    found = swept(ran(), Case(Asked("NVLS"), "refused", "no algorithm"))
    told = {"rows": 1, "nccl": None, "without": "NVLS/auto refused"}
    assert sweeps._told(found, "x") == told | {"record": {"x": found.as_json()}}


def test_two_phases_and_two_ways_to_start_are_told_under_their_names(monkeypatch):
    line = Compared(1024, Times(1.0, 2.0), Times(3.0, 4.0), 0)
    asked = []

    def one_or_many(collective, **told):
        asked.append((collective, told["begin"], told["end"]))
        return OneOrMany(collective, 2, "2 ranks", (line,))

    monkeypatch.setattr(sweeps, "one_or_many", one_or_many)
    monkeypatch.setattr(sweeps, "find_gpus", lambda: SimpleNamespace(usable=()))
    found = sweeps.processes(TWO)
    assert (found["one process, host"], found["a process a GPU, host"]) == (2.0, 4.0)
    assert asked == [("all_reduce", 1024, sweeps.LARGEST)] and found["record"]["processes"]["rows"]
    monkeypatch.setattr(
        sweeps, "one_or_many", lambda *_, **__: OneOrMany("all_reduce", 2, "", (line._replace(wrong=2),))
    )
    with pytest.raises(AssertionError, match="2 elements are wrong"):
        sweeps.processes(TWO)
