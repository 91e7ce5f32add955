"""The memory widget in Python: what it takes, what a notebook keeps of it, and the events of a run under way."""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import replace
from html import unescape
from itertools import pairwise

import pytest
from kernel_harness import Kernel
from memory_traces import some_trace, step_trace

from helpers.memory import Event, Sample, Trace, pack
from helpers.view import memory
from helpers.view.memory.feed import EVERY, Feed, Sender
from helpers.view.memory.spec import LARGEST, page_html, trace_set
from helpers.view.shared.recorded import names, recorded_set, traces_of

LIMIT = 10.0  # seconds: a guard against hangs


def spec_of(html: str) -> dict:
    return json.loads(unescape(html.partition('data-spec="')[2].partition('"')[0]))


def test_a_small_trace_travels_whole():
    trace = step_trace(3, 3)
    shown = memory(trace, limit=64 * 2**20, at=5)
    spec = spec_of(shown.html())
    assert traces_of(spec["trace"]) == [trace] == shown.traces
    assert (spec["limit"], spec["at"], spec["show"]) == (64 * 2**20, 5, "")
    assert (
        str(shown)
        == "Memory(tracked (CPU tensors): 3 made-up layers; 39.50 MiB at the peak, in step, layers.2, event 83 of 166)"
    )
    assert shown.html() == memory(trace, limit=64 * 2**20, at=5).html()


def test_a_large_one_of_this_session_is_saved_as_its_table():
    trace = step_trace(20, 60)
    assert len(json.dumps(pack(trace))) > LARGEST
    html = memory(trace).html()
    assert "bim-mount" not in html
    assert "<td>after forward 1</td>" in html and "at the peak" in html


@pytest.mark.parametrize("name", [name for name in names() if "70b" not in name])
def test_a_recorded_one_is_saved_by_its_name(name):
    shown = memory(name)
    assert "trace" not in spec_of(shown.html())
    assert spec_of(shown.html())["show"] == name
    assert len(shown.html()) < 6000
    assert shown.traces == traces_of(recorded_set(name))


def test_a_run_that_is_recorded_is_saved_as_the_record():
    """A lab shows its own run; the notebook keeps the recorded one, so that it is the same on every machine."""
    own = step_trace(2, 2)
    shown = memory(own, recorded="article-cpu")
    assert shown.traces == [own]
    assert shown.html() == memory("article-cpu").html()
    assert shown.sentence() == memory("article-cpu").sentence()
    assert memory(live=True, recorded="article-cpu").html() == memory("article-cpu").html()


def test_several_ranks_and_a_choice():
    ranks = [step_trace(2, 2, unit=2**20 * (rank + 1)) for rank in range(3)]
    shown = memory(ranks, rank=2, axis="seconds")
    assert shown.sentence().startswith("3 ranks, rank 2 the fullest; ")
    assert "<td>rank 2</td>" in shown.html()
    choice = memory(["llama-2-7b", "article-cpu"])
    assert spec_of(choice.html())["names"] == ["llama-2-7b", "article-cpu"]
    choice.spec = {**choice.spec, "show": "article-cpu"}  # the reader chooses
    assert choice.traces == traces_of(recorded_set("article-cpu")) and "against" not in choice.trace
    choice.spec = {**choice.spec, "against": "llama-2-7b"}
    assert (choice.trace["name"], choice.trace["against"]["name"]) == ("article-cpu", "llama-2-7b")
    choice.spec = {**choice.spec, "show": "nothing"}
    assert "no recorded trace 'nothing'" in choice.trace["error"]


def test_what_is_reserved_is_a_line_of_its_changes():
    trace = step_trace(1, 1)
    reserved = [2**21 * (1 + (i > 5)) for i in range(len(trace))]
    assert memory(trace, reserved=reserved).traces[0].samples == (
        (0, int(trace.total[0]), 2**21),
        (6, int(trace.total[6]), 2**22),
    )
    with pytest.raises(ValueError, match="reserved has bytes for each of"):
        memory(trace, reserved=reserved[1:])
    with pytest.raises(ValueError, match="goes with one trace of this session"):
        memory("article-cpu", reserved=reserved)


def test_the_page_holds_names():
    assert spec_of(page_html(["article-cpu", "llama-2-70b"], limit=80 * 2**30))["names"] == [
        "article-cpu",
        "llama-2-70b",
    ]


@pytest.mark.parametrize(
    ("what", "options", "told"),
    [
        ("llama-9", {}, "no recorded trace 'llama-9'; there are: .*article-cpu"),
        (None, {}, "memory shows a Trace"),
        ([], {}, "memory shows a Trace"),
        ([7], {}, "a list of them, or a recorded one by name, got 7"),
        (Trace((), "predicted (meta)"), {}, "a trace without events"),
        ("article-cpu", {"limit": 0}, "limit is the device's memory in bytes, got 0"),
        ("article-cpu", {"limit": "80 GiB"}, "limit is the device's memory in bytes, got '80 GiB'"),
        ("article-cpu", {"at": 10**6}, "at must be an event in 0..1854, got 1000000"),
        ("article-cpu", {"at": -1}, "at is a number from 0, got -1"),
        ("article-cpu", {"rank": 1}, r"rank must lie in 0\.\.0, got 1"),
        ("article-cpu", {"axis": "hours"}, "axis must be one of events, seconds, got 'hours'"),
        ("article-cpu", {"recorded": "gone"}, "no recorded trace 'gone'"),
        ("article-cpu", {"live": True}, "a live widget is fed, not given a trace"),
    ],
)
def test_what_cannot_be_shown_is_refused(what, options, told):
    with pytest.raises(ValueError, match=told):
        memory(what, **options)


