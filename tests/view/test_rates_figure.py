"""The figure of bandwidths: every point where its numbers say, from zero, wires named with their direction, bad data refused."""

import pytest

from helpers.units import KIB, MIB, Bandwidth
from helpers.view import Rates, rates_against_size
from helpers.view.figures.show import chart

RING = Rates("a ring", "recorded", [64 * KIB, MIB, 64 * MIB], [4e9, 56e9, 308e9])
WIRES = {"one": Bandwidth(450e9, "one way"), "sold": Bandwidth(900e9, "both ways")}


def test_points_and_wires_stand_where_their_numbers_say():
    figure = rates_against_size([RING, RING._replace(name="a switch")], "Below the wire", WIRES)
    first, second = figure.data
    assert list(first.x) == RING.nbytes and list(first.y) == RING.bandwidth
    assert list(first.text) == ["", "", "a ring"] and first.marker.symbol == "circle-dot"
    assert first.hovertext[1] == "1 MiB: 56 GB/s" and first.line.color != second.line.color
    assert [shape.y0 for shape in figure.layout.shapes] == [450e9, 900e9]
    said = ["one: 450 GB/s one way", "sold: 900 GB/s both ways"]
    assert [words.text for words in figure.layout.annotations] == said
    assert figure.layout.xaxis.type == "log" and figure.layout.yaxis.type is None
    assert figure.layout.yaxis.range[0] == 0 and figure.layout.yaxis.range[1] > 900e9
    assert list(figure.layout.yaxis.ticktext) == ["0 GB/s", "200 GB/s", "400 GB/s", "600 GB/s", "800 GB/s"]


def test_it_says_its_numbers_to_those_who_do_not_see():
    html = chart(rates_against_size([RING], "Below the wire", WIRES), "rates", "a caption")["text/html"]
    assert "busbw (GB/s)" in html and "<td>308</td>" in html


@pytest.mark.parametrize(
    ("curves", "said"),
    [
        ([], "needs a curve"),
        ([RING._replace(kind="guess")], "kind must be one of"),
        ([RING._replace(nbytes=[1])], "1 sizes but 3 bandwidths"),
        ([RING._replace(nbytes=[], bandwidth=[])], "0 sizes"),
        ([RING._replace(nbytes=[0, 1, 2])], "sizes must be > 0"),
        ([RING._replace(bandwidth=[1, 2, -3])], "not negative"),
    ],
)
def test_what_cannot_be_drawn_is_refused(curves, said):
    with pytest.raises(ValueError, match=said):
        rates_against_size(curves, "Below the wire", WIRES)
