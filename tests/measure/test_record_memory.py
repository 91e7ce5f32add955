"""Recorded traces: what a machine without the memory predicts again is what is recorded, event by event; names are checked."""

import json

import pytest

from helpers.measure.profiling import record
from helpers.memory import Event, Trace, unpack

PREDICTED = [name for name in record.TRACES if name != "article-cpu"]


def recorded(name: str) -> dict:
    return json.loads((record.FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PREDICTED)
def test_a_prediction_is_predicted_again(name):
    held = unpack(recorded(name)["data"]["ranks"][0])
    again = record.TRACES[name]()
    assert held.source == "predicted (meta)"
    differing = [i for i, (a, b) in enumerate(zip(held.events, again.events, strict=False)) if a != b]
    assert (len(held), differing[:1]) == (len(again), []), f"python -m helpers.measure record {name}"


def test_what_was_tracked_is_what_meta_predicts():
    """The CPU's events are meta's but for the clock: 1,855 of 1,855 when this was written."""
    tracked, predicted = (unpack(recorded(name)["data"]["ranks"][0]) for name in ("article-cpu", "article-meta"))
    assert tracked.source == "tracked (CPU tensors)"
    assert tracked.events[-1].seconds > 0
    assert [e._replace(seconds=0.0) for e in tracked.events] == list(predicted.events)


@pytest.mark.parametrize("name", record.TRACES)
def test_what_a_page_cites_is_what_the_events_say(name):
    run = recorded(name)
    trace, peak = unpack(run["data"]["ranks"][0]), run["data"]["peaks"][0]
    assert (peak["bytes"], peak["event"], peak["gib"]) == (trace.peak.nbytes, trace.peak.index, peak["bytes"] / 2**30)
    assert [(s["name"], s["bytes"]) for s in run["data"]["stages"][0]] == [(told, n) for _, told, n in trace.marks]
    assert run["command"] == f"python -m helpers.measure record {name}"
    assert run["label"] == trace.about["label"]


def test_a_trace_per_rank_is_written(tmp_path):
    traces = [Trace((Event("alloc", 0, 2**20 * (rank + 1), "input"),), "predicted (meta)") for rank in range(2)]
    run = json.loads(record.write_traces("two-ranks", traces, "by hand", tmp_path).read_text(encoding="utf-8"))
    assert [unpack(data) for data in run["data"]["ranks"]] == traces
    assert [peak["mib"] for peak in run["data"]["peaks"]] == [1, 2]


def test_bad_names_and_empty_traces_are_refused(tmp_path, capsys):
    with pytest.raises(ValueError, match="named like"):
        record.write_traces("../x", [Trace((Event("alloc", 0, 1, "input"),), "")], "", tmp_path)
    with pytest.raises(ValueError, match=r"at least one trace, each with events, got \[0\] events"):
        record.write_traces("x", [Trace((), "")], "", tmp_path)
    assert record.main(["llama-9"]) == 2
    assert "no trace 'llama-9'; there are: article-cpu" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
