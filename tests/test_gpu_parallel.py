"""gpu-check's strategies: which run on how many ranks, what is refused, and that one that fails stops no other."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys

import pytest
from fake_cuda import environment

from helpers.parallel.report import Line
from helpers.parallel.table import STRATEGIES
from helpers.ranks import RankError
from tools.gpu import hidden, parallel
from tools.gpu.place import Place

SOUND = Line(0, 1e-16, 1e-10, {"all_reduce": 5}, {"all_reduce": 5}, 40.0, 40.0, 40.0, {"gradient": 8}, {"gradient": 8})
NAMES = ("data, avg", "data, DDP", "sharded, ZeRO-3")


class Played:
    """In the place of ranks: answers for each strategy, by name."""

    label = "2 ranks, played"

    def __init__(self, answers: dict):
        self.answers = answers

    def run(self, fn, one=None, limit=None):
        if one is None:
            return [fn()]
        answer = self.answers.get(one.name, [SOUND])
        if isinstance(answer, Exception):
            raise answer
        return [answer]


@pytest.fixture
def checked(monkeypatch):
    """The check of three strategies on ranks that answer as told."""

    def check(answers: dict) -> dict:
        few = {name: STRATEGIES[name] for name in NAMES}
        monkeypatch.setattr(parallel, "STRATEGIES", few)
        monkeypatch.setattr(Place, "new", lambda *_, **__: contextlib.nullcontext(Played(answers)))
        return parallel.strategies(Place("gloo", 2, 0))

    return check


def test_what_is_as_predicted_passes_and_is_recorded(checked):
    found = checked({})
    assert (found["as predicted"], found["left out"]) == (3, 0)
    told = found["record"]["parallel"]["strategies"]
    assert list(told) == list(NAMES)
    assert told["data, avg"] == {
        "nranks": 2,
        "label": "2 ranks, played",
        "wrong": [],
        "difference": 1e-16,
        "calls": [{"all_reduce": 5}],
        "sent": [40.0],
        "held": [{"gradient": 8}],
    }


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([SOUND._replace(calls={"all_reduce": 6})], "data, avg, rank 0: calls: {'all_reduce': 6}, predicted"),
        ([SOUND, SOUND._replace(rank=1, sent=41.0)], "data, avg, rank 1: bytes: 41.0, predicted 40.0"),
        ([SOUND._replace(difference=float("nan"))], "data, avg, rank 0: nan from single-process training"),
        (RankError("rank 1 raised TypeError: no\nrank 0: finished", [], []), "data, avg: rank 1 raised TypeError: no"),
    ],
    ids=["calls", "bytes", "not a number", "an error"],
)
def test_what_is_not_as_predicted_is_refused_and_the_rest_still_runs(checked, answer, said):
    with pytest.raises(AssertionError) as error:
        checked({"data, avg": answer, "sharded, ZeRO-3": [SOUND._replace(held={})]})
    assert said in str(error.value)
    assert "sharded, ZeRO-3, rank 0: memory: {}, predicted {'gradient': 8}" in str(error.value)
    assert "DDP" not in str(error.value)


TWO_AXES = {f"mesh, {name}" for name in ("DP x TP", "TP x PP", "TP x PP, sequence", "ZeRO-3 x TP", "FSDP2 x DTensor")}
TWO_AXES |= {f"mesh, {name}, checkpointed" for name in ("ZeRO-3 x TP", "FSDP2 x DTensor")}


@pytest.mark.parametrize(
    ("place", "ranks", "left_out"),
    [
        (Place("nccl", 2, 1), {4}, set()),
        (Place("nccl", 2, 2), {2}, TWO_AXES),
        (Place("nccl", 4, 4), {4}, set()),
        (Place("nccl", 8, 8), {4, 8}, set()),
    ],
    ids=["one GPU", "two", "four", "eight"],
)
def test_every_strategy_runs_on_the_ranks_that_fit_it_or_is_left_out_with_a_reason(place, ranks, left_out):
    plan, without = parallel.planned(place)
    assert set(plan) == ranks and set(without) == left_out and all(without.values())
    names = [one.name for those in plan.values() for one in those]
    assert sorted([*names, *without]) == sorted(STRATEGIES)
    assert all(not parallel.refused(one, nranks) for nranks, those in plan.items() for one in those)


def test_what_is_not_reached_in_time_is_named(checked, monkeypatch):
    monkeypatch.setattr(parallel, "ENOUGH", -1.0)
    with pytest.raises(AssertionError, match="data, avg: not reached in -1 s; data, DDP: not reached"):
        checked({})


def test_batch_norm_that_is_not_torchs_is_refused(monkeypatch):
    answers = [(1e-16, 0.0), (0.0, 1e-3)]
    ranks = type("Ranks", (), {"run": lambda *_: answers})()
    monkeypatch.setattr(Place, "ranks", lambda *_, **__: contextlib.nullcontext(ranks))
    with pytest.raises(AssertionError, match=r"from SyncBatchNorm: 1.0e-16 in forward, 1.0e-03 in backward"):
        parallel.batch_norm(Place("nccl", 2, 2))
    answers[1] = (0.0, 1e-12)
    assert parallel.batch_norm(Place("nccl", 2, 2))["difference"] == "1.0e-12"


def test_a_pipeline_that_waits_longer_than_its_formula_is_refused():
    found = {"1f1b": {"idle": 0.21, "closed form": 0.2}, "gpipe": {"idle": 0.25, "closed form": 0.2}}
    assert list(parallel._far(found)) == ["gpipe: idle 25.0%, by the closed form 20.0%"]


@pytest.mark.matrix("exposed time on played GPUs")
def test_exposed_time_on_played_gpus_is_recorded_beside_the_model(root, tmp_path):
    """Kernels that sleep and a host's all_reduce: the figures are no GPU's, but every line of the check runs."""
    command = [sys.executable, "-m", "tools.gpu_check", "--out", str(tmp_path / "out"), "--only", "parallel: overlap"]
    (tmp_path / "ranks").mkdir()
    env = environment(2, tmp_path / "ranks")
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "out").rglob("gpu-overlap.json")
    told = json.loads(path.read_text())["data"]
    assert [(row["calls"], row["bucket_bytes"] * row["calls"]) for row in told["buckets"]] == [
        (calls, 16 * told["buckets"][0]["layer"]) for calls in (16, 8, 4, 2, 1)
    ]
    for row in told["buckets"]:
        assert row["predicted"] > 0.999 * row["alone"] / row["calls"], "the last bucket is always exposed"
        assert row["exposed"] == pytest.approx(row["seconds"] - row["computed"])


def test_a_step_shorter_than_what_is_in_it_is_refused(monkeypatch):
    answers = [[hidden.Hidden(64, 128, 1.0, 0.5, 1.25)], [hidden.Hidden(64, 128, 1.0, 0.5, 0.8)]]
    ranks = type("Ranks", (), {"run": lambda *_, **__: [answers.pop(0)]})()
    monkeypatch.setattr(Place, "ranks", lambda *_, **__: contextlib.nullcontext(ranks))
    found = hidden.buckets(Place("nccl", 2, 2))
    assert found["least exposed"] == "250.00 ms with 8 buckets"
    assert found["record"]["overlap"]["buckets"][0]["predicted"] == pytest.approx(0.5 / 8)
    with pytest.raises(AssertionError, match="shorter than what is in it"):
        hidden.buckets(Place("nccl", 2, 2))


# What tests/fake_cuda carries, by the beginnings of names; DDP, FSDP2 and DTensor work below Python.
CARRIED = (
    *(f"data, {way}" for way in ("parameter", "sum", "avg", "token", "bucketed", "overlapped")),
    *(f"tensor, {way}" for way in ("gathered", "pairs", "sequence")),
    "sharded, ZeRO",
    "norms",
)


@pytest.mark.matrix("strategies on played GPUs")
def test_on_played_gpus_they_are_as_predicted(root, tmp_path):
    command = [sys.executable, "-m", "helpers.parallel", *CARRIED, "--ranks", "2"]
    env = environment(2, tmp_path)
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("2 ranks, nccl, 2 x NVIDIA Fake")
    rows = [line for line in done.stdout.splitlines() if line.startswith(CARRIED)]
    assert len(rows) == 6 + 3 + 4 + 2
