"""The picture of a node: every GPU has a line to every switch and to its card, and the table counts the parts."""

from itertools import pairwise

import pytest

from helpers.view.figures.network.parts import CARDS, GPUS, SWITCHES, node_parts
from helpers.view.figures.show import chart


def lines(figure, from_height, to_height):
    """Pairs of places that one trace joins between these heights."""
    found = []
    for trace in (trace for trace in figure.data if trace.mode == "lines"):
        points = [*zip(trace.x, trace.y, strict=True)]
        found += [(a, b) for a, b in pairwise(points) if (a[1], b[1]) == (from_height, to_height)]
    return found


@pytest.mark.parametrize(("gpus", "links", "switches"), [(8, 18, 4), (8, 12, 6), (4, 18, 2)])
def test_every_gpu_reaches_every_switch(gpus, links, switches):
    found = lines(node_parts(gpus, links, switches, gpus, "A finding"), GPUS, SWITCHES)
    assert len(found) == len(set(found)) == gpus * switches


def test_gpus_share_a_card_where_cards_are_fewer():
    figure = node_parts(8, 18, 4, 4, "A finding")
    ends = [
        b for trace in figure.data if trace.mode == "lines" for b in zip(trace.x, trace.y, strict=True) if b[1] == CARDS
    ]
    assert len(ends) == 8 and len(set(ends)) == 4


@pytest.mark.parametrize("cards", [8, 4, 1])
def test_as_many_parts_are_drawn_and_counted_as_there_are(cards):
    figure = node_parts(8, 18, 4, cards, "A finding")
    drawn = [len(trace.x) for trace in figure.data if trace.mode == "markers+text"]
    told = {trace.name: trace.customdata[0] for trace in figure.data if trace.customdata is not None}
    assert drawn == [count for count, _ in told.values()] == [8, 4, cards]
    assert [by for _, by in told.values()] == ["18 NVLinks each, PCIe", "36 NVLinks each", "PCIe"]
    assert "network cards" in str(chart(figure, "node", "A caption."))


@pytest.mark.parametrize("wrong", [(0, 18, 4, 8), (8, 3, 4, 8), (8, 18, 0, 8), (8, 18, 4, 0)])
def test_what_is_no_node_is_refused(wrong):
    with pytest.raises(ValueError, match="with a link to each"):
        node_parts(*wrong, "A finding")
