"""A sweep's figure: every row where its numbers say, a cross where NCCL did otherwise, and choices where nothing was timed."""

import json
from dataclasses import replace

import pytest

from helpers.ranks import Swept, Timing
from helpers.ranks.sweeping.found import Case, SweptRow, Took
from helpers.ranks.sweeping.settings import Asked
from helpers.units import KIB, MIB
from helpers.view import swept
from helpers.view.figures.show import chart

LL, SIMPLE = Took("Ring", "LL", 4), Took("Ring", "Simple", 16)


def case(protocol, seconds, took, effect=True, channels=None):
    asked = Asked("Ring", protocol, channels)
    sizes = KIB, MIB, 64 * MIB
    timings = [second and Timing(second, second, 5) for second in seconds]
    rows = [SweptRow(asked, "all_reduce", 4, n, t, 0, took, effect) for n, t in zip(sizes, timings, strict=True)]
    return Case(asked, "ran", rows=tuple(rows))


TIMED = Swept(
    "all_reduce",
    4,
    "4 ranks, nccl, 4 x a GPU",
    False,
    (
        case("LL", (1e-5, 4e-5, 1e-3), LL),
        case("Simple", (2e-5, 5e-5, 4e-4), SIMPLE, channels=8),
        case("LL128", (1e-5, 3e-5, 5e-4), SIMPLE, effect=False),
        Case(Asked("NVLS", "LL"), "impossible", "NVLS has no LL"),
    ),
)
SHARED = Swept("all_reduce", 2, "2 ranks", True, (case("LL", (None,) * 3, LL), case("Simple", (None,) * 3, None, None)))


def test_a_line_a_combination_and_a_cross_where_nccl_did_otherwise():
    figure = swept(TIMED)
    assert [line.name for line in figure.data] == ["Ring/LL", "Ring/Simple, 8 channels", "Ring/LL128"]
    assert list(figure.data[1].y) == [row.busbw for row in TIMED.cases[1].rows]
    assert [set(line.marker.symbol) for line in figure.data] == [{"circle"}, {"circle"}, {"x-thin"}]
    assert figure.data[0].hovertext[1] == "1 MiB: 39.3 GB/s, NCCL took Ring/LL on 4 channels"
    assert figure.layout.title.text == (
        "all_reduce of 64 MiB: Ring/Simple, 8 channels is fastest, 252 GB/s busbw one way"
    )
    cut = swept(
        Swept("all_reduce", 4, "here", False, (TIMED.cases[0], replace(TIMED.cases[1], rows=TIMED.cases[1].rows[:2])))
    )
    assert cut.layout.title.text.startswith("all_reduce of 1 MiB: Ring/LL is fastest"), "the largest size that all have"
    assert figure.layout.yaxis.title.text == "busbw, one way" and figure.layout.yaxis.range[0] == 0


def test_times_are_logarithmic_and_a_kept_sweep_gives_the_same_figure():
    figure = swept(TIMED, "A finding", of="seconds")
    assert list(figure.data[0].y) == [1e-5, 4e-5, 1e-3] and figure.layout.yaxis.type == "log"
    assert swept(json.loads(json.dumps(TIMED.as_json())), "A finding", of="seconds") == figure


def test_without_times_it_says_what_was_taken():
    figure = swept(SHARED)
    assert [(marks.name, list(marks.y)) for marks in figure.data] == [
        ("Ring/LL", ["Ring/LL"] * 3),
        ("untold", ["Ring/Simple"] * 3),
    ]
    assert [set(marks.marker.symbol) for marks in figure.data] == [{"circle"}, {"circle-open"}]
    assert "nothing timed" in figure.layout.title.text


def test_it_says_its_numbers_to_those_who_do_not_see():
    html = chart(swept(TIMED), "swept", "a caption")["text/html"]
    assert "busbw (GB/s)" in html and "<td>Ring/Simple on 16 channels</td>" in html
    assert "<td>Ring/LL</td>" in chart(swept(SHARED), "swept", "a caption")["text/html"]


@pytest.mark.parametrize(
    ("found", "of", "said"),
    [
        (TIMED, "algbw", 'of is "busbw" or "seconds", got \'algbw\''),
        (Swept("all_reduce", 2, "2 ranks", False, TIMED.cases[3:]), "busbw", "this one has none"),
    ],
)
def test_what_cannot_be_drawn_is_refused(found, of, said):
    with pytest.raises(ValueError, match=said):
        swept(found, of=of)
