"""Bars of peaks: a class is a colour of the memory widget, a bar is the peak, and nothing is drawn that nobody holds."""

import pytest

from helpers.facts import ACCELERATORS
from helpers.memory import CLASSES, Peak
from helpers.units import GIB
from helpers.view.figures.training.peaks import peaks
from helpers.view.shared.tokens import colour


def peak(**gib):
    by_class = {cls: int(gib.get(cls, 0) * GIB) for cls in CLASSES}
    return Peak(0, sum(by_class.values()), by_class, "step", "", "")


TWO = {"plain": peak(parameter=2, activation=5), "fused": peak(parameter=2, optimizer=3.5)}


def test_classes_are_stacked_in_order_and_only_where_there_are_any():
    figure = peaks(TWO, "A finding")
    assert [bar.name for bar in figure.data] == ["parameter", "optimizer", "activation"]
    assert [list(bar.x) for bar in figure.data] == [[2, 2], [0, 3.5], [5, 0]]
    assert all(list(bar.y) == ["plain", "fused"] for bar in figure.data)
    assert figure.layout.barmode == "stack" and figure.layout.yaxis.autorange == "reversed"


def test_colours_are_the_memory_widget_s():
    drawn = {bar.name: bar.marker.color for bar in peaks(TWO, "A finding").data}
    names = {"parameter": "parameters", "optimizer": "optimizer", "activation": "activations"}
    assert drawn == {cls: colour(f"memory-{names[cls]}") for cls in drawn}
    every = peak(**dict.fromkeys(CLASSES, 1))
    assert len({bar.marker.color for bar in peaks({"all": every}, "A finding").data}) == len(CLASSES)


def test_a_bar_says_its_size():
    assert list(peaks(TWO, "A finding").data[1].hovertext) == ["plain: 0 B", "fused: 3.5 GiB"]


def test_nothing_is_refused():
    with pytest.raises(ValueError, match="needs a peak"):
        peaks({}, "A finding")


def test_a_device_s_memory_is_a_dashed_line():
    figure = peaks(TWO, "A finding", device=ACCELERATORS["A100-40GB"])
    (line,), (words,) = figure.layout.shapes, figure.layout.annotations
    assert (line.x0, line.x1, line.line.dash) == (40, 40, "dash")
    assert words.text == "A100-40GB: 40 GiB"
