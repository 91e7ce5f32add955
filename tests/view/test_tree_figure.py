"""The picture of two trees: every rank in its place, every edge, and its part said by colour, legend and table alike."""

import pytest

from helpers.collectives import double_tree
from helpers.view.figures.show import chart
from helpers.view.figures.trees import two_trees
from helpers.view.shared.tokens import colour


def marks(figure):
    """{word: {(rank, above or below)}}."""
    return {
        trace.name: {(rank, "above" if y > 0 else "below") for rank, y in zip(trace.x, trace.y, strict=True)}
        for trace in figure.data
        if trace.mode == "markers+text"
    }


def edges(figure):
    xs, ys = figure.data[0].x, figure.data[0].y
    return {(xs[i + 1], xs[i], ys[i] > 0) for i in range(0, len(xs), 3)}


@pytest.mark.parametrize("nranks", [2, 7, 8, 16])
def test_every_rank_stands_under_its_parent_in_both_trees(nranks):
    first, second = double_tree(nranks)
    figure = two_trees(first, second, "A finding")
    above = {(rank, up, True) for rank, up in enumerate(first) if up >= 0}
    below = {(rank, up, False) for rank, up in enumerate(second) if up >= 0}
    assert edges(figure) == above | below
    xs, ys = figure.data[0].x, figure.data[0].y
    assert all(abs(ys[i]) == abs(ys[i + 1]) + 1 for i in range(0, len(xs), 3)), "one level further from the line"
    assert sum(map(len, marks(figure).values())) == 2 * nranks


def test_an_even_number_of_ranks_shares_the_work():
    found = marks(two_trees(*double_tree(8), "A finding"))
    inner, leaf = found["inner"], found["leaf"]
    assert "inner in both" not in found
    assert {rank for rank, _ in inner} == {rank for rank, _ in leaf} == set(range(8))


def test_of_an_odd_number_rank_0_is_inner_in_both_in_the_red():
    figure = two_trees(*double_tree(7), "A finding")
    assert marks(figure)["inner in both"] == {(0, "above"), (0, "below")}
    [twice] = [trace for trace in figure.data if trace.name == "inner in both"]
    assert twice.marker.line.color == colour("wrong")


def test_its_table_says_what_the_picture_shows():
    html = chart(two_trees(*double_tree(4), "A finding"), "trees", "four ranks")["text/html"]
    for said in ("first tree, root, 1 child", "first tree, under 0, 2 children", "second tree, under 3, 2 children"):
        assert said in html


WRONG = {
    "two sizes": ([-1, 0], [1, 2, -1], "got 2 and 3 ranks"),
    "one rank": ([-1], [-1], "2 to 16 ranks, got 1 and 1"),
    "too many": (*double_tree(17), "got 17 and 17 ranks"),
    "two roots": ([-1, -1], [-1, 0], "the first has 2"),
    "no root": ([-1, 0], [1, 0], "the second has 0"),
    "a circle": ([-1, 2, 1], [-1, 0, 0], "the parents of rank 1 run in a circle"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_tree_is_refused(name):
    first, second, says = WRONG[name]
    with pytest.raises(ValueError, match=says):
        two_trees(first, second, "A finding")
