"""Small figures: what is drawn is counted on the schedule, and what it says is what `price` says."""

from __future__ import annotations

import gzip
import json
import re
from html import unescape
from itertools import pairwise
from math import isclose
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from color import contrast
from docutils import nodes
from docutils.utils import new_document

from helpers import context
from helpers.collectives import CATALOGUE, Nodes, contributions, price
from helpers.facts import ACCELERATORS, LINKS
from helpers.memory.roofline import gemm
from helpers.units import nbytes_text, seconds_text
from helpers.view.shared.schedules.named import resolve
from helpers.view.shared.tokens import THEMES, colour
from helpers.view.sketch.busiest import LEFT, RIGHT, busiest, most, port_times
from helpers.view.sketch.chips import DOT
from helpers.view.sketch.follow import follow
from helpers.view.sketch.halves import exchanges, halves
from helpers.view.sketch.overlap import LEFT as LEFT_OF_OVERLAP
from helpers.view.sketch.overlap import RIGHT as RIGHT_OF_OVERLAP
from helpers.view.sketch.overlap import overlap
from helpers.view.sketch.page import KINDS, closing, marks_of, opening, sketch
from helpers.view.sketch.share import across, alpha_share, half, share
from helpers.view.sketch.spread import spread
from helpers.view.sketch.svg import Sketch
from helpers.view.sketch.triangle import triangle
from website.sketches import MARKS, meant, missing, worn

ROOT = Path(__file__).parents[2]
SHEET = (ROOT / "assets" / "sketch" / "sketch.css").read_text(encoding="utf-8")
EXAMPLES = {
    "follow all_reduce ring": {"nranks": 4},
    "busiest all_reduce binary-tree": {"nranks": 7, "nchunks": 1},
    "halves all_reduce halving-doubling": {"nranks": 8, "rank": 5},
    "overlap broadcast ring": {"nranks": 8, "nchunks": 8},
    "share nvlink-4": {},
    "spread broadcast binomial": {"nranks": 8},
    "product i i b": {},
    "triangle zigzag": {"nranks": 4},
    "chips EPYC-7742 A100": {},
    "sm A100": {},
    "tiles 32": {},
}


def parts(drawn: Sketch, kind: str, within: str = "*") -> list:
    """Elements of a class, in order, of the whole or of the elements of another class."""
    root = ElementTree.fromstring(f"<svg>{drawn.body}</svg>")
    boxes = [root] if within == "*" else [node for node in root.iter() if within in node.get("class", "").split()]
    return [node for box in boxes for node in box.iter() if kind in node.get("class", "").split()]


@pytest.mark.parametrize("nranks", [2, 3, 4])
def test_the_chunk_that_is_followed_comes_to_every_rank_and_its_sum_grows_to_all(nranks):
    for chunk in range(nranks):
        drawn = follow("all_reduce ring", nranks, chunk)
        badges = [int(badge.find("text").text) for badge in parts(drawn, "bim-badge")]
        inside = [len([s for s in cell if "bim-full" in s.get("class")]) for cell in parts(drawn, "bim-cell")]
        assert badges == [(chunk + 1 + i) % nranks for i in range(2 * nranks - 1)]
        assert inside == [*range(1, nranks + 1), *[nranks] * (nranks - 1)]
        assert len(drawn.moments) == len(badges) and drawn.rest == len(badges) - 1
        assert marks_of(drawn) == {f"chunk-{chunk}", *(f"rank-{rank}" for rank in range(nranks))}


def test_a_chunk_without_one_way_is_refused():
    for what, nranks, chunk, said in (
        ("broadcast binomial", 4, 0, "goes to several ranks"),
        ("all_reduce ring", 8, 0, "there is room for 8"),
        ("all_reduce ring", 4, 4, r"chunk must lie in 0\.\.3"),
    ):
        with pytest.raises(ValueError, match=said):
            follow(what, nranks, chunk)


@pytest.mark.parametrize("nranks", [4, 7, 8])
def test_the_busiest_ports_of_all_steps_are_the_price(nranks):
    nodes_of_two = Nodes(2, LINKS["nvlink-4"], LINKS["infiniband-ndr"])
    for collective, algorithm in (key for key in CATALOGUE if key[0] in ("all_reduce", "broadcast", "all_to_all")):
        s = resolve((collective, algorithm), nranks=nranks, gpus=2 if nranks % 2 == 0 else 1)
        networks = [LINKS["nvlink-4"]] if nranks % 2 else [LINKS["nvlink-4"], nodes_of_two]
        for network in networks:
            for nbytes in (1024, 2**26):
                whole = sum(map(most, port_times(s, nbytes, network)))
                cost = price(s, nbytes, network)
                if s.nswitches == 0:
                    assert isclose(whole, cost.seconds - cost.call), (algorithm, network)


