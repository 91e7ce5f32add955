"""The wait-for graph: an arrow for every wait, a mark on who is missing, and the same in words in its table."""

import pytest

from helpers.view.figures.show import chart
from helpers.view.figures.waits import waits_for
from helpers.view.shared.tokens import colour, rank_colour

EDGES = {0: [3], 1: [0, 2], 2: [3], 3: []}


def squares(figure):
    return {trace.name: trace.text for trace in figure.data if trace.mode == "text" and trace.name}


def arrows(figure):
    return [trace.name for trace in figure.data if trace.mode == "lines+markers"]


def test_every_wait_is_an_arrow():
    assert arrows(waits_for(EDGES, "A finding")) == ["0 to 3", "1 to 0", "1 to 2", "2 to 3"]


def test_an_arrow_points_at_the_one_that_is_waited_for():
    figure = waits_for(EDGES, "A finding")
    place = {text: (trace.x[i], trace.y[i]) for trace in figure.data if trace.text for i, text in enumerate(trace.text)}
    for trace in figure.data:
        if trace.mode == "lines+markers":
            tip, other = (trace.x[1], trace.y[1]), place[trace.name.split(" to ")[1]]
            tail = (trace.x[0], trace.y[0])
            assert abs(tip[0] - other[0]) + abs(tip[1] - other[1]) < abs(tail[0] - other[0]) + abs(tail[1] - other[1])
            assert tuple(trace.marker.size) == (0, 14), "the head is at the end"


def test_who_waits_for_nobody_is_missing_also_when_nobody_says_so():
    assert squares(waits_for(EDGES, "A finding")) == {"waits": ("0", "1", "2"), "is missing": ("3",)}
    assert squares(waits_for({0: [5], 1: [0]}, "A finding")) == {"waits": ("0", "1"), "is missing": ("5",)}


def test_a_circle_misses_nobody():
    assert squares(waits_for({0: [1], 1: [0]}, "A finding")) == {"waits": ("0", "1")}


def test_a_rank_is_a_square_in_its_own_colour_and_a_missing_one_is_dashed_in_the_red():
    shapes = waits_for(EDGES, "A finding").layout.shapes
    assert [shape.fillcolor for shape in shapes[:3]] == [rank_colour(rank) for rank in range(3)]
    assert (shapes[3].line.dash, shapes[3].line.color) == ("dash", colour("wrong"))
    assert all(shape.path.count("Q") == 4 for shape in shapes), "four round corners"


def test_from_rank_8_on_a_second_line_tells_it_from_the_one_with_its_colour():
    assert len(waits_for({8: [0]}, "A finding").layout.shapes) == 3


def test_a_word_stands_beside_the_red():
    words = [trace.text for trace in waits_for(EDGES, "A finding").data if trace.mode == "text" and not trace.name]
    assert words == [("is missing",)]


def test_its_table_says_who_waits_for_whom():
    html = chart(waits_for(EDGES, "A finding"), "mine", "a caption")["text/html"]
    assert "<td>waits</td><td>1</td><td>0 and 2</td>" in html
    assert "<td>is missing</td><td>3</td><td>nobody</td>" in html


@pytest.mark.parametrize(
    ("edges", "says"),
    [({}, "at least one"), ({0: [], 1: []}, "at least one"), ({0: [0]}, "rank 0 cannot wait for itself")],
)
def test_what_is_no_graph_of_waits_is_refused(edges, says):
    with pytest.raises(ValueError, match=says):
        waits_for(edges, "A finding")
