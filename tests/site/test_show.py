"""show(): one figure as data for JupyterLab, for the page and for plain readers; no code in any of them."""

import json
import re
from html import unescape

import plotly.graph_objects as go
import pytest
from books import sample_figure

from helpers.view.figures.show import NROWS, chart


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
    assert re.findall(r'<th scope="col">(.*?)</th>', html) == ["", "ranks", "ms"]
    assert html.count("<td>model</td>") == html.count("<td>run</td>") == 4
    assert "<td>4.5</td>" in html


def test_long_table_is_thinned_and_says_so():
    figure = go.Figure(go.Scatter(x=list(range(100)), y=list(range(100))), {"title": "t"})
    html = chart(figure, "many", "Made up.")["text/html"]
    assert html.count("<tr><td>") == NROWS
    assert f"{NROWS} of 100 points" in html
    assert "<td>0</td>" in html
    assert "<td>99</td>" in html


def test_hover_text_gives_the_units():
    trace = go.Scatter(x=[1024], y=[1e-6], name="ring", hovertext=["1 KiB: 1 µs"])
    html = chart(go.Figure(trace, {"title": "t"}), "hover", "Made up.")["text/html"]
    assert "<tr><td>ring</td><td>1 KiB</td><td>1 µs</td></tr>" in html


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
