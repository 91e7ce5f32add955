"""What the widget `memory` computes in JavaScript is what Python computes: curves, peaks, what is alive, snapshots, live batches."""

from __future__ import annotations

import base64
import pickle
import random
import re
from collections import Counter

import pytest
from memory_traces import some_trace, step_trace
from snapshots import HOSTILE, some_snapshot

from helpers.memory import CLASSES, Event, Sample, Trace, pack
from helpers.memory.snapshot import read
from helpers.view.memory.feed import Feed
from helpers.view.memory.text import amount, moments, unit_for
from helpers.view.shared.recorded import recorded_set, traces_of

CASES = 1200
PROTOCOLS = (2, 3, 4, 5)


@pytest.fixture(scope="module")
def cases() -> list[tuple[Trace, dict]]:
    """Traces, and where to look: an event, a width, a part."""
    rng = random.Random(50)
    traces = [some_trace(rng) for _ in range(CASES)]
    traces += [step_trace(3, 4), traces_of(recorded_set("article-cuda-like"))[0]]
    made = []
    for trace in traces:
        start = rng.randrange(len(trace))
        part = rng.choice([[0, len(trace)], [start, rng.randint(start + 1, len(trace))]])
        about = {"at": rng.randrange(len(trace)), "width": rng.choice([1, 7, 60, 400]), "part": part}
        made.append((trace, {"packed": pack(trace), **about}))
    made[-1][1]["at"] = len(traces[-1]) - 1  # the article's step is over: its optimizer's state stays
    return made


