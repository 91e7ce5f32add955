"""A message cut up, the primitives of a ring, a tree over nodes: what is drawn is what was given."""

import pytest

from helpers.collectives import CATALOGUE, double_tree
from helpers.nccl import fused
from helpers.view.figures.nccl.chains import chains, meets
from helpers.view.figures.nccl.passes import passes
from helpers.view.figures.nccl.pipeline import pipeline
from helpers.view.figures.nccl.zoom import Level, zoom
from helpers.view.figures.show import chart

LEVELS = [Level("the message", 1024, 4, "channels"), Level("a channel's part", 256, 2, "chunks")]


def ways(trace):
    """The lines of a trace: each a list of points."""
    found = [[]]
    for x, y in zip(trace.x, trace.y, strict=True):
        if x is None:
            found.append([])
        else:
            found[-1].append((x, y))
    return [points for points in found if points]


def test_a_row_has_a_line_between_every_two_parts_and_the_first_is_filled():
    boxes, firsts, _, _ = zoom(LEVELS, "A finding").data
    between = [points[0][0] for points in ways(boxes) if len(points) == 2]
    assert between == [0.25, 0.5, 0.75, 0.5] and len(ways(boxes)) == 4 + 2
    assert firsts.fill == "toself" and [max(x for x, _ in points) for points in ways(firsts)] == [0.25, 0.5]


def test_the_first_part_opens_to_the_whole_row_below():
    rays = ways(zoom(LEVELS, "A finding").data[2])
    assert [(upper[0], lower[0]) for upper, lower in rays] == [(0, 0), (0.25, 1)]
    assert all(upper[1] > lower[1] for upper, lower in rays)


def test_a_cut_is_told_in_words_and_in_the_table():
    html = chart(zoom(LEVELS, "A finding"), "mine", "a caption")["text/html"]
    assert "the message, 1 KiB: 4 channels" in html
    assert "<td>a channel&#x27;s part</td><td>256</td><td>2 chunks</td>" in html, "the table has a column for each"


@pytest.mark.parametrize(
    ("levels", "says"),
    [([], "at least one"), ([Level("it", 1, 0, "parts")], "got 0"), ([Level("it", 1, 65, "x")], "got 65")],
)
def test_what_cannot_be_cut_is_refused(levels, says):
    with pytest.raises(ValueError, match=says):
        zoom(levels, "A finding")


def test_every_primitive_of_every_rank_is_a_mark():
    programs = fused(CATALOGUE["all_reduce", "ring"](4))
    figure = passes(programs, "A finding")
    drawn = {(t.name, x, y, int(c)) for t in figure.data for x, y, c in zip(t.x, t.y, t.text, strict=True)}
    assert drawn == {(one.name, one.step, rank, one.chunk) for rank, mine in enumerate(programs) for one in mine}
    assert [t.name for t in figure.data] == ["send", "recvReduceSend", "recvReduceCopySend", "recvCopySend", "recv"]
    looks = {(t.marker.symbol, t.marker.color) for t in figure.data}
    assert len(looks) == 5, "each name looks its own way"


def test_all_names_of_the_catalogue_have_a_look():
    for collective in ("all_gather", "reduce_scatter"):
        passes(fused(CATALOGUE[collective, "ring"](3)), "A finding")


@pytest.mark.parametrize(("programs", "says"), [([], "got 0"), (fused(CATALOGUE["all_reduce", "ring"](9)), "got 9")])
def test_a_grid_that_has_no_room_is_refused(programs, says):
    with pytest.raises(ValueError, match=says):
        passes(programs, "A finding")


def edges(figure, name):
    line = next(trace for trace in figure.data if trace.name == name)
    place = {
        (x, y): int(text) for x, y, text in zip(figure.data[-1].x, figure.data[-1].y, figure.data[-1].text, strict=True)
    }
    ends = [place[x, y] for x, y in zip(line.x, line.y, strict=True) if x is not None]
    return list(zip(ends[::2], ends[1::2], strict=True))


def test_the_tree_is_over_nodes_and_the_chain_inside():
    figure = chains(double_tree(4)[0], 4, "A finding")
    assert edges(figure, "tree between nodes") == [(4, 9), (8, 0), (12, 8)]
    assert len(edges(figure, "chain inside a node")) == 12
    assert all(a // 4 == b // 4 and b == a + 1 for a, b in edges(figure, "chain inside a node"))


def test_the_child_with_the_smaller_number_meets_the_second_gpu():
    """connectTrees: a child below its parent's number is of type 0, and treeToChild0 is the chain's second GPU."""
    assert (meets(1, 2, 8), meets(3, 2, 8)) == (17, 16)


def test_a_gpu_knows_its_chain_its_parent_and_its_children():
    said = chains(double_tree(4)[0], 4, "A finding").data[-1].hovertext
    assert (said[0], said[8], said[9]) == ("0: 1, 8", "8: 0, 9, 12", "9: 4, 8, 10")
    assert max(text.count(",") for text in said) == 2, "nobody has more than three peers"


@pytest.mark.parametrize(
    ("parents", "gpus", "says"),
    [
        ([], 4, "got 0 of 4"),
        ([-1, 0], 1, "2 of 1"),
        ([0, 0], 4, "one root"),
        ([-1, 7], 4, "one root"),
        ([-1, 2, 1], 4, "circle"),
    ],
)
def test_what_is_no_tree_is_refused(parents, gpus, says):
    with pytest.raises(ValueError, match=says):
        chains(parents, gpus, "A finding")


def test_a_round_is_in_the_next_stage_when_it_leaves_one():
    figure = pipeline(("in", "adds", "out"), 4, 2e-6, 1e-6, "A finding")
    assert [trace.name for trace in figure.data] == ["in", "adds", "out"]
    for k, lane in enumerate(figure.data):
        assert list(lane.base) == pytest.approx([1e-6 + (i + k) * 2e-6 for i in range(4)])
        assert list(lane.text) == ["1", "2", "3", "4"] and set(lane.x) == {2e-6}
    assert figure.data[-1].base[-1] + 2e-6 == pytest.approx(1e-6 + (4 + 2) * 2e-6), "two stages more than rounds"
    assert figure.data[0].marker.color[0] != figure.data[0].marker.color[1], "two rounds beside each other differ"


@pytest.mark.parametrize(
    ("names", "rounds", "stage", "begin"),
    [((), 2, 1, 0), (("a",), 0, 1, 0), (("a",), 17, 1, 0), (("a",), 2, 0, 0), (("a",), 2, 1, -1)],
)
def test_what_is_no_pipeline_is_refused(names, rounds, stage, begin):
    with pytest.raises(ValueError, match="got"):
        pipeline(names, rounds, stage, begin, "A finding")