def test_solid_bars_reach_from_the_start_of_the_first_step_to_the_end_of_the_last():
    """Of one ring over two nodes, solid and as long as the step are the four ports at the two boundaries."""
    drawn = busiest("all_reduce ring", 8, gpus=4, across="infiniband-ndr", steps=1)
    for rank in range(8):
        solid = [bar for bar in parts(drawn, "bim-full", f"bim-is-rank-{rank}") if bar.tag == "rect"]
        assert len(solid) == (rank % 4 in (0, 3))
        for bar in solid:
            assert float(bar.get("x")) + float(bar.get("width")) == pytest.approx(RIGHT, abs=0.02)
            assert float(bar.get("x")) > LEFT + 2, "its alpha stands before it, hollow"
    assert "step 1 of 14" in drawn.title and drawn.body.count("100 %") == 4


def test_an_inner_rank_of_a_tree_works_three_times_as_long_as_a_leaf():
    drawn = busiest("all_reduce binary-tree", 7, nchunks=1, link="infiniband-ndr")
    bars = [len(parts(drawn, "bim-is-beta", f"bim-is-rank-{rank}")) for rank in range(7)]
    assert bars == [4, 6, 6, 2, 2, 2, 2]
    assert re.findall(r"Rank \d is busy (\d+) %", drawn.told) == ["50", "75", "75", "25", "25", "25", "25"]
    with pytest.raises(ValueError, match="room for 8 ranks"):
        busiest("all_reduce ring", 9)


def test_what_partners_exchange_halves_and_doubles():
    for rank in range(8):
        steps = exchanges(resolve("all_reduce halving-doubling", nranks=8), rank)
        assert [len(one.sent) for one in steps] == [len(one.received) for one in steps] == [4, 2, 1, 1, 2, 4]
        assert [one.partner ^ rank for one in steps] == [4, 2, 1, 1, 2, 4]
        assert all(set(two.sent) | set(two.received) == set(one.received) for one, two in pairwise(steps[:3]))
        drawn = halves("all_reduce halving-doubling", 8, rank)
        wide = [float(bar.get("width")) for bar in parts(drawn, "bim-full")]
        assert [round((width + 2) / (wide[2] + 2)) for width in wide] == [4, 2, 1, 1, 2, 4]
        assert [label.text for label in parts(drawn, "bim-size")] == ["N/2", "N/4", "N/8", "N/8", "N/4", "N/2"]
    with pytest.raises(ValueError, match="rank 3 has 0 partners in step 1 of binomial"):
        halves("broadcast binomial", 4, 3)


def test_who_has_a_copy_doubles_and_who_sends_a_sum_halves():
    for nranks in (2, 5, 8):
        drawn = spread("broadcast binomial", nranks)
        steps = resolve("broadcast binomial", nranks=nranks).steps
        have = [
            np.count_nonzero(state[:, 0].any(axis=1))
            for state in contributions(resolve("broadcast binomial", nranks=nranks))
        ]
        assert [int(label.text) for label in parts(drawn, "bim-size")] == have
        assert len(parts(drawn, "bim-arrow")) == sum(map(len, steps)) == nranks - 1
    for chunk in range(8):
        drawn = spread("reduce_scatter recursive-halving", 8, chunk)
        assert [label.text for label in parts(drawn, "bim-size")] == ["4", "2", "1"]
        lines = {rank: parts(drawn, "bim-carry", f"bim-is-rank-{rank}") for rank in range(8)}
        assert [rank for rank, own in lines.items() if own[0].get("d").partition("L")[2].startswith("320 ")] == [
            chunk
        ], "to the end only its owner has it"
    for what, nranks, chunk, said in (
        ("all_reduce ring", 4, 0, "is not copied in every step, nor added"),
        ("broadcast binomial", 9, 0, "room for 8 ranks"),
        ("broadcast binomial", 8, 1, r"chunk must lie in 0\.\.0"),
    ):
        with pytest.raises(ValueError, match=said):
            spread(what, nranks, chunk)


