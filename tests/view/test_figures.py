import json

import pytest

from helpers.view.figures.against_size import Curve, time_against_size
from helpers.view.figures.show import chart
from helpers.view.shared.tokens import series_colour

SIZES = [4**k for k in range(5, 14)]


def curve(name="ring", kind="prediction", alpha=1e-5):
    return Curve(name, kind, SIZES, [alpha + n / 1e9 for n in SIZES])


def test_a_prediction_is_dashed_and_hollow_a_measurement_solid():
    guess, run, old = time_against_size(
        [curve(), curve(kind="measurement", alpha=2e-5), curve("tree", "recorded")], "A finding"
    ).data
    assert (guess.line.dash, guess.marker.symbol) == ("dash", "circle-open")
    assert (run.line.dash, run.marker.symbol, old.marker.symbol) == (None, "circle", "circle-dot")
    assert guess.line.color == run.line.color == series_colour(0) != old.line.color


def test_up_to_four_lines_are_labelled_at_their_ends():
    figure = time_against_size([curve(), curve(kind="measurement", alpha=2e-5)], "A finding")
    assert not figure.layout.showlegend
    assert [(t.text[0], t.text[-1]) for t in figure.data] == [("ring, prediction", ""), ("", "ring, measurement")]
    five = time_against_size([curve(name) for name in "abcde"], "A finding")
    assert five.layout.showlegend and all(t.text is None for t in five.data)


def test_ticks_carry_units():
    figure = time_against_size([curve()], "A finding")
    assert {"1 KiB", "4 MiB"} <= set(figure.layout.xaxis.ticktext)
    assert {"10 µs", "1 ms"} <= set(figure.layout.yaxis.ticktext)


def test_times_within_a_decade_or_two_have_ticks_between_the_powers():
    narrow = Curve("ring", "measurement", [2**10, 2**20], [1.2e-3, 45e-3])
    axis = time_against_size([narrow], "A finding").layout.yaxis
    assert list(axis.ticktext) == ["1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms"]
    assert axis.tickvals == pytest.approx([1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3])
    flat = Curve("ring", "measurement", [2**10], [3e-3])
    assert list(time_against_size([flat], "A finding").layout.yaxis.ticktext) == ["2 ms", "5 ms"]


def test_its_table_has_sizes_and_times():
    html = chart(time_against_size([curve()], "A finding"), "mine", "a caption")["text/html"]
    assert '<th scope="col">message size (KiB)</th><th scope="col">time (µs)</th>' in html
    assert "<td>ring, prediction</td><td>1</td><td>11</td>" in html


def test_is_the_same_text_every_time():
    once, twice = (
        json.dumps(time_against_size([curve()], "A finding").to_plotly_json(), default=str) for _ in range(2)
    )
    assert once == twice


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("a", "guess", [1], [1]), "kind must be one of prediction, measurement, recorded, got 'guess'"),
        (("a", "prediction", [1, 2], [1]), "2 sizes but 1 times"),
        (("a", "prediction", [], []), "at least one"),
        (("a", "prediction", [0], [1]), "sizes and seconds must be > 0"),
    ],
)
def test_refuses(args, says):
    with pytest.raises(ValueError, match=says):
        Curve(*args)


@pytest.mark.parametrize(
    "low, high, ticks",
    [
        (0.9e-3, 12e-3, ["500 µs", "1 ms", "2 ms", "5 ms", "10 ms", "20 ms"]),
        (1.2e-3, 95e-3, ["1 ms", "3 ms", "10 ms", "30 ms", "100 ms"]),
    ],
    ids=["two powers of ten are too few", "seven ticks are too many"],
)
def test_ticks_are_neither_few_nor_many(low, high, ticks):
    curve = Curve("ring", "measurement", [2**10, 2**20], [low, high])
    assert list(time_against_size([curve], "A finding").layout.yaxis.ticktext) == ticks
