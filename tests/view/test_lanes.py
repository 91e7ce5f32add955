"""The figure of lanes: every span stands where it was measured, and the table beside it says so in words."""

import pytest

from helpers.view.figures.lanes import Span, lanes
from helpers.view.figures.show import chart

SPANS = [
    Span("rank 0", "waits", 0, 0.2),
    Span("rank 0", "communicates", 0.2, 0.21),
    Span("rank 1", "computes", 0, 0.2),
    Span("rank 1", "communicates", 0.2, 0.21),
]


def bars(figure):
    return {
        (trace.name, lane, start, length)
        for trace in figure.data
        for lane, start, length in zip(trace.y, trace.base, trace.x, strict=True)
    }


def test_every_span_is_a_bar_from_its_start_over_its_length():
    assert bars(lanes(SPANS, "A finding")) == {(s.what, s.lane, s.start, s.end - s.start) for s in SPANS}


def test_the_first_lane_is_on_top():
    axis = lanes(SPANS, "A finding").layout.yaxis
    assert axis.categoryarray == ("rank 1", "rank 0")  # plotly counts categories from the bottom


def test_waiting_is_an_outline_and_no_two_kinds_look_alike():
    styles = {t.name: (t.marker.color, t.marker.line.color) for t in lanes(SPANS, "A finding").data}
    assert set(styles) == {"computes", "communicates", "waits"} and len(set(styles.values())) == 3
    assert styles["waits"][0] != styles["waits"][1]


@pytest.mark.parametrize(
    ("end", "ticks"),
    [
        (0.21, ["0 s", "100 ms", "200 ms"]),
        (3e-6, ["0 s", "1 µs", "2 µs", "3 µs"]),
        (12, ["0 s", "5 s", "10 s"]),
        (0, ["0 s"]),
    ],
)
def test_ticks_are_round_and_carry_units(end, ticks):
    axis = lanes([Span("rank 0", "computes", 0, end)], "A finding").layout.xaxis
    assert list(axis.ticktext) == ticks and axis.range[1] >= end


def test_its_table_says_when_and_who():
    html = chart(lanes(SPANS, "A finding"), "mine", "a caption")["text/html"]
    assert "<td>waits</td><td>rank 0</td><td>0</td><td>200</td>" in html


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("rank 0", "sleeps", 0, 1), "what is one of computes, communicates, waits, got 'sleeps'"),
        (("rank 0", "waits", 2, 1), "got 2 to 1"),
        (("rank 0", "waits", -1, 1), "got -1 to 1"),
        (("rank 0", "waits", float("nan"), 1), "got nan to 1"),
    ],
)
def test_a_span_that_cannot_be_is_refused(args, says):
    with pytest.raises(ValueError, match=says):
        Span(*args)


def test_no_span_is_refused():
    with pytest.raises(ValueError, match="at least one span"):
        lanes([], "A finding")