@pytest.mark.parametrize(("nranks", "nchunks"), [(8, 8), (5, 3)])
def test_pieces_overlap_and_end_when_the_price_says(nranks, nchunks):
    """Solid bars: a message each, as long in all on each row above and below; the last of each panel ends at its fence."""
    drawn, link = overlap("broadcast ring", nranks, nchunks, 2**26, "nvlink-4"), LINKS["nvlink-4"].by("Simple")
    costs = [price(resolve("broadcast ring", nranks=nranks, nchunks=pieces), 2**26, link) for pieces in (1, nchunks)]
    assert [text.text for text in parts(drawn, "bim-size")] == [
        f"in 1 piece: {seconds_text(costs[0].seconds)}",
        f"in {nchunks} pieces: {seconds_text(costs[1].seconds)}",
    ]
    fences = [float(re.match(r"M([\d.]+) ", line.get("d"))[1]) for line in parts(drawn, "bim-fence")]
    width = RIGHT_OF_OVERLAP - LEFT_OF_OVERLAP
    assert fences[0] == pytest.approx(RIGHT_OF_OVERLAP, abs=0.01)
    assert (fences[1] - LEFT_OF_OVERLAP) / width == pytest.approx(costs[1].seconds / costs[0].seconds, abs=1e-4)
    for rank in range(1, nranks):
        bars = parts(drawn, "bim-full", f"bim-is-rank-{rank}")
        whole, *cut = [float(bar.get("width")) + 1 for bar in bars]
        assert len(cut) == nchunks and sum(cut) == pytest.approx(whole, abs=0.1), "the wire carries the same bytes"
    ends = [
        float(bar.get("x")) + float(bar.get("width")) + 1
        for bar in parts(drawn, "bim-full", f"bim-is-rank-{nranks - 1}")
    ]
    assert [ends[0], ends[-1]] == pytest.approx(fences, abs=0.05)
    with pytest.raises(ValueError, match="room for 8 ranks"):
        overlap("broadcast ring", 9)
    with pytest.raises(ValueError, match=r"ring takes .* in 1 piece"):
        overlap("broadcast ring", 2, 4)


@pytest.mark.parametrize("slug", ["nvlink-4", "infiniband-ndr", "pcie-5"])
def test_alpha_has_half_of_a_message_where_the_curve_crosses_the_line(slug):
    link = LINKS[slug]
    drawn = share(slug)
    assert alpha_share(link, half(link)) == pytest.approx(0.5)
    (line,) = parts(drawn, "bim-least")
    assert float(re.match(r"M([\d.]+) ", line.get("d"))[1]) == pytest.approx(across(half(link)), abs=0.01)
    said = [re.search(r"alpha is ([\d.]+) %", one.said)[1] for one in drawn.moments]
    assert [*map(float, said)] == sorted(map(float, said), reverse=True) and float(said[0]) > 90 > 10 > float(said[-1])
    assert abs(drawn.moments[drawn.rest].at) < (across(2**11) - across(2**10)) / 2
    with pytest.raises(ValueError, match="unknown link 'rope'"):
        share("rope")


@pytest.mark.parametrize("order", ["plain", "zigzag"])
@pytest.mark.parametrize("nranks", [2, 3, 4])
def test_every_cell_of_the_triangle_is_drawn_at_its_step_by_its_rank(order, nranks):
    """Cells as scores of long chunks: of 100 tokens a chunk, a whole cell has 100 times 100, half a one about half as many."""
    drawn, each = triangle(order, nranks), 100
    counts = context.work(order, 2 * nranks * each, nranks)
    for rank in range(nranks):
        cells = [one for one in parts(drawn, f"bim-is-rank-{rank}") if one.get("data-since") is not None]
        for step in range(nranks):
            here = [one for one in cells if int(one.get("data-since")) == step]
            halves = sum(one.find("path") is not None for one in here)
            assert {one.find("text").text for one in here} <= {str(step)}
            assert (len(here) - halves) * each**2 + halves * each * (each + 1) // 2 == counts[rank][step]
    assert len(drawn.moments) == nranks == drawn.rest + 1
    assert all(("every rank" in one.said) == (order == "zigzag") for one in drawn.moments[1:])
    with pytest.raises(ValueError, match="there is room for 4 ranks, got 5"):
        triangle(order, 5)
    with pytest.raises(ValueError, match="one of plain, zigzag, got 'round'"):
        triangle("round", nranks)