@pytest.fixture(scope="module")
def numbers() -> list[int]:
    """Bytes, with halves of a hundredth among them."""
    rng = random.Random(51)
    ties = [2**20 * n // 8 for n in range(1, 40)] + [2**30 * n // 8 + 2**32 for n in range(9)]
    return [0, 1, 4 * 2**30 - 1, 4 * 2**30, *ties] + [rng.randint(0, 10 ** rng.randint(1, 15)) for _ in range(1500)]


@pytest.fixture(scope="module")
def snapshots() -> list[dict]:
    rng = random.Random(52)
    return [some_snapshot(rng) for _ in range(1000)]


@pytest.fixture(scope="module")
def feeds() -> list[tuple[list[Trace], dict]]:
    """Traces by rank, and their batches as a front end may get them: some lost, some twice."""
    rng, made = random.Random(53), []
    for _ in range(200):
        traces = [some_trace(rng, 300) for _ in range(rng.randint(1, 3))]
        made.append(
            (
                traces,
                {
                    "messages": list(messages_of(traces, rng)),
                    "whole": [whole(rank, t) for rank, t in enumerate(traces)],
                },
            )
        )
    return made


def whole(rank: int, trace: Trace) -> dict:
    feed = Feed(rank)
    for news in (*trace.events, *trace.samples):
        feed.take(news)
    return feed.batch(0, 0)


def messages_of(traces: list[Trace], rng: random.Random):
    feeds = [Feed(rank) for rank in range(len(traces))]
    left = [with_samples(trace) for trace in traces]
    while any(left):
        rank = rng.choice([rank for rank, events in enumerate(left) if events])
        for event in [left[rank].pop(0) for _ in range(min(len(left[rank]), rng.randint(1, 40)))]:
            feeds[rank].take(event)
        message = feeds[rank].batch()
        yield from [message] * rng.choice([1, 1, 1, 0, 2])
    yield from (feed.batch(len(feed.events), len(feed.what)) for feed in feeds)
    yield {"over": True}


def with_samples(trace: Trace) -> list[Event | Sample]:
    """Each sample behind the event that it follows, as a tracker tells them."""
    said = {sample.event: sample for sample in trace.samples}
    return [news for i, event in enumerate(trace.events) for news in (event, said.get(i)) if news]


STATES = [
    {"show": "llama-2-7b", "axis": "seconds", "rank": 3, "part": 2, "at": 17},
    {"axis": "events", "rank": 0, "part": 0, "at": 0},
]


@pytest.fixture(scope="module")
def played(cases, numbers, snapshots, feeds, play) -> dict:
    """One node process computes everything."""
    files = [pickle.dumps(snap, protocol=PROTOCOLS[i % 4]) for i, snap in enumerate(snapshots)] + list(HOSTILE)
    told = {
        "cases": [case for _, case in cases],
        "bytes": numbers,
        "snapshots": [base64.b64encode(data).decode() for data in files],
        "feeds": [feed for _, feed in feeds],
        "states": STATES,
    }
    return play("memory", told)


def rows(trace: Trace) -> list[list]:
    return [[*event[:7], round(event.seconds * 1e6)] for event in trace.events]


def test_events_curves_and_peaks_are_the_same(cases, played):
    assert len(cases) >= 1000
    for (trace, case), got in zip(cases, played["cases"], strict=True):
        # A free's class is the block's own in both; what the event calls it is kept too.
        assert got["events"] == rows(trace)
        assert got["packed"] == case["packed"]
        assert got["byClass"] == trace.by_class.tolist()
        assert got["total"] == trace.total.tolist()
        assert got["peak"] == trace.peak.index
        assert got["marks"] == [[i, name] for i, name, _ in trace.marks]


def test_what_is_alive_is_the_same_and_sums_to_the_curve(cases, played):
    for (trace, case), got in zip(cases, played["cases"], strict=True):
        blocks = trace.alive(case["at"])
        assert [row[:3] for row in got["alive"]] == [[b.block, b.nbytes, b.cls] for b in blocks]
        assert [trace.events[row[3]] for row in got["alive"]] == [b.made for b in blocks]
        total = trace.total[case["at"]]
        assert sum(row[1] for row in got["alive"]) == sum(row[3] for row in got["groups"]) == total
        assert sum(sum(nbytes) for _, nbytes in got["layers"]) == total
        assert sum(row[2] for row in got["groups"]) == len(blocks)


def layer(module: str) -> str:
    words = module.split(".")
    ends = [i for i, word in enumerate(words, 1) if word.isdigit()]
    return ".".join(words[: ends[0]]) if ends else module


def homes(trace: Trace) -> dict[int, str]:
    """Block: the first module that an allocation or a class names."""
    found: dict[int, str] = {}
    for event in trace.events:
        if event.kind in ("alloc", "class"):
            found[event.block] = found.get(event.block) or event.module
    return found


def test_layers_hold_what_belongs_to_them(cases, played):
    for (trace, case), got in zip(cases, played["cases"], strict=True):
        home = homes(trace)
        held: dict[str, list[int]] = {name: [0] * len(CLASSES) for name in [*got["names"], ""]}
        for block in trace.alive(case["at"]):
            held[layer(home[block.block])][CLASSES.index(block.cls)] += block.nbytes
        assert got["layers"] == [[name, nbytes] for name, nbytes in held.items()]
    for (trace, _), got in list(zip(cases, played["cases"], strict=True))[:200]:
        most, home = 0, homes(trace)
        for i in range(len(trace)):
            now: dict[str, int] = {}
            for block in trace.alive(i):
                name = layer(home[block.block])
                now[name] = now.get(name, 0) + block.nbytes
            most = max([most, *(n for name, n in now.items() if name)])
        assert got["tallest"] == most


def test_state_that_a_step_made_is_in_the_layer_of_its_parameter(cases, played):
    (trace, _), got = cases[-1], played["cases"][-1]
    parameter, state = CLASSES.index("parameter"), CLASSES.index("optimizer")
    held = {name: nbytes for name, nbytes in got["layers"] if nbytes[parameter]}
    assert len(held) == 6 and all(nbytes[state] == 2 * nbytes[parameter] for nbytes in held.values())
    assert sum(nbytes[state] for nbytes in held.values()) == trace.by_class[-1][state] > 0


def test_no_column_of_the_picture_loses_a_peak(cases, played):
    """In every column stands the fullest event that holds somewhere in it."""
    for (trace, case), got in zip(cases, played["cases"], strict=True):
        start, stop = case["part"]
        whole_events = [i for i in got["columns"][0] if i >= 0]
        assert max(trace.total[whole_events]) == max(trace.total[start:stop])
        assert all(start <= i < stop for i in whole_events)
        assert whole_events == sorted(whole_events)
        assert all(
            trace.total[i] <= trace.total[j] for i, j in zip(got["back"][0], range(start, stop), strict=True) if i != j
        ) or got["back"][0] == list(range(start, stop))
        assert got["back"][0] == list(range(start, stop))


def test_amounts_are_written_the_same(numbers, played):
    assert played["amounts"] == [[unit_for(n), amount(n, "MiB"), amount(n, "GiB")] for n in numbers]


def test_the_tables_have_the_same_moments(cases, played):
    """Python's table has the marks and the peak; the widget's has them too, and the ends of phases."""
    for (trace, _), got in zip(cases, played["cases"], strict=True):
        if len(trace.marks) < 12:
            wanted = [row[0] for row in moments(trace)[1]]
            found = [name for i, name in got["moments"] if i == trace.peak.index or trace.events[i].kind == "mark"]
            assert [name.split(", ")[-1] for name in found] == [name.split(", ")[-1] for name in wanted]


def test_snapshots_become_the_same_traces(snapshots, played):
    for snap, got in zip(snapshots, played["snapshots"][: len(snapshots)], strict=True):
        kept = [device for device, entries in enumerate(snap["device_traces"]) if entries]
        if not kept:
            assert "no history" in got["error"]
            continue
        assert isinstance(got, list), got
        for device, one in zip(kept, got, strict=True):
            trace = read(snap).trace(device)
            assert one["events"] == rows(trace)
            assert one["samples"] == [list(sample) for sample in trace.samples]
            assert (one["source"], one["about"]) == (trace.source, trace.about)


def place(op: str) -> str:
    return f"{op.partition(' ')[2]} ({op.partition(' ')[0]})" if op else "no line recorded"


def test_who_holds_the_peak_is_what_python_counts(snapshots, played):
    seen = 0
    for snap, got in zip(snapshots, played["snapshots"][: len(snapshots)], strict=True):
        kept = [device for device, entries in enumerate(snap["device_traces"]) if entries]
        for device, one in zip(kept, got if kept else (), strict=True):
            trace = read(snap).trace(device)
            lines: Counter[str] = Counter()
            for block in trace.alive(trace.peak.index) if len(trace) else ():
                lines[block.made.op] += block.nbytes
            held = sorted(lines.items(), key=lambda line: (-line[1], line[0]))
            assert one["lines"] == [list(line) for line in held]
            if held:
                all_, unit = trace.peak.nbytes, unit_for(trace.peak.nbytes)
                first = f"{place(held[0][0])} holds {amount(held[0][1], unit)} {unit}, "
                assert one["told"].startswith(f"At the peak, {amount(all_, unit)} {unit}, {first}")
                named = re.findall(r" ([\d,.]+) [MG]iB, (\d+)\xa0%", one["told"].partition(", ")[2])
                few = [n for i, (_, n) in enumerate(held[:3]) if not i or 100 * n >= all_]
                told = few + [sum(n for _, n in held[len(few) :])] * (len(held) > len(few))
                assert named == [(amount(n, unit), f"{(200 * n + all_) // (2 * all_)}") for n in told]
                seen += len(held) > 3
    assert seen > 100


@pytest.mark.parametrize("which", range(len(HOSTILE)))
def test_a_file_that_is_no_data_is_refused(which, played, snapshots):
    assert "error" in played["snapshots"][len(snapshots) + which]


def test_a_pickle_that_would_run_something_is_named(played, snapshots):
    told = [got["error"] for got in played["snapshots"][len(snapshots) :]]
    assert sum("only plain data is read" in error for error in told) >= 4
    assert any("GLOBAL" in error for error in told)
    assert any("the file ends at byte" in error for error in told)
    assert any("no pickle" in error for error in told)


def test_nothing_is_lost_on_the_way_to_a_live_widget(feeds, played):
    asked = 0
    for (traces, _), got in zip(feeds, played["feeds"], strict=True):
        assert [rank for rank, *_ in got["traces"]] == list(range(len(traces)))
        for trace, (_, events, total, peak, samples) in zip(traces, got["traces"], strict=True):
            assert events == rows(trace) and samples == [list(one) for one in trace.samples]
            assert (total, peak) == (trace.total.tolist(), trace.peak.index)
        assert got["received"] == sum(map(len, traces))
        assert got["over"] is True
        asked += got["asked"]
    assert asked > 50  # batches were lost, and asked for


def test_a_link_brings_the_state_back(played):
    assert played["links"] == STATES
