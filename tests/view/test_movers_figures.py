"""The engines on a way, and who keeps the SMs: what is drawn is what was given, and what cannot be is refused."""

from itertools import pairwise
from types import SimpleNamespace

import pytest

from helpers.nccl.movers import ENGINES, MOVERS, held
from helpers.view.figures.nccl.engines import engines
from helpers.view.figures.nccl.occupied import Area, Panel, occupied
from helpers.view.figures.show import chart
from helpers.view.shared.tokens import colour

WAYS = list(MOVERS.values())


def squares(figure):
    """(column, filled) of every square, row by row; orders stand in a trace of their own."""
    return [[(x, t.marker.color == colour("accent")) for x in t.x] for t in figure.data if t.mode == "markers+text"]


def test_a_row_has_what_the_bytes_pass_filled_and_who_orders_hollow():
    by_name = {way.name: squares(engines([way], ENGINES, "A finding")) for way in WAYS}
    assert by_name["SM kernel"] == [[(0, True), (1, True), (6.2, True)]]
    assert by_name["copy engine"] == [[(3, False)], [(0, True), (2, True), (6.2, True)]]
    assert by_name["GPU-initiated NIC"] == [[(1, False)], [(0, True), (4, True), (6.2, True)]]
    assert by_name["SM kernel, network switch adds"][-1] == [(x, True) for x in (0, 1, 4, 5, 6.2)]


def test_the_name_of_who_orders_stands_off_the_dots():
    for way in WAYS:
        figure = engines([way], ENGINES, "A finding")
        dots = [t for t in figure.data if t.mode == "lines" and t.line.dash == "dot"]
        for line in dots:
            name = next(t for t in figure.data if t.mode == "text" and list(t.text) == [way.orders])
            assert (name.x[0] - line.x[0]) * (line.x[1] - line.x[0]) < 0


def test_names_stand_clear_of_squares_and_of_the_next_row():
    figure = engines(WAYS, ENGINES, "A finding")
    low, high = figure.layout.yaxis.range
    pixels = (figure.layout.height - 56) / (high - low)  # its margins
    row = [t for t in figure.data if t.mode in ("markers+text", "text")][:3]
    squares, names = (next(t for t in row if t.mode == mode) for mode in ("markers+text", "text"))
    assert pixels * (squares.y[0] - names.y[0]) > (squares.marker.size + 3) / 2 + 4
    second = [t for t in figure.data if t.customdata is not None][1]
    assert pixels * (names.y[0] - second.y[0]) > 24, "a line with some room"


def test_who_adds_has_a_plus():
    pluses = {}
    for way in WAYS:
        texts = [list(t.text) for t in engines([way], ENGINES, "A finding").data if t.mode == "markers+text" and t.text]
        pluses[way.name] = sum(row.count("+") for row in texts)
    assert pluses == {way.name: int(bool(way.adds)) for way in WAYS}


def test_rows_do_not_touch_and_the_table_says_the_same():
    figure = engines(WAYS, ENGINES, "A finding", {"copy engine": "NCCL 2.28"})
    tops = [t.y[0] for t in figure.data if t.customdata is not None]
    assert tops == sorted(tops, reverse=True) and min(a - b for a, b in pairwise(tops)) > 0.7
    html = chart(figure, "mine", "a caption")["text/html"]
    assert "<td>copy engine</td><td>copy engine</td><td>CPU</td><td>nothing</td>" in html
    assert "NCCL 2.28" in html


@pytest.mark.parametrize(
    ("ways", "says"),
    [
        ([], "at least one"),
        ([SimpleNamespace(name="odd", touches=("GPU",), orders="CPU", adds="")], "odd: 'GPU' is none"),
    ],
)
def test_ways_that_cannot_be_drawn_are_refused(ways, says):
    with pytest.raises(ValueError, match=says):
        engines(ways, ENGINES, "A finding")


PRODUCT = [Area("product", one.sms, one.start, one.end) for one in held(132, 1.0, 132, 24, 0.5) if one.rounds]
SHARED = Panel([Area("collective", 24, 0, 0.5), *PRODUCT], 1.25)


def bars(figure):
    return [(t.base[0], t.x[0], round(t.y[0], 3), t.width) for t in figure.data if t.type == "bar"]


def test_every_area_is_as_high_as_its_sms_and_none_covers_another():
    figure = occupied({"shared": SHARED}, 132, "A finding")
    drawn = bars(figure)
    assert [(base, length) for base, length, *_ in drawn] == [(0, 0.5), (0, 1.0), (0.5, 1.0)]
    assert [round(width * 132) for *_, width in drawn] == [24, 108, 24]
    collective, first, late = ((y - w / 2, y + w / 2) for _, _, y, w in drawn)
    assert late == pytest.approx(collective, abs=2e-3), "those who waited take the collective's SMs"
    assert first[1] == pytest.approx(collective[0], abs=2e-3)


def test_what_was_measured_is_a_line_and_told():
    figure = occupied({"shared": SHARED, "alone": Panel([Area("product", 132, 0, 1)])}, 132, "A finding")
    lines = [list(t.x) for t in figure.data if t.type == "scatter" and t.mode == "lines"]
    assert lines == [[1.25, 1.25]]
    words = [t.text[0] for t in figure.data if t.type == "scatter" and t.mode == "text"]
    assert words == ["<b>shared</b><br>model 1.5 s, measured 1.25 s", "<b>alone</b><br>model 1 s"]
    assert "<td>shared</td><td>collective</td><td>24</td>" in chart(figure, "mine", "a caption")["text/html"]


def test_no_word_stands_where_the_measured_line_goes():
    panels = {
        name: Panel([Area("product", 132, 0, 1)], at) for name, at in {"late": 0.7, "soon": 0.3, "no": None}.items()
    }
    words = [(t.insidetextanchor, t.text[0]) for t in occupied(panels, 132, "A finding").data if t.type == "bar"]
    assert words == [("start", "132 SMs"), ("end", "132 SMs"), ("middle", "product: 132 SMs")]


@pytest.mark.parametrize(
    ("panels", "says"),
    [
        ({}, "at least one panel"),
        ({"x": Panel([Area("product", 133, 0, 1)])}, "x: 133 SMs are busy at 0 s, and there are 132"),
        ({"x": Panel([Area("collective", 24, 0, 1), Area("product", 132, 0.5, 1)])}, "156 SMs are busy at 500 ms"),
        ({"x": Panel([Area("product", 1, 2, 1)])}, "ends after it starts"),
    ],
)
def test_more_sms_than_there_are_are_refused(panels, says):
    with pytest.raises(ValueError, match=says):
        occupied(panels, 132, "A finding")
