"""The widget `clock` from Python: every end is the link's price, what is readable grows to all, and what cannot be drawn is refused."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
import traitlets

from helpers.collectives import Schedule, price
from helpers.facts import LINKS
from helpers.nccl.protocols import PROTOCOLS, SIMPLE
from helpers.view import clock
from helpers.view.clock import page
from helpers.view.clock.lanes import KNOWN, crossings, lanes, moment, stops
from helpers.view.clock.widget import SIZES, ClockSpec, clock_html, clock_sentence, clock_spec, told, verdict
from helpers.view.widgets import line
from website.widgets import directive

KIB, MIB = 2**10, 2**20
EVERY = [(slug, nbytes) for slug in KNOWN for nbytes in SIZES]


def hop() -> Schedule:
    """A message from rank 0 to rank 1, and nothing else."""
    return Schedule("broadcast", "one-hop", 2, 1, steps=(((0, 1, 0, "copy"),),), root=0)


def first(slug: str, nbytes: int) -> str:
    return min(lanes(KNOWN[slug], nbytes), key=lambda lane: lane.end).protocol.name


@pytest.mark.parametrize("slug", KNOWN)
@pytest.mark.parametrize("nbytes", [8, 64 * KIB, 8 * MIB, 256 * MIB])
def test_a_lane_ends_when_the_price_says(slug, nbytes):
    for lane in lanes(LINKS[slug], nbytes):
        by = LINKS[slug].by(lane.protocol.name)
        assert lane.end == by.call + by.seconds(nbytes)
        assert lane.end == pytest.approx(price(hop(), nbytes, LINKS[slug], protocol=lane.protocol.name).seconds)
    assert set(clock(nbytes, slug).ends) == set(PROTOCOLS)


def test_five_links_know_all_three_protocols():
    assert set(KNOWN) == {"nvlink-3", "nvlink-4", "nvlink-5", "infiniband-hdr", "infiniband-ndr"}


@pytest.mark.parametrize("slug", KNOWN)
def test_what_is_readable_grows_in_whole_pieces_to_all_of_it(slug):
    for lane in (lane for nbytes in SIZES for lane in lanes(KNOWN[slug], nbytes)):
        nbytes = lane.nbytes
        end = moment(lane.end)
        times = sorted({*stops(KNOWN[slug], nbytes), *(end * i // 40 for i in range(41)), end - 1, end + 1})
        got = [lane.readable(at) for at in times]
        assert got == sorted(got) and (got[0], got[-1]) == (0, nbytes)
        assert all(n % lane.piece == 0 for n in got if n < nbytes)
        assert lane.readable(moment(lane.start) - 1) == 0 and lane.readable(end) == nbytes


@pytest.mark.parametrize("nbytes", [256 * KIB, 4 * MIB, 8 * MIB])
def test_a_slice_is_readable_when_it_is_there_and_not_before(nbytes):
    lane = lanes(KNOWN["nvlink-4"], nbytes)[-1]
    assert lane.protocol is SIMPLE and 2 <= lane.pieces <= 8
    for i in range(1, lane.pieces + 1):
        at = moment(lane.start + i * lane.piece * lane.link.beta)
        assert at in stops(KNOWN["nvlink-4"], nbytes)
        assert (lane.readable(at - 1), lane.readable(at)) == ((i - 1) * lane.piece, i * lane.piece)


@pytest.mark.parametrize("slug", KNOWN)
def test_who_is_first_changes_at_the_crossings_and_nowhere_else(slug):
    one, two = crossings(KNOWN[slug])
    names = [first(slug, nbytes) for nbytes in SIZES]
    assert names == ["LL" if n < one else "LL128" if n < two else "Simple" for n in SIZES]
    assert set(names) == set(PROTOCOLS), "the slider reaches all three"
    around = [(slug, round(n * f)) for n in (one, two) for f in (0.999, 1.001)]
    assert [first(*place) for place in around] == ["LL", "LL128", "LL128", "Simple"]


def test_pieces_are_those_of_nccl():
    assert [lane.piece for lane in lanes(KNOWN["nvlink-4"], 64 * KIB)] == [8, 120, 32 * KIB]
    assert [lane.pieces for lane in lanes(KNOWN["nvlink-4"], 64 * KIB)] == [8192, 547, 2]
    assert [lane.pieces for lane in lanes(KNOWN["nvlink-4"], 8)] == [1, 1, 1]
    assert lanes(KNOWN["nvlink-4"], 64 * MIB)[-1].piece == SIMPLE.slice == MIB


def test_the_verdict_and_the_reading():
    assert clock_sentence(clock_spec()) == (
        "64 KiB over NVLink 4 (H100): LL is first, after 6.66 µs. Its bytes begin 1.82 µs before those of LL128 and take"
        " only 245 ns longer. Of 64 KiB, GPU B can read at 6.66 µs: all by LL, nothing yet by LL128 and Simple."
    )
    assert verdict(clock_spec("64 MiB")).endswith("begin 10.5 µs after those of LL128, but take 12.5 µs less.")
    assert verdict(clock_spec("8 B")).endswith("take less than 1 ns longer.")


def test_one_piece_is_not_many():
    said = [told(lane) for slug, nbytes in EVERY for lane in lanes(KNOWN[slug], nbytes)]
    assert all(
        re.match(r"1 (line|slice) of \S+ \S+, told|[\d,]{1,11} (lines|slices) of \S+ \S+, each told", text)
        for text in said
    )
    assert {text for text in said if re.match(r"1 \w+s ", text)} == set()
    assert "1 line of 128 B, told by flag" in said and "1 slice of 8 B, told by counter and fence" in said


@pytest.mark.parametrize(("slug", "nbytes"), [(slug, nbytes) for slug, nbytes in EVERY if nbytes.bit_length() % 3 == 0])
def test_the_reason_is_true(slug, nbytes):
    spec = clock_spec(nbytes, slug)
    best, second = sorted(spec.lanes, key=lambda lane: lane.end)[:2]
    said = verdict(spec)
    assert f": {best.protocol} is first" in said and re.search(rf"those of {second.protocol}[ ,]", said)
    assert (" before those" in said) == (best.start < second.start)
    assert said.endswith(" less.") == (best.transfer <= second.transfer)


def test_almost_all_is_not_all():
    end = moment(lanes(KNOWN["nvlink-4"], 8 * MIB)[0].end)
    assert "almost 8 MiB by LL," in clock_sentence(clock_spec("8 MiB", at=end - 1))
    assert "all by LL," in clock_sentence(clock_spec("8 MiB", at=end))


def test_a_saved_cell_has_the_prices_in_a_table():
    html = clock_html(clock_spec())
    assert "<td>LL</td><td>5.38</td><td>0.84</td><td>441</td><td>6.66</td><td>50 %</td>" in html
    assert "<td>93.75 %</td><td>547 lines of 128 B, each told by flag</td>" in html
    assert "<td>100 %</td><td>2 slices of 32 KiB, each told by counter and fence</td>" in html


def test_what_a_widget_saves_is_what_its_cell_asked_for():
    widget = clock("1 MiB", at=0)
    before = widget.html()
    widget.spec = clock_spec("8 B").as_json()
    assert widget.html() == before and repr(widget).startswith("Clock(1 MiB over NVLink 4 (H100): LL128 is first")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: clock_spec("100 KiB"), "nbytes must be a power of two from 8 B to 256 MiB, got '100 KiB'"),
        (lambda: clock_spec(4), "got 4"),
        (lambda: clock_spec(True), "True"),
        (lambda: clock_spec("1 GiB"), "got '1 GiB'"),
        (lambda: clock_spec(link="pcie-5"), "knows LL, LL128 and Simple: nvlink-3, nvlink-4.*; got 'pcie-5'"),
        (lambda: clock_spec(link="rope"), "got 'rope'"),
        (lambda: clock_spec(at=10**6), "at must be whole nanoseconds from 0 to 18724, got 1000000"),
        (lambda: clock_spec(at=1.5), "got 1.5"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_kernel_cannot_be_told_what_cannot_be_drawn():
    with pytest.raises(traitlets.TraitError, match="no spec of a clock: nbytes must be"):
        clock().spec = {"link": "nvlink-4", "nbytes": 9, "at": 0}
    with pytest.raises(traitlets.TraitError, match="no spec of a clock"):
        clock().spec = {"link": "nvlink-4"}


def test_the_clock_stops_in_order_and_ends_with_the_last_lane():
    for slug, nbytes in EVERY:
        found = stops(KNOWN[slug], nbytes)
        assert found[0] == 0 and all(a < b for a, b in pairwise(found)) and len(found) <= 16
        assert found[-1] == max(moment(lane.end) for lane in ClockSpec(slug, nbytes, 0).lanes)


def test_the_directive_needs_no_argument_and_the_others_still_do():
    assert (directive(line("clock")).required_arguments, directive(line("clock")).optional_arguments) == (0, 1)
    assert directive(line("warp")).required_arguments == 1
    assert page.html("", {"nbytes": "64 KiB", "link": "nvlink-4", "at": 6661}) == clock_html(clock_spec())
