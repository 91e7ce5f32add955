"""The figures of choices: what wins is a corner, each algorithm keeps its mark, and every number is in the table."""

import json

import pytest

from helpers.view.figures.choices import Cost, Growth, Win, over_ranks, plane, winners, winning
from helpers.view.figures.show import chart

COSTS = [
    Cost("few", 6, 6),
    Cost("both", 12, 2),
    Cost("same", 12, 2),
    Cost("dear", 20, 6),
    Cost("slow", 126, 2),
    Cost("least", 200, 1),
]


def trace(figure, name):
    return next(t for t in figure.data if t.name == name)


def test_winners_are_the_corners_towards_zero():
    assert [cost.name for cost in winning(COSTS)] == ["few", "both", "least"]
    assert [cost.name for cost in winning([*COSTS, Cost("inside", 100, 1.6)])] == ["few", "both", "least"]
    assert [cost.name for cost in winning([*COSTS, Cost("corner", 100, 1.4)])] == ["few", "both", "corner", "least"]
    assert [cost.name for cost in winning([Cost("best", 1, 1), *COSTS])] == ["best"]


def test_each_corner_wins_at_some_price_and_no_other_point_does():
    """By trying: alpha = 1, and the price of a buffer from next to nothing to a lot."""
    for costs in (COSTS, [Cost(str(i), 1 + i, 60 / (1 + i % 7) + i % 3) for i in range(30)]):
        found = {min(costs, key=lambda c: c.latencies + 1.02**k * c.buffers)[1:3] for k in range(-800, 800)}
        assert {cost[1:3] for cost in winning(costs)} >= found
        assert len(winning(costs)) == len(found)


def test_points_of_one_cost_share_a_label_and_a_switch_is_no_rival():
    figure = plane([*COSTS, Cost("cheat", 2, 1, switch=True)], "A finding")
    assert "both, same" in trace(figure, "ranks add").text
    assert trace(figure, "wins at some size").x == (6, 12, 200)
    assert trace(figure, "a switch adds").text == ("cheat",)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    html = chart(figure, "plane", "a caption")["text/html"]
    assert "<td>ranks add</td><td>both, same</td><td>12</td><td>2</td>" in html
    assert "<td>wins at some size</td><td>least</td><td>200</td><td>1</td>" in html


def test_a_label_stands_where_it_is_wanted():
    row = trace(plane([Cost("a", 2, 2, place="top right"), Cost("b", 2, 2), Cost("c", 1, 9)], "A finding"), "ranks add")
    assert (row.text, row.textposition) == (("c", "a, b"), ("bottom center", "top right"))


def test_a_map_has_a_mark_for_every_winner_and_rows_in_the_order_given():
    wins = [Win(n, size, "ring" if size > 100 else "tree") for n in (2, 10, 3) for size in (1, 1024)]
    figure = winners(wins, "A finding")
    assert figure.layout.yaxis.categoryarray == ("2", "10", "3")
    assert figure.layout.xaxis.categoryarray == ("1 B", "1 KiB")
    ring, tree = trace(figure, "ring"), trace(figure, "tree")
    assert (ring.x, ring.y) == (("1 KiB",) * 3, ("2", "10", "3"))
    assert ring.marker.symbol != tree.marker.symbol and ring.marker.color != tree.marker.color
    assert "<td>ring</td><td>1,024</td><td>10</td>" in chart(figure, "map", "a caption")["text/html"]


def test_two_panels_over_ranks():
    figure = over_ranks([Growth("ring", [2, 3], [2, 4], [1, 4 / 3])], "A finding")
    steps, buffers = figure.data
    assert (steps.yaxis, steps.y, buffers.yaxis, buffers.y) == ("y", (2, 4), "y2", (1, 1.333))
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    assert "<td>ring</td><td>3</td><td>4</td><td>1.33</td>" in chart(figure, "growth", "a caption")["text/html"]


def test_is_the_same_text_every_time():
    once, twice = (json.dumps(plane(COSTS, "A finding").to_plotly_json(), default=str) for _ in range(2))
    assert once == twice


def test_refuses():
    for draw in (plane, winners, over_ranks):
        with pytest.raises(ValueError, match="wants at least one"):
            draw([], "A finding")
    with pytest.raises(ValueError, match="ring: 2 numbers of ranks, 1 steps and 2 buffers"):
        over_ranks([Growth("ring", [2, 3], [2], [1, 1])], "A finding")
