"""The roofline figure: a roof bends at its ridge, points are where they belong, bad ones are refused."""

import pytest

from helpers.memory.roofline import Roof
from helpers.view.figures.roofline import Spot, flops_text, roofline

ROOF = Roof("a machine", 100e9, 50e9)


def test_a_roof_rises_to_its_ridge_and_is_flat_from_there():
    (line,) = roofline([ROOF], [], "flat from 2").data
    assert line.x[1] == 2 and line.y[1] == line.y[2] == 100e9
    assert line.y[0] / line.x[0] == pytest.approx(50e9)


def test_points_are_grouped_by_what_is_known_of_them():
    spots = [Spot("add", 0.1, 5e9), Spot("add", 0.1, 4e9, "measurement"), Spot("gemm", 300, 1e11)]
    figure = roofline([ROOF], spots, "add is below")
    predicted, measured = figure.data[1:]
    assert (predicted.name, list(predicted.text), list(predicted.x)) == ("prediction", ["add", "gemm"], [0.1, 300])
    assert (measured.name, list(measured.y)) == ("measurement", [4e9])
    assert predicted.marker.symbol == "circle-open" and measured.marker.symbol == "circle"


def test_a_move_joins_its_points_and_both_are_drawn():
    before, after = Spot("naive", 1, 5e10), Spot("fused", 8, 1e11)
    figure = roofline([ROOF], [], "fusing moves right", [(before, after)])
    line, points = figure.data[1:]
    assert list(line.x) == [1, 8] and list(points.text) == ["naive", "fused"]


def test_a_label_near_an_end_of_the_axis_stands_inwards():
    spots = [
        Spot("left", 0.1, 5e9),
        Spot("middle", 1, 5e10),
        Spot("right", 90, 1e11),
        Spot("wanted", 90, 9e10, place="bottom right"),
    ]
    (points,) = [trace for trace in roofline([ROOF], spots, "inwards").data if trace.name == "prediction"]
    assert list(points.textposition) == ["top right", "top center", "top left", "bottom right"]


def test_axes_hold_everything_with_ticks_in_their_units():
    figure = roofline([ROOF], [Spot("slow", 0.02, 2e6)], "wide")
    low, high = figure.layout.xaxis.range
    assert 10**low < 0.02 and 10**high > 2
    assert "10 MFLOP/s" in figure.layout.yaxis.ticktext and "100 GFLOP/s" in figure.layout.yaxis.ticktext


def test_rates_have_units():
    texts = [flops_text(r) for r in (3.12e14, 1e9, 999.6e6, 12, 2.25e15)]
    assert texts == ["312 TFLOP/s", "1 GFLOP/s", "1 GFLOP/s", "12 FLOP/s", "2.25 PFLOP/s"]


@pytest.mark.parametrize(
    ("roofs", "spots", "said"),
    [
        ([], [], "needs a roof"),
        ([ROOF], [Spot("x", 0, 1)], "logarithmic"),
        ([ROOF], [Spot("x", 1, -1)], "logarithmic"),
        ([ROOF], [Spot("x", 1, 1, "guess")], "kind must be one of"),
    ],
)
def test_what_cannot_be_drawn_is_refused(roofs, spots, said):
    with pytest.raises(ValueError, match=said):
        roofline(roofs, spots, "no")
