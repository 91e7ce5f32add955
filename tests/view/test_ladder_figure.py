"""The two figures of a ladder: every rung and every point drawn where its numbers say, derived ones hollow, bad data refused."""

import json
import math

import pytest

from helpers.facts import ACCELERATORS
from helpers.units import KIB, MIB
from helpers.view import Climb, RungMark, climbs, rungs
from helpers.view.figures.ladder import rate_text
from helpers.view.figures.show import chart

ROWS = [
    RungMark("registers", 117e12, True, "27 MiB"),
    RungMark("memory", 2.039e12, False, "80 GiB"),
    RungMark("PCIe", 31.5e9),
]
CURVE = Climb("one core", "recorded", [4 * KIB, MIB, 64 * MIB], [250e9, 160e9, 40e9], [(4 * KIB, "L1, 250 GB/s")])


def test_rungs_stand_nearest_first_at_their_bandwidth():
    figure = rungs(ROWS, "Far is slow")
    published, derived = (next(t for t in figure.data if t.name == name) for name in ("published", "derived"))
    assert list(published.x) == [2.039e12, 31.5e9] and list(published.y) == ["memory", "PCIe"]
    assert (
        list(derived.x) == [117e12] and derived.marker.symbol == "circle-open" and published.marker.symbol == "circle"
    )
    assert list(figure.layout.yaxis.categoryarray) == ["PCIe", "memory", "registers"]  # plotly counts from below
    low, high = figure.layout.xaxis.range
    assert low < math.log10(31.5e9) and high > math.log10(117e12)
    assert list(figure.layout.yaxis.ticktext) == ["registers<br>27 MiB", "memory<br>80 GiB", "PCIe"]
    assert list(figure.layout.xaxis.ticktext) == ["100 GB/s", "10 TB/s"]


def test_rungs_say_their_numbers_to_those_who_do_not_see():
    html = chart(rungs(ROWS, "Far is slow"), "rungs", "a caption")["text/html"]
    assert '<th scope="col">bandwidth (TB/s)</th>' in html
    assert "<td>derived</td><td>registers</td><td>117</td><td>27 MiB</td>" in html and "<td>0.0315</td>" in html


def test_a_climb_is_drawn_point_by_point_with_its_words():
    figure = climbs([CURVE], "Four steps", [("L1", 32 * KIB), ("L2", MIB)])
    (trace,) = figure.data
    assert list(trace.x) == CURVE.nbytes and list(trace.y) == CURVE.bandwidth
    assert list(trace.text) == ["L1, 250 GB/s", "", ""] and trace.marker.symbol == "circle-dot"
    assert [a.text for a in figure.layout.annotations] == ["L1", "L2"]
    assert [shape.x0 for shape in figure.layout.shapes] == [32 * KIB, MIB]
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert list(figure.layout.xaxis.ticktext) == ["4 KiB", "256 KiB", "16 MiB"]
    assert trace.hovertext[0] == "4 KiB: 250 GB/s"
    assert len(json.dumps(json.loads(figure.to_json()))) < 12_000


def test_curves_of_one_name_share_a_colour():
    figure = climbs([CURVE, CURVE._replace(kind="measurement"), CURVE._replace(name="a GPU")], "Two machines")
    colours = [trace.line.color for trace in figure.data]
    assert colours[0] == colours[1] != colours[2] and figure.layout.showlegend


@pytest.mark.parametrize(
    "rate, text", [(1.95e13, "19.5 TB/s"), (9.999e11, "1 TB/s"), (9.99e11, "999 GB/s"), (31.51e9, "31.5 GB/s")]
)
def test_rates_are_spelled(rate, text):
    assert rate_text(rate) == text


@pytest.mark.parametrize("rows", [[], [RungMark("x", 0.0)], [RungMark("x", -1.0)]])
def test_a_ladder_without_rungs_is_refused(rows):
    with pytest.raises(ValueError, match="each with a bandwidth above 0"):
        rungs(rows, "No")


@pytest.mark.parametrize(
    "curves, said",
    [
        ([], "needs a curve, got none"),
        ([CURVE._replace(kind="guess")], "kind must be one of prediction, measurement, recorded, got 'guess'"),
        ([CURVE._replace(nbytes=[1, 2])], "2 sizes but 3 bandwidths"),
        ([CURVE._replace(nbytes=[], bandwidth=[])], "0 sizes but 0 bandwidths"),
        ([CURVE._replace(bandwidth=[1, 0, 1])], "must be > 0"),
    ],
)
def test_curves_that_cannot_be_drawn_are_refused(curves, said):
    with pytest.raises(ValueError, match=said):
        climbs(curves, "No")


def test_the_bandwidth_of_a_device_s_memory_is_a_dashed_line():
    figure = climbs([CURVE], "Four steps", device=ACCELERATORS["A100"])
    (line,), (words,) = figure.layout.shapes, figure.layout.annotations
    assert (line.y0, line.y1) == pytest.approx((2.039e12, 2.039e12)) and line.line.dash == "dash"
    assert words.text == "A100's memory:<br>2.04 TB/s, both ways" and words.y == pytest.approx(math.log10(2.039e12))