def test_a_trace_that_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match="allocated twice"):
        memory(Trace((Event("alloc", 0, 1, "input"), Event("alloc", 0, 1, "input")), "predicted (meta)"))


def until(true):
    end = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def flushers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "memory-flush"]


def test_events_leave_in_batches_of_fifty_milliseconds_and_no_thread_stays():
    batches: list[tuple[float, dict]] = []
    sender = Sender(lambda message: batches.append((time.monotonic(), message)))
    began = time.monotonic()
    while time.monotonic() - began < 8 * EVERY:
        sender.take(Event("mark", -1, 0, "temporary", op="x"), 0)
        time.sleep(0.001)
    until(lambda: not flushers())
    total = len(sender.feeds[0].events)
    seen = max(message["from"] + len(message["events"]) for _, message in batches)
    assert seen == total
    assert 2 <= len(batches) <= 9  # at most one in EVERY, however many events
    assert all(later - earlier >= 0.8 * EVERY for (earlier, _), (later, _) in pairwise(batches))


def test_a_late_view_has_everything_again_at_every_doubling():
    feed, whole = Feed(0), []
    for number in range(1000):
        feed.take(Event("mark", -1, 0, "temporary", op=f"{number % 7}"))
        message = feed.batch()
        if message["from"] == 0 and number:
            assert len(message["events"]) == number + 1 and message["named"] == 0
            whole.append(number + 1)
    assert whole == [64, 128, 256, 512]


def test_feeding_from_many_threads_loses_nothing():
    rng = random.Random(1)
    traces = [some_trace(rng, 300) for _ in range(4)]
    got: list[dict] = []
    sender = Sender(got.append)
    threads = [
        threading.Thread(target=lambda rank=rank, trace=trace: [sender.take(e, rank) for e in trace.events])
        for rank, trace in enumerate(traces)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sender.flush()
    until(lambda: not flushers())
    for rank, trace in enumerate(traces):
        assert sender.feeds[rank].events == list(trace.events)
        rows = {m["from"] + i: row for m in got if m["rank"] == rank for i, row in enumerate(m["events"])}
        assert sorted(rows) == list(range(len(trace)))


def test_done_sends_what_waits_and_keeps_the_trackers_trace():
    trace, shown = step_trace(2, 2), memory(live=True)
    told = []
    shown._tell = told.append
    shown._sender._send = told.append
    for event in trace.events:
        shown.feed(event)
    shown.done(trace)
    assert told[-1] == {"over": True}
    assert told[-2]["from"] + len(told[-2]["events"]) == len(trace)
    assert shown.traces[0].events == trace.events
    until(lambda: not flushers())


def test_a_live_widget_has_the_prediction_beside_it():
    """And keeps it when the run is over; the saved notebook has the line that says what stood there."""
    told, seen = replace(step_trace(2, 2), source="predicted (meta)"), step_trace(2, 3)
    shown = memory(live=True, beside=told)
    assert shown.trace == {"against": {**trace_set([told]), "name": "predicted"}}
    assert shown.traces == [] and shown.html() == memory(live=True).html()
    shown.feed([*seen.events[:9], Sample(8, 1024, 2**21)])
    assert shown.traces[0].samples == (Sample(8, 1024, 2**21),)
    shown.done(seen)
    assert shown.traces[0].events == seen.events and shown.trace["against"]["name"] == "predicted"
    assert memory(told, beside=seen).trace["against"]["name"] == seen.about["label"]


def test_only_events_are_fed():
    with pytest.raises(TypeError, match=r"fed events and samples of helpers\.memory, got 7"):
        memory(live=True).feed([7])


CELL = """
import threading
from helpers.memory import Event
from helpers.ranks import Ranks, emit
from helpers.view import memory
from helpers.view.shared.recorded import recorded_set, traces_of
m = memory(live=True)
ranks = Ranks(2, backend="gloo", timeout=60)
def step():
    for number in range(300):
        emit(Event("alloc", number, 512, "activation", "layer", "forward", "aten::mm", number / 1e3))
ranks.run(step, on_emit=m.on_emit)
m.done()
ranks.close()
print([len(t) for t in m.traces], [t.name for t in threading.enumerate() if t.name == "memory-flush"], m.traces[1].peak.nbytes)
"""


def test_events_of_real_ranks_reach_the_front_end_of_a_real_kernel(monkeypatch):
    kernel, got = Kernel(), []
    hear = kernel.hear

    def heard() -> dict:
        message = hear()
        if message["msg_type"] == "comm_msg" and message["content"]["data"]["method"] == "custom":
            got.append(message["content"]["data"]["content"])
        return message

    monkeypatch.setattr(kernel, "hear", heard)
    try:
        assert kernel.run(CELL).strip().splitlines()[-1] == "[300, 300] [] 153600"
    finally:
        kernel.close()
    for rank in range(2):
        seen = {m["from"] + i for m in got if m.get("rank") == rank for i in range(len(m["events"]))}
        assert seen == set(range(300))
    assert got[-1] == {"over": True}
