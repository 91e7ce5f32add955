"""ZeRO, DDP and FSDP2 on real Gloo ranks, watched: the states are the closed form's to the byte, the transients have a name."""

from __future__ import annotations

import itertools
import json

import pytest
import torch
from lanes import some
from torch import nn

from helpers.measure import article_model
from helpers.measure.profiling import record
from helpers.memory import CLASSES, unpack
from helpers.memory.closed_form import states
from helpers.parallel.zero import Paper
from helpers.parallel.zero.recorded import NRANKS, SIZE
from helpers.parallel.zero.watched import WAYS, watched
from helpers.ranks import Ranks

STATES = ("parameter", "gradient", "optimizer")
WIDTHS = (16, 31, 16)
LAYERS = 3
ROWS = 6


def build() -> nn.Module:
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(16, 31), nn.ReLU(), nn.Linear(31, 16)) for _ in range(LAYERS)]
    return nn.Sequential(*blocks)


def loss(model, x):
    return model(x).pow(2).mean()


def watch(way):
    torch.set_num_threads(1)
    return watched(way, build, torch.ones(ROWS, WIDTHS[0]), loss)


@pytest.fixture(scope="module", params=some([2, 4], [2], "more ranks; four are recorded"))
def traces(request):
    """(ranks, way -> the trace of every rank)."""
    with Ranks(request.param, backend="gloo", timeout=120) as ranks:
        yield request.param, {way: ranks.run(watch, way) for way in WAYS}


def kept(held: dict[str, int]) -> dict[str, int]:
    return {cls: held[cls] for cls in STATES}


def unit() -> int:
    """Parameters of one block."""
    return sum(a * b + b for a, b in itertools.pairwise(WIDTHS))


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_the_states_of_every_rank_are_the_closed_forms(traces, stage):
    nranks, by_way = traces
    want = states([unit()] * LAYERS, "fp32", zero=stage, nranks=nranks)
    for trace in by_way[f"zero-{stage}"]:
        for mark in ("after backward", "after step"):
            assert kept(trace.at(mark)) == {cls: want.nbytes[cls] for cls in STATES}


def test_ddp_keeps_everything_and_the_buckets_keep_the_gradients_again(traces):
    want = states(LAYERS * unit(), "fp32").nbytes
    steps = 4 * 4 * LAYERS  # torch's AdamW counts its steps in a number of 4 bytes for each tensor
    for trace in traces[1]["ddp"]:
        held = trace.at("after step")
        assert kept(held) == {**{cls: want[cls] for cls in STATES}, "optimizer": want["optimizer"] + steps}
        assert held["communication"] == want["gradient"]


def test_torchs_sharded_optimizer_shares_out_whole_parameters(traces):
    """All ranks together hold Adam's state once; how evenly is up to the parameters' sizes."""
    held = [trace.at("after step") for trace in traces[1]["ddp-zero"]]
    assert {(one["parameter"], one["gradient"]) for one in held} == {(4 * LAYERS * unit(), 4 * LAYERS * unit())}
    assert sum(one["optimizer"] for one in held) == 8 * LAYERS * unit() + 4 * 4 * LAYERS
    assert max(one["optimizer"] for one in held) < 8 * LAYERS * unit()


@pytest.mark.parametrize("way", ["fsdp2", "fsdp2-keep"])
def test_fsdp2_shares_out_rows_of_every_parameter(traces, way):
    nranks, by_way = traces
    params = [(-(-p.shape[0] // nranks), p.shape[0], p[0].numel()) for p in build().parameters()]
    want = states([rows * nranks * wide for rows, _, wide in params], "fp32", zero=3, nranks=nranks).nbytes
    for rank, trace in enumerate(by_way[way]):
        held = trace.at("after step")
        assert {cls: held[cls] for cls in STATES[:2]} == {cls: want[cls] for cls in STATES[:2]}
        mine = sum(max(0, min(rows, there - rank * rows)) * wide for rows, there, wide in params)
        assert held["optimizer"] == 8 * mine + 4 * len(params), "Adam's state is not padded; a step count each"


def test_what_is_gathered_shows_as_communication(traces):
    """Between its steps a rank holds none of it; within, stage 3 holds one whole block, and the way that keeps holds all."""
    nranks, by_way = traces
    whole = -(-unit() // nranks) * nranks * 4
    most = {way: by_way[way][0].by_class[:, CLASSES.index("communication")].max() for way in WAYS}
    assert most["zero-1"] == 0
    assert most["zero-2"] == whole + whole // nranks  # a block's gradients, and the share of them that comes back
    assert most["zero-3"] == 2 * whole  # the gathered block, and its gradients before they are scattered
    assert by_way["fsdp2-keep"][0].at("after forward")["communication"] >= LAYERS * unit() * 4
    for way in WAYS[2:]:
        assert all(trace.at("end")["communication"] == 0 for trace in by_way[way])


def test_every_stage_peaks_lower(traces):
    peaks = [max(trace.peak.nbytes for trace in traces[1][way]) for way in ("ddp", "zero-1", "zero-2", "zero-3")]
    assert peaks == sorted(peaks, reverse=True) and len(set(peaks)) == 4


def test_all_ranks_hold_the_same(traces):
    """But: FSDP2's last rank may have fewer rows, and DDP's threads give back a few bytes of bookkeeping when they like."""
    for way, by_rank in traces[1].items():
        peaks = {trace.peak.nbytes for trace in by_rank}
        if way in ("ddp", "zero-1", "zero-2", "zero-3"):
            assert max(peaks) - min(peaks) < 64 * (way == "ddp") + 1
        assert [trace.about["rank"] for trace in by_rank] == list(range(len(by_rank)))


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_a_predicted_rank_has_the_events_of_a_real_one(traces, stage):
    """On the meta device, in this process: the same sizes and classes in the same order, and so the same peak."""
    nranks, by_way = traces
    predicted = watched(f"zero-{stage}", on_meta, torch.ones(ROWS, 16, device="meta"), loss, group=Paper(nranks, 1))
    real = by_way[f"zero-{stage}"][1]
    assert predicted.peak.nbytes == real.peak.nbytes and predicted.peak.by_class == real.peak.by_class
    assert [told(e) for e in predicted.events] == [told(e) for e in real.events]


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_the_recorded_ranks_hold_the_formulas_bytes(stage):
    """What pages replay; four ranks on one clock."""
    held = json.loads((record.FOLDER / f"zero-{stage}.json").read_text())["data"]["ranks"]
    traces = [unpack(one) for one in held]
    layers = article_model(**SIZE).layers
    units = [sum(p.numel() for p in layer.parameters()) for layer in layers]
    want = states(units, "fp32", zero=stage, nranks=NRANKS).nbytes
    assert [kept(trace.at("after step")) for trace in traces] == [{cls: want[cls] for cls in STATES}] * NRANKS
    assert all(trace.events[-1].seconds > 0 for trace in traces)


def on_meta() -> nn.Module:
    return build().to("meta")


def told(event) -> tuple:
    return event.kind, event.nbytes, event.cls, event.phase, event.module


def test_another_way_is_refused():
    with pytest.raises(ValueError, match="torch's own ddp needs real ranks"):
        watched("ddp", build, torch.ones(1, 16), loss, group=Paper(2))
    with pytest.raises(ValueError, match=r"a way to share out is one of ddp, .*, got 'zero-4'"):
        watched("zero-4", build, torch.ones(1, 16), loss)