def test_a_processor_and_a_gpu_are_drawn_to_scale():
    """A square for every core and SM, a dot for every thread, areas as bytes, bars as bandwidths."""
    drawn, gpu = sketch("chips EPYC-7742 A100", {}), ACCELERATORS["A100"]
    assert [frame.get("d").count("M") + 1 for frame in parts(drawn, "bim-frame")] == [64, 108]
    rows = [re.findall(r"h([\d.]+)", dots.get("d")) for dots in parts(drawn, "bim-dots")]
    assert [sum(round((float(long) - 0.01) / DOT) + 1 for long in row) for row in rows] == [2, 2048]
    kib = [32, 512, 4096, 256, 192, gpu.l2.number / gpu.sms.number / 1024]
    squares = [
        one for one in parts(drawn, "bim-holds") if one.get("width") == one.get("height") and one.get("rx") == "1.5"
    ]
    areas = [float(one.get("width")) ** 2 for one in squares]
    assert areas == pytest.approx([areas[2] * n / 4096 for n in kib], rel=0.01)
    bars = [float(one.get("width")) for one in parts(drawn, "bim-holds") if one.get("height") == "8"]
    assert bars[0] / bars[1] == pytest.approx(204.8e9 / gpu.hbm.bandwidth.value, rel=0.001)
    assert "414 B for a thread" in drawn.told and "2.27 MiB for a thread" in drawn.told
    for wrong in ("EPYC-7742", "A100 EPYC-7742", "EPYC-7742 A100 H100"):
        with pytest.raises(ValueError, match="a processor and an accelerator"):
            sketch(f"chips {wrong}", {})


@pytest.mark.parametrize(
    ("name", "lanes", "doubles", "cores"), [("V100", 64, 32, 8), ("A100", 64, 32, 4), ("H100", 128, 64, 4)]
)
def test_every_part_of_an_sm_is_drawn_as_often_as_it_is_there(name, lanes, doubles, cores):
    drawn = sketch(f"sm {name}", {})
    drawn_lanes = {"bim-hollow" in one.get("class"): 0 for one in parts(drawn, "bim-lane")}
    for one in parts(drawn, "bim-lane"):
        drawn_lanes["bim-hollow" in one.get("class")] += one.get("d").count("M")
    assert drawn_lanes == {False: lanes, True: doubles}
    assert len(parts(drawn, "bim-core")) == cores and len(parts(drawn, "bim-tick")) == 31
    assert len(parts(drawn, "bim-part")) == len(parts(drawn, "bim-quarter")) == 4
    assert "in order and predicts no branch" in drawn.told and f"In all {lanes}, {doubles} and {cores}" in drawn.told


def test_an_sm_whose_parts_no_fact_tells_is_refused():
    with pytest.raises(ValueError, match=r"one of V100, .*A100, .*whose parts are facts, got 'MI300X'"):
        sketch("sm MI300X", {})


@pytest.mark.parametrize("t", [8, 32, 128])
def test_tiles_move_what_the_roofline_counts(t):
    """Of one tile of the result, step by step: its share of the bytes that `gemm` reads tile by tile."""
    drawn = sketch(f"tiles {t}", {})
    n = 4 * t
    (work,) = gemm(n, n, n, tile=t).passes
    assert len(drawn.moments) == 4
    for step, moment in enumerate(drawn.moments):
        assert len([one for one in parts(drawn, "bim-holds") if one.get("data-since") == str(step)]) == 3
        assert f"{nbytes_text(sum(work.reads.values()) / 16 / 4)} in all" in moment.said
        assert f"{work.flops // 16 // 4:,.0f} FLOP" in moment.said and f"{t // 2} for each byte" in moment.said
    with pytest.raises(ValueError, match="whole number"):
        sketch("tiles wide", {})


