"""Shares by formula and on ranks: an outline and points on one axis."""

import pytest

from helpers.view.figures.training.shares import Share, shares

TWO = [Share("1F1B", 3 / 11, [0.28, 0.29]), Share("ZB-H1", 1 / 9, [0.12])]


def test_a_row_has_its_formula_and_every_repetition():
    bars, points = shares(TWO, "A finding", "idle").data
    assert list(bars.y) == ["1F1B", "ZB-H1"] and list(bars.x) == [3 / 11, 1 / 9]
    assert list(zip(points.y, points.text, strict=True)) == [("1F1B", "28.0%"), ("1F1B", "29.0%"), ("ZB-H1", "12.0%")]
    assert bars.marker.color != bars.marker.line.color, "an outline: it is a prediction"


def test_what_is_no_share_is_refused():
    with pytest.raises(ValueError, match="needs a row, got none"):
        shares([], "A finding", "idle")
    with pytest.raises(ValueError, match=r"GPipe: a share is a number from 0 to 1, got 1\.2"):
        shares([Share("GPipe", 0.2, [1.2])], "A finding", "idle")
