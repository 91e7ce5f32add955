"""The figure of stages: bars end to end, the total behind each, and the seconds in its table."""

import pytest

from helpers.view.figures.show import chart
from helpers.view.figures.training.stages import stages

CASES = {
    "1 NIC": [("inside", 2e-3), ("across", 8e-3), ("inside", 1e-3)],
    "2 NICs": [("inside", 3e-3), ("across", 4e-3)],
}


def test_a_stage_is_one_bar_however_often_it_comes():
    bars = {trace.name: dict(zip(trace.y, trace.x, strict=True)) for trace in stages(CASES, "A finding").data[:-1]}
    assert bars == {"inside": {"1 NIC": 3e-3, "2 NICs": 3e-3}, "across": {"1 NIC": 8e-3, "2 NICs": 4e-3}}
    assert stages(CASES, "A finding").layout.barmode == "stack"


def test_behind_each_bar_stands_its_total_and_the_axis_has_room_for_it():
    figure = stages(CASES, "A finding")
    assert figure.data[-1].text == (" 11 ms", " 7 ms")
    assert figure.layout.xaxis.range[1] > 1.3 * 11e-3


def test_the_first_case_is_on_top():
    assert stages(CASES, "A finding").layout.yaxis.categoryarray == ("2 NICs", "1 NIC")


def test_no_two_stages_look_alike():
    many = {"one": [("a", 1), ("b", 1), ("c", 1), ("d", 1)]}
    assert len({trace.marker.color for trace in stages(many, "A finding").data[:-1]}) == 4


def test_its_table_says_seconds():
    html = chart(stages(CASES, "A finding"), "mine", "a caption")["text/html"]
    assert "<td>across</td><td>1 NIC</td><td>8</td>" in html


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ({}, "wants 1 to 4 different ones"),
        ({"one": [(name, 1) for name in "abcde"]}, "wants 1 to 4 different ones"),
        ({"one": [("a", -1)]}, r"one: a stage lasts 0 s or more, got \('a', -1\)"),
        ({"one": [("a", float("nan"))]}, "0 s or more"),
    ],
)
def test_what_is_no_bar_is_refused(cases, says):
    with pytest.raises(ValueError, match=says):
        stages(cases, "A finding")