@pytest.mark.parametrize(("what", "options"), EXAMPLES.items(), ids=KINDS)
def test_a_sketch_is_whole_and_named_without_a_script(what, options):
    drawn = sketch(what, options)
    html = opening(drawn, "sketch-7") + closing(drawn, "sketch-7")
    assert html == opening(sketch(what, options), "sketch-7") + closing(drawn, "sketch-7")
    tree = ElementTree.fromstring(re.sub(r"<input([^>]*)>", r"<input\1/>", html))
    svg = tree.find(".//svg")
    assert [tree.find(f".//*[@id='{svg.get(name)}']").text for name in ("aria-labelledby", "aria-describedby")] == [
        drawn.title,
        drawn.told,
    ]
    knows = json.loads(unescape(re.search(r'data-sketch="([^"]*)"', html)[1]))
    assert len(knows["at"]) > knows["rest"] and knows["pace"] * (knows["rest"] + 1) < 5000, "longer must be stoppable"
    assert (tree.find(".//input") is not None) == bool(drawn.slider) == bool(knows["says"])
    letters = [float(text.get("font-size")) for text in tree.iter("text")]
    high = 330 if drawn.title.startswith(("EPYC", "One")) else 220  # the three of the execution model
    assert min(letters) >= 11 and "bim-later" not in html and drawn.height <= high


def test_what_no_sketch_is_or_takes_is_refused():
    with pytest.raises(ValueError, match=r"kind must be one of follow, .*, got 'chase'"):
        sketch("chase all_reduce ring", {})
    with pytest.raises(ValueError, match="share does not take all of: nranks"):
        sketch("share nvlink-4", {"nranks": 4})


def test_a_word_names_its_marks():
    assert meant("Rank 2") == ("Rank 2", ["rank 2"])
    assert meant("the leaves <rank 3, rank 14>") == ("the leaves", ["rank 3", "rank 14"])
    assert worn(["rank 9"]) == ["bim-word", "bim-word-rank", "bim-r1", "bim-is-rank-9"]
    assert worn(["rank 3", "rank 4"])[2:] == ["bim-word-several", "bim-is-rank-3", "bim-is-rank-4"]
    with pytest.raises(ValueError, match="'gamma' is no mark"):
        meant("its <alpha, gamma>")


def test_a_word_without_its_mark_is_told():
    picture, word = nodes.raw("", "", format="html"), nodes.inline("", "rank 2")
    picture[MARKS], word[MARKS] = ["rank-1", "rank-2"], ["rank-2"]
    page = new_document("page")
    page += [word, picture]
    assert missing(page) == []
    picture[MARKS] = ["rank-1"]
    assert missing(page) == [(word, "rank-2")]


@pytest.mark.parametrize(
    ("what", "stripes", "says"),
    [
        ("b -", 8, "Nothing moves. Y is cut along b."),
        ("- i", 4, "An all_gather makes W whole first. Y is whole on every rank."),
        ("i o", 12, "An all_gather makes X whole first. Y is cut along o."),
        ("i i", 12, "Each rank gets a partial sum of all of Y, and an all_reduce adds them up."),
        ("i i b", 16, "and a reduce_scatter adds them up. Y is cut along b."),
        ("b o", 12, "Case 4"),
    ],
)
def test_a_product_shows_who_has_what(what, stripes, says):
    """Four stripes for each matrix that is cut, and for partial sums; the collective is the one of helpers.collectives.product."""
    drawn = sketch(f"product {what}", {})
    assert len(parts(drawn, "bim-badge")) == stripes and says in drawn.told


@pytest.mark.parametrize("what", ["", "b", "o i", "b - o", "i i i", "b - - -"])
def test_what_is_no_product_is_refused(what):
    with pytest.raises(ValueError, match=r"cut along|is told as|Y is cut as"):
        sketch(f"product {what}", {})


@pytest.mark.parametrize("theme", THEMES)
def test_a_lit_word_can_be_read(theme):
    """On a fifth of the colour of its mark; its swatch stands out from the page as marks do."""
    share = float(re.search(r"bim-lit \{ background: color-mix\(in srgb, var\(--c\) (\d+)%", SHEET)[1]) / 100
    for name in (*(f"rank-{i}" for i in range(8)), "muted"):
        ground = mixed(colour(name, theme), colour("page", theme), share)
        assert (
            contrast(ground, colour("ink", theme)) >= 4.5 and contrast(colour(name, theme), colour("page", theme)) >= 3
        )


def mixed(one: str, other: str, share: float) -> str:
    """Of two colours, channel by channel."""
    pairs = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def test_the_script_is_small_and_asks_for_nothing():
    script = (ROOT / "assets" / "sketch" / "sketch.js").read_text(encoding="utf-8")
    assert len(gzip.compress(script.encode(), 9)) < 6000
    assert not re.search(r"fetch|XMLHttp|innerHTML|https?:|import", script)
