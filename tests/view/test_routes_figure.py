"""The picture of ways: a row for each, written memories filled, the network dotted, and the same copies in its table."""

import pytest

from helpers.facts import MACHINES
from helpers.nccl import transport
from helpers.view.figures.network.routes import ncopies, places, routes
from helpers.view.figures.show import chart
from helpers.view.shared.tokens import colour

NEAR = ("NVLink", "NVSwitch", "NVLink")
STAGED = transport(MACHINES["2x8-IB"], 0, 8, gpudirect=False).hops


def test_places_stand_between_the_wires():
    assert places(NEAR) == ["GPU", "NVSwitch", "GPU"]
    assert places(STAGED) == ["GPU", "host memory", "NIC", "NIC", "host memory", "GPU"]
    assert places(("link",)) == ["GPU", "GPU"]


def test_what_is_written_is_filled_and_counted():
    marks, names = routes({"Staged": STAGED}, "A finding").data[-3:-1]
    filled = [text for text, fill in zip(names.text, marks.marker.color, strict=True) if fill == colour("accent")]
    assert filled == ["host<br>memory", "host<br>memory", "GPU"] and len(filled) == ncopies(STAGED)


def test_the_network_alone_is_dotted():
    lines = {t.line.dash: t.x for t in routes({"Staged": STAGED}, "A finding").data if t.mode == "lines"}
    assert lines == {"solid": (0, 1, None, 1, 2, None, 3, 4, None, 4, 5), "dot": (2, 3)}


def test_the_name_of_a_place_stands_clear_of_its_square():
    figure = routes({"Near": NEAR, "Staged": STAGED}, "A finding")
    low, high = figure.layout.yaxis.range
    pixels = (figure.layout.height - 56) / (high - low)  # its margins
    marks, names = figure.data[2:4] if figure.data[2].mode == "markers" else figure.data[3:5]
    assert pixels * (marks.y[0] - names.y[0]) > (marks.marker.size + 3) / 2 + 4


def test_every_wire_is_named_above_its_middle():
    names = next(t for t in routes({"Staged": STAGED}, "A finding").data if t.mode == "text")
    assert names.text == ("PCIe", "PCIe", "network", "PCIe", "PCIe") and names.x == (0.5, 1.5, 2.5, 3.5, 4.5)


def test_its_table_has_a_row_for_each_way():
    html = chart(routes({"Near": NEAR, "Staged": STAGED}, "A finding"), "ways", "A caption.")["text/html"]
    assert "<td>Near</td><td>NVLink, NVSwitch, NVLink</td><td>1</td>" in html and "<td>Staged</td>" in html


@pytest.mark.parametrize(
    ("cases", "says"),
    [({}, "wants at least one"), ({"Bad": ("PCIe", "NIC")}, "Bad: a way is wire"), ({"Bad": ()}, "got nothing")],
)
def test_what_is_no_way_is_refused(cases, says):
    with pytest.raises(ValueError, match=says):
        routes(cases, "A finding")
