"""The picture of leaves and spines: what each wire carries, widths on one scale, and the same numbers in its table."""

import pytest

from helpers.view.figures.network.fabric import busiest, leaf_spine, through
from helpers.view.figures.show import chart
from helpers.view.shared.tokens import colour

RAILS = {(0, 2): 800, (1, 3): 800}  # two nodes of two
CROSSED = {(0, 3): 800, (1, 2): 800}


def test_along_a_rail_nothing_climbs():
    wires = through(RAILS, 2, 2, 4)
    assert busiest(wires, "gpu") == 800 and busiest(wires, "spine") == 0
    assert wires == {
        (("gpu", 0), ("leaf", 0)): 800,
        (("leaf", 0), ("gpu", 2)): 800,
        (("gpu", 1), ("leaf", 1)): 800,
        (("leaf", 1), ("gpu", 3)): 800,
    }


def test_from_rail_to_rail_it_is_spread_over_the_spines():
    wires = through(CROSSED, 2, 2, 4)
    up = {ends: nbytes for ends, nbytes in wires.items() if ends[1][0] == "spine"}
    assert len(up) == 8 and set(up.values()) == {200}
    assert sum(up.values()) == sum(CROSSED.values()), "what goes up is what was sent"


def test_all_panels_share_one_scale_and_idle_wires_are_grey():
    figure = leaf_spine({"Rails": RAILS, "Crossed": CROSSED}, 2, 2, 4, "A finding")
    lines = [(trace.line.width, trace.line.color) for trace in figure.data if trace.mode == "lines"]
    assert lines == [(1, colour("edge")), (9, colour("accent")), (2.25, colour("accent")), (9, colour("accent"))]


def test_its_table_has_a_row_for_each_panel():
    told = str(chart(leaf_spine({"Rails": RAILS, "Crossed": CROSSED}, 2, 2, 4, "A finding"), "wires", "A caption."))
    assert told.count("Crossed") >= 2 and "a wire to a spine carries" in told


@pytest.mark.parametrize(
    ("loads", "says"),
    [
        ({}, "wants at least one"),
        ({(0, 2): 0}, "wants at least one"),
        ({(0, 1): 1}, "from one of 2 nodes of 2 to another, got 0 to 1"),
        ({(0, 4): 1}, "got 0 to 4"),
    ],
)
def test_what_cannot_be_drawn_is_refused(loads, says):
    with pytest.raises(ValueError, match=says):
        leaf_spine({"Panel": loads}, 2, 2, 2, "A finding")
