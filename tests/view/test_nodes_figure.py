"""The picture of two nodes: lines as wide as what they carry, idle NICs hollow, and the same numbers in its table."""

import re
from itertools import groupby
from typing import NamedTuple

import pytest

from helpers.units import GIB, MIB
from helpers.view.figures.nodes import out_of_nics, two_nodes
from helpers.view.figures.show import chart
from helpers.view.shared.tokens import colour, rank_colour


class Line(NamedTuple):
    width: float
    color: str
    shape: str
    x: tuple
    y: tuple


FLAT = {(0, 1): GIB, (1, 2): GIB, (2, 3): GIB, (3, 0): GIB}  # one ring over two nodes of two
RAILS = {(0, 1): GIB, (1, 0): GIB, (2, 3): GIB, (3, 2): GIB} | dict.fromkeys(
    ((0, 2), (2, 0), (1, 3), (3, 1)), 256 * MIB
)


def figure(**panels):
    return two_nodes(panels or {"Flat": FLAT, "Rails": RAILS}, 2, "A finding")


def lines(fig):
    """Every line on its own: its width, colour, shape, and the x and y of its points."""
    found = []
    for trace in (trace for trace in fig.data if trace.mode == "lines"):
        points = zip(trace.x, trace.y, strict=True)
        for drawn, line in groupby(points, key=lambda point: point != (None, None)):
            if drawn:
                found.append(Line(trace.line.width, trace.line.color, trace.line.shape, *zip(*line, strict=True)))
    return found


def squares(fig, size):
    return [trace for trace in fig.data if "markers" in trace.mode and trace.marker.size == size]


def test_a_line_is_as_wide_as_the_larger_of_its_two_directions():
    one = lines(two_nodes({"Panel": {(0, 1): 400, (1, 0): 100, (3, 2): 200}}, 2, "A finding"))
    assert sorted(line.width for line in one) == [5, 10]


def test_all_panels_share_one_scale_and_nothing_vanishes():
    wide = [line.width for line in lines(figure())]
    assert max(wide) == 10 and wide.count(2.5) == 2, "two rails"
    thin = lines(two_nodes({"Panel": {(0, 1): 1000, (0, 2): 1}}, 2, "A finding"))
    assert min(line.width for line in thin) == 1


def test_across_is_drawn_from_nic_to_nic_in_another_colour():
    across = [line for line in lines(figure(Flat=FLAT)) if line.color == colour("accent")]
    places = {(line.x[0], line.x[-1]): line for line in across}
    assert places.keys() == {(1, 0), (0, 1)}, "rank 1 to rank 2 and rank 3 to rank 0 go from one column to the other"
    assert list(places[1, 0].y) == sorted(places[1, 0].y, reverse=True) and len(places[1, 0].y) == 4, (
        "GPU, NIC, NIC, GPU"
    )
    rails = [line for line in lines(figure(Rails=RAILS)) if line.color == colour("accent")]
    assert all(len(set(line.x)) == 1 for line in rails), "a rail stays in its column"


def test_what_passes_over_other_gpus_is_an_arch():
    ring = {(r, (r + 1) % 3): 1 for r in range(3)} | {(r + 3, (r + 1) % 3 + 3): 1 for r in range(3)}
    arches = [line for line in lines(two_nodes({"Panel": ring}, 3, "A finding")) if line.shape == "spline"]
    assert [line.x for line in arches] == [(0, 1, 2)] * 2
    assert arches[0].y[1] > arches[0].y[0] and arches[1].y[1] < arches[1].y[0], "over the one node, under the other"


def test_neighbours_of_one_width_are_one_line():
    row = {(0, 1): 4, (1, 2): 4, (2, 3): 1, (4, 5): 4}
    found = {line.width: [] for line in lines(two_nodes({"Panel": row}, 4, "A finding"))}
    for line in lines(two_nodes({"Panel": row}, 4, "A finding")):
        found[line.width].append(line.x)
    assert found == {10: [(0, 2), (0, 1)], 2.5: [(2, 3)]}


def test_idle_nics_are_hollow():
    found = [(list(row.x), row.marker.symbol) for row in squares(figure(Flat={(0, 1): 1, (1, 2): 1}), 11)]
    assert found == [([1], "square"), ([0], "square-open"), ([0], "square"), ([1], "square-open")]
    assert len({row.y0 for row in squares(figure(Flat=FLAT), 11)}) == 2, "a row for each node"


def test_gpus_are_squares_in_the_ranks_colours_with_their_numbers():
    rows = squares(two_nodes({"Panel": {(0, 8): 1}}, 8, "A finding"), 26)
    assert [list(row.text) for row in rows] == [[str(r) for r in range(8)], [str(r) for r in range(8, 16)]]
    for row in rows:
        assert list(row.marker.line.color) == [rank_colour(rank) for rank in range(8)]
    assert rows[0].y0 > rows[1].y0, "the first node is above"


def test_its_words_and_its_table_say_how_much():
    html = chart(figure(), "mine", "a caption")["text/html"]
    assert "NICs that send, of 4</th>" in html and "the busiest NIC sends (MiB)</th>" in html
    assert re.search(r"<td>Flat</td><td>2</td><td>[^<]+</td>", html)
    assert "<td>256</td><td>1,024</td>" in html
    assert "<b>Rails</b><br>4 of 4 NICs send, the busiest 256 MiB" in [t.text[0] for t in figure().data if t.name]


def test_out_of_nics_counts_what_leaves_the_node():
    assert out_of_nics(FLAT, 2) == {1: GIB, 3: GIB}
    assert out_of_nics({(0, 2): 1, (0, 3): 2, (1, 0): 4}, 2) == {0: 3}


@pytest.mark.parametrize(
    ("loads", "says"),
    [
        ({}, "Panel: a picture of loads wants at least one link"),
        ({(0, 1): 0}, "at least one link that carries something"),
        ({(0, 4): 1}, r"two nodes of 2 GPUs have ranks 0..3, got \(0, 4\)"),
    ],
)
def test_what_is_no_picture_is_refused(loads, says):
    with pytest.raises(ValueError, match=says):
        two_nodes({"Panel": loads}, 2, "A finding")
