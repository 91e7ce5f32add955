"""Strategies by the clock: what is timed trains as what is watched, rows follow from their seconds, recorded tables are whole."""

from __future__ import annotations

import itertools
import time

import pytest
import torch
from counting_flops import counted_flops
from lanes import some

from helpers.ledger.flops import flops
from helpers.parallel import Training, Transformer, strategy
from helpers.parallel.model import shape_of
from helpers.parallel.overlapping import WAYS, Step, predicted
from helpers.parallel.overlapping.lanes import Event
from helpers.parallel.scaling import CLOCKED, clocked, emulated
from helpers.parallel.scaling.__main__ import main
from helpers.parallel.scaling.clocked import SIDE, TRAINING, peak_of_one, runnable, seconds_of_steps, told
from helpers.parallel.scaling.emulated import BUCKET, KINDS, LINK, alone, layers_of
from helpers.parallel.strategy import unwatched
from helpers.parallel.table import STRATEGIES
from helpers.ranks.recorded import load

SMALL = Training(Transformer(layers=2, kv_heads=4), batch=8, steps=2, optimizer="adamw")


def unwatched_losses(name):
    with unwatched() as times:
        got = STRATEGIES[name].train(SMALL)
    return got.losses, len(times), got.held


@pytest.mark.parametrize(
    "name", some(CLOCKED, ["data, overlapped", "mesh, DP x TP"], "every strategy by the clock as it is watched")
)
def test_what_is_timed_trains_as_what_is_watched(ranks, name):
    watched = ranks.run(lambda: STRATEGIES[name].train(SMALL).losses)
    for (losses, blocks, held), want in zip(ranks.run(unwatched_losses, name), watched, strict=True):
        assert losses == want and blocks == 1 and held == {}


def test_a_row_is_the_least_step_of_its_longest_rank(ranks):
    asked = []

    def call(fn, *args):
        asked.append((fn, args))
        return [[0.5, 2.0, 1.0], [3.0, 1.0, 1.5], [0.1, 0.1, 0.1], [0.1, 0.1, 0.1]]

    row = clocked("data, DDP", call, 4, 1e9, SMALL, 3)
    assert asked == [(seconds_of_steps, ("data, DDP", SMALL, 3))] and row.seconds == 1.5
    assert row.tokens_per_second == 8 * SMALL.model.seq / 1.5
    real = clocked("data, DDP", ranks.run, 4, 1e9, SMALL, 2)
    assert real.seconds > 0 and real.mfu == real.hfu == pytest.approx(row.mfu * 1.5 / real.seconds)


def a_clock(seconds):
    """time.perf_counter that goes on by so much at each look."""
    told = itertools.count(0.0, seconds)
    return lambda: next(told)


def test_a_step_is_its_share_of_the_block_and_the_peak_counts_a_product_and_a_sum(monkeypatch):
    monkeypatch.setattr(torch.distributed, "barrier", lambda: None)
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    monkeypatch.setitem(STRATEGIES, "played", Played())
    monkeypatch.setattr(time, "perf_counter", a_clock(3.0))
    assert seconds_of_steps("played", SMALL.but(steps=4), 2) == [0.75, 0.75]
    monkeypatch.setattr(time, "perf_counter", a_clock(0.5))
    assert peak_of_one(2) == 2 * SIDE**3 / 0.5


class Played:
    """A strategy whose steps do nothing."""

    def train(self, training):
        with strategy.watched(None, {}):
            pass


def test_mfu_is_counted_flops_over_seconds_to_one_per_cent():
    """The issue's line: not to one per cent, exactly; also where blocks are computed again."""
    training = SMALL.but(dtype=torch.float32)
    for name, checkpoint in (("data, DDP", "none"), ("tensor, transformer, checkpointed", "full")):
        row = told(name, 4, 0.25, 3e9, training)
        model, hardware = (counted_flops(training, "math", again)[0] for again in ("none", checkpoint))
        assert row.mfu == pytest.approx(model / (0.25 * 4 * 3e9), rel=1e-12)
        assert row.hfu == pytest.approx(hardware / (0.25 * 4 * 3e9), rel=1e-12)


def test_what_cannot_run_is_told_before():
    assert [name for name, why in runnable(4).items() if why] == []
    assert "are 4 ranks, and there are 2" in runnable(2)["mesh, DP x TP"]
    with pytest.raises(ValueError, match="a strategy by the clock is one of"):
        clocked("data, parameter server", None, 4, 1e9)
    with pytest.raises(ValueError, match="strong or weak, got 'fast'"):
        layers_of("fast", 2)
    with pytest.raises(ValueError, match="a way is one of naive"):
        emulated("hopeful", "strong", {})


def as_on_paper(nranks):
    """Runs nothing: every rank's step is as the model has it, so that what is made of it can be seen."""

    def call(fn, way, layers, bucket, reps):
        paper = predicted(way, layers, LINK, nranks, bucket)
        events = [Event(0, "compute", *span, "", 0) for span in paper.computing]
        events += [Event(0, "communication", *span, "", 0) for span in paper.spans]
        return [[[Step(rank, paper.seconds, tuple(events)) for rank in range(nranks)]] * reps]

    return call


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_goes_as_on_paper_has_the_efficiencies_of_paper(way, kind):
    found = emulated(way, kind, {n: as_on_paper(n) for n in (2, 4)})
    assert found.seconds == found.paper and found.seconds[1] == alone()
    assert 0 < found.efficiency == found.efficiency_paper < 1
    assert found.hidden == pytest.approx(found.hidden_paper, abs=1e-9)
    hides = way in ("overlapped", "zero-3, prefetched")
    assert (found.hidden > 0.1) == hides


def test_the_recorded_table_is_what_its_seconds_say(capsys):
    run = load("strategies-time-cpu")
    assert run.label == f"4 ranks on {run.machine['cores']} cores, gloo, CPU"
    there = {(row["name"], row["nranks"]) for row in run.data["clocked"]}
    assert there == {(name, n) for n in (1, 2, 4) for name, why in runnable(n).items() if not why}
    for row in run.data["clocked"]:
        again = told(row["name"], row["nranks"], row["seconds"], run.data["peak"], TRAINING)._asdict()
        assert all(again[key] == pytest.approx(row[key]) for key in ("tokens_per_second", "mfu", "hfu"))
        full = flops(shape_of(TRAINING.model), 1, TRAINING.model.seq, CLOCKED[row["name"]])
        assert row["hfu"] / row["mfu"] == pytest.approx(full.hardware / full.model)
    assert {(one["way"], one["kind"]) for one in run.data["emulated"]} == {
        (way, kind) for way in WAYS for kind in KINDS
    }
    assert main(["--show"]) == 0 and "left out: mesh, DP x TP on 2" in capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_the_recorded_run_went_as_its_paper(kind):
    """Emulated computing, so seconds can be held against the model: a quarter at most, and the ways in the model's order."""
    found = [one for one in load("strategies-time-cpu").data["emulated"] if one["kind"] == kind]
    for one in found:
        paper = predicted(one["way"], layers_of(kind, 4), LINK, 4, BUCKET).seconds
        assert one["paper"]["4"] == pytest.approx(paper)
        assert paper <= one["seconds"]["4"] < 1.25 * paper, one["way"]
