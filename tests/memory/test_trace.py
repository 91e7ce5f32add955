"""A trace adds up, finds its peak, refuses contradictions, and survives JSON."""

import pytest

from helpers.memory import CLASSES, Event, Trace, TraceError

STEP = (
    Event("alloc", 0, 1000, "parameter", op="aten::empty"),
    Event("mark", -1, 0, "temporary", op="model"),
    Event("alloc", 1, 300, "temporary", "layer", "forward", "aten::mm", 0.25),
    Event("class", 1, 300, "activation", "layer", "forward", "aten::mm", 0.25),
    Event("alloc", 2, 700, "temporary", "layer", "forward", "aten::mul", 0.5),
    Event("free", 2, 700, "temporary", "layer", "forward", "aten::mul", 0.75),
    Event("alloc", 3, 40, "gradient", "layer", "backward", "aten::mm", 1.0),
    Event("free", 1, 300, "activation", "layer", "backward", "aten::mm", 1.25),
)


@pytest.fixture
def trace():
    return Trace(STEP, "tracked (CPU tensors)", {"label": "a step"}, ((4, 2048, 4096),))


def test_classes_add_up_to_the_total_after_every_event(trace):
    assert trace.total.tolist() == [1000, 1000, 1300, 1300, 2000, 1300, 1340, 1040]
    assert trace.by_class[3, CLASSES.index("activation")] == 300
    assert trace.by_class[3, CLASSES.index("temporary")] == 0


def test_the_peak_is_the_first_highest_moment_with_its_composition(trace):
    peak = trace.peak
    assert (peak.index, peak.nbytes, peak.phase, peak.module, peak.op) == (4, 2000, "forward", "layer", "aten::mul")
    assert {cls: n for cls, n in peak.by_class.items() if n} == {"parameter": 1000, "activation": 300, "temporary": 700}


def test_what_is_alive_sums_to_the_curve_at_every_event(trace):
    for index in range(len(trace)):
        assert sum(block.nbytes for block in trace.alive(index)) == trace.total[index]
    assert [block.block for block in trace.alive(4)] == [0, 2, 1]
    assert trace.alive(4)[2].cls == "activation"


def test_marks_are_the_stages(trace):
    assert trace.marks == [(1, "model", 1000)]
    assert trace.at("model") == dict.fromkeys(CLASSES, 0) | {"parameter": 1000}
    with pytest.raises(TraceError, match="the marks are model, got 'step'"):
        trace.at("step")


def test_rounding_is_up_and_by_block(trace):
    assert trace.rounded(512).total.tolist() == [1024, 1024, 1536, 1536, 2560, 1536, 2048, 1536]
    with pytest.raises(TraceError, match="positive"):
        trace.rounded(0)


def test_a_part_begins_with_what_was_alive(trace):
    part = trace.between(4, 8)
    assert part.total.tolist() == [1000, 1300, 2000, 1300, 1340, 1040]
    assert part.samples == ((2, 2048, 4096),)
    assert trace.between(0, len(trace)) == trace


def test_json_gives_an_equal_trace_back(trace):
    assert Trace.from_json(trace.to_json()) == trace
    assert Trace.from_json(trace.data()) == trace


@pytest.mark.parametrize(
    "wrong",
    [
        Event("free", 9, 10, "parameter"),
        Event("alloc", 0, 10, "parameter"),
        Event("free", 0, 10, "parameter"),
        Event("alloc", 8, 10, "weights"),
        Event("alloc", 8, -1, "parameter"),
        Event("lost", 0, 1000, "parameter"),
    ],
    ids=["not alive", "twice", "another size", "no class", "negative", "no kind"],
)
def test_contradictions_are_refused(wrong):
    with pytest.raises(TraceError):
        _ = Trace((*STEP, wrong), "tracked (CPU tensors)").total


def test_what_is_no_trace_is_refused():
    for text in ("{}", "[]", "no json", '{"names": []}'):
        with pytest.raises(TraceError):
            Trace.from_json(text)
    with pytest.raises(TraceError, match="empty"):
        _ = Trace((), "predicted (meta)").peak
    with pytest.raises(IndexError):
        Trace(STEP, "predicted (meta)").alive(8)
