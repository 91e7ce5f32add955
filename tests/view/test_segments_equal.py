"""What the widget `segments` draws is what Python's replay holds: every block at every event, on random programs; and its words fit."""

import random

import pytest

from helpers.memory.allocator import program, replay
from helpers.memory.trace import Event, Trace
from helpers.units import KIB, MIB
from helpers.view.segments.spec import segments_spec

LIMIT = 90 * MIB


def some_trace(seed: int) -> Trace:
    rng, events, alive = random.Random(seed), [], []
    while len(events) < 24:
        if rng.random() < 0.06:
            events.append(Event("mark", -1, 0, "temporary", op=rng.choice(["empty_cache", "after forward"])))
        elif alive and rng.random() < 0.1:
            events.append(rng.choice(alive)._replace(kind="class", cls="activation"))
        elif alive and rng.random() < 0.45:
            events.append(alive.pop(rng.randrange(len(alive)))._replace(kind="free"))
        else:
            nbytes = rng.choice((rng.randrange(1, 40) * MIB // 2, rng.randrange(4 * KIB), rng.randrange(24 * MIB), 0))
            alive.append(Event("alloc", len(events), nbytes, "temporary", op=f"t{len(events)}"))
            events.append(alive[-1])
    return Trace(tuple(events), "predicted (meta)")


@pytest.fixture(scope="module")
def played(play):
    traces = [some_trace(seed) for seed in range(40)]
    specs = [segments_spec(trace, limit=LIMIT) for trace in traces]
    return list(zip(traces, play("segments", specs), strict=True))


def test_every_block_of_every_state_is_equal(played):
    states = 0
    for trace, views in played:
        for expandable, steps in zip((False, True), views, strict=True):
            made = replay(trace, expandable, LIMIT, raises=False)
            assert len(steps) == len(made) + 1
            for index in range(len(made)):
                states += 1
                assert steps[index + 1]["curve"] == [made.allocated[index], made.reserved[index]]
                mine = sorted((b.size, b.block) for s in made.segments(index) for b in s.blocks)
                assert sorted((size, block) for _, _, size, block in steps[index + 1]["cells"]) == mine
                order = [b.block for s in made.segments(index) for b in s.blocks if b.block >= 0]
                if expandable is False and not any(a.action == "segment_free" for a in made.actions):
                    assert [block for *_, block in steps[index + 1]["cells"] if block >= 0] == order
    assert states >= 1000


def test_words_tell_what_the_allocator_did(played):
    for trace, views in played:
        for expandable, steps in zip((False, True), views, strict=True):
            made = replay(trace, expandable, LIMIT, raises=False)
            for index in range(len(made)):
                words = " ".join(steps[index + 1]["words"]["texts"])
                actions = {action.action for action in made.during(index)}
                assert ("cudaMalloc" in words) == ("segment_alloc" in actions)
                assert ("cudaFree" in words) == ("segment_free" in actions and "oom" not in actions)
                assert ("are mapped" in words) == ("segment_map" in actions)
                assert ("unmapped" in words) == ("segment_unmap" in actions and "oom" not in actions)
                assert ("ut of memory" in words) == ("oom" in actions)
                assert "undefined" not in words
                assert "NaN" not in words


def test_the_sentences_of_a_small_program(play):
    text = "a = 6 MiB; b = 3 MiB; del a; c = 4 MiB; d = 100; del c; e = 19 MiB; empty_cache()"
    fixed, _ = play("segments", [segments_spec(text, limit=60 * MIB)])[0]
    assert [f"{step['words']['lead']}: {step['words']['texts'][0]}" for step in fixed] == [
        "Start: Nothing is reserved. 8 events follow, on a device with 60 MiB.",
        "a = 6 MiB: No free block fits: cudaMalloc 20 MiB, 14 MiB stay free behind it.",
        "b = 3 MiB: Best fit is a free block of 14 MiB, 11 MiB stay free behind it.",
        "del a: 6 MiB are free, with no free block beside.",
        "c = 4 MiB: Best fit is a free block of 6 MiB, 2 MiB stay free behind it.",
        "d = 100 B: No free block fits: cudaMalloc 2 MiB, 2 MiB stay free behind it; 412 B are rounding.",
        "del c: 4 MiB are free, in one piece with what was free beside: 6 MiB.",
        "e = 19 MiB: No free block fits: cudaMalloc 20 MiB, none of it is left;"
        " the rest is too small to cut, so 1 MiB is inside the block, unused.",
        "empty_cache(): Nothing can be given back.",
    ]


@pytest.mark.parametrize(
    "options, named",
    [({"mode": "some"}, "mode"), ({"step": 9}, "step"), ({"limit": "much"}, "size"), ({"limit": -1}, "size")],
)
def test_what_cannot_be_shown_is_refused(options, named):
    with pytest.raises(ValueError, match=named):
        segments_spec("a = 1 MiB", **options)


def test_a_long_trace_is_refused_with_the_way_out():
    event = program("a = 1").events[0]
    trace = Trace(tuple(event._replace(block=i) for i in range(2501)), "predicted (meta)")
    with pytest.raises(ValueError, match=r"2501.*Trace.between"):
        segments_spec(trace)
