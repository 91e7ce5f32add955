"""A packed trace is the same trace, in few bytes; anything else is refused."""

import json
import random
from dataclasses import replace

import pytest

from helpers.memory import CLASSES, Event, Trace, TraceError, pack, unpack


def some_events(rng: random.Random) -> list[Event]:
    """Allocations, frees, changes of class and marks, with gaps between ids and times in whole microseconds."""
    events, alive, block, micros = [], {}, 0, 0
    for _ in range(rng.randint(0, 80)):
        micros += rng.choice([0, 0, 1, 1000])
        told = (
            rng.choice(["", "layers.0", "head"]),
            rng.choice(["", "forward"]),
            rng.choice(["", "aten::mm"]),
            micros / 1e6,
        )
        kind = rng.choice(["alloc", "alloc", "free", "class", "mark"])
        if kind == "alloc":
            block += rng.choice([1, 1, 7])
            alive[block] = rng.choice([0, 4, 512, 2**40])
            events.append(Event("alloc", block, alive[block], rng.choice(CLASSES), *told))
        elif kind == "mark" or not alive:
            events.append(Event("mark", -1, 0, "temporary", *told))
        else:
            held = rng.choice(list(alive))
            events.append(Event(kind, held, alive[held], rng.choice(CLASSES), *told))
            if kind == "free":
                del alive[held]
    return events


@pytest.mark.parametrize("seed", range(300))
def test_a_packed_trace_is_the_same_trace(seed):
    rng = random.Random(seed)
    trace = Trace(tuple(some_events(rng)), "tracked (CPU tensors)", {"label": "any"}, ((0, 5, 2**41),))
    assert unpack(json.loads(json.dumps(pack(trace)))) == trace


def layers(count: int) -> Trace:
    """Forward and backward through equal layers, as a big model's trace repeats itself."""
    ops = [f"aten::op{i % 11}" for i in range(40)]
    events = [
        Event("alloc", layer * 40 + i, 4096 * (i % 7), "activation", f"layers.{layer}.{i // 10}", "forward", op)
        for layer in range(count)
        for i, op in enumerate(ops)
    ]
    back = [event._replace(kind="free", phase="backward") for event in reversed(events)]
    return Trace((*events, *back), "predicted (meta)")


def test_equal_layers_cost_little():
    """At most a third of the bytes of the plain form."""
    trace = layers(80)
    text = json.dumps(pack(trace), separators=(",", ":"))
    assert len(text) < len(trace.to_json()) / 3


GOOD = pack(Trace((Event("alloc", 0, 8, "input"), Event("free", 0, 8, "input")), "predicted (meta)"))


@pytest.mark.parametrize(
    "change",
    [
        {"blocks": [0, 2]},
        {"blocks": [0, -1]},
        {"blocks": [1, 1]},
        {"blocks": [0]},
        {"bytes": [3]},
        {"events": [0, 9]},
        {"module": [[0, 1]]},
        {"ids": [1, 1]},
        {"micros": [1]},
        {"samples": [[1, 2]]},
        {"what": None},
    ],
)
def test_what_is_no_packed_trace_is_refused(change):
    assert len(unpack(GOOD)) == 2
    with pytest.raises(TraceError, match="not a packed trace"):
        unpack(GOOD | change)


def test_a_free_of_another_size_is_refused():
    trace = layers(1)
    wrong = replace(trace, events=(*trace.events[:-1], trace.events[-1]._replace(nbytes=1)))
    with pytest.raises(TraceError, match="was not allocated with 1 bytes"):
        pack(wrong)
    with pytest.raises(TraceError, match="a mark has block -1"):
        pack(replace(trace, events=(Event("mark", 3, 0, "input"),)))
