"""A page says of its values what they are: once where a section says it, by a line where it does not, and never not at all."""

import pytest
from docutils import nodes

from helpers import facts
from helpers.conventions import WORDS
from helpers.units import KINDS
from website import conventions, roles
from website.conventions import TOLD, VALUE


def value(text, **said):
    return nodes.inline("", text, classes=["bim-lab"], **{VALUE: said})


def recorded(text, run):
    return nodes.abbreviation("", text, classes=["bim-recorded"], **{VALUE: roles.said(run)})


def told(convention, key):
    return nodes.inline("", conventions.words(convention, key), **{TOLD: (convention, key)})


def text(*parts):
    return nodes.paragraph("", "", *(nodes.Text(part) if isinstance(part, str) else part for part in parts))


def page(*parts, opening=()):
    """A page of one section with a heading above it, as the build hands it on; what it reads as, section by section."""
    section = nodes.section("", nodes.title("", "A section"), *parts)
    doctree = nodes.document(None, None, source="page")
    doctree += nodes.section("", nodes.title("", "The page"), *opening, section)
    conventions.say(None, doctree)
    return section.astext().split("\n\n")[1:]


def cell(*parts):
    return nodes.entry("", text(*parts))


def table(head, *rows):
    group = nodes.tgroup(
        "", nodes.thead("", nodes.row("", *head)), nodes.tbody("", *(nodes.row("", *row) for row in rows))
    )
    return nodes.table("", group)


def test_a_line_says_what_the_section_does_not():
    assert page(text("It takes ", value("3 ms", time="nccl"), ".")) == ["It takes 3 ms.", "Times: by NCCL's model."]


def test_a_section_that_says_it_has_no_line():
    assert page(text("By price it takes ", value("3 ms", time="price"), told("time", "price"))) == [
        "By price it takes 3 msby price"
    ]


def test_a_line_speaks_for_the_others_where_the_section_has_words_for_some():
    some = text("By price it takes ", value("3 ms", time="price"), told("time", "price"), value("4 ms", time="nccl"))
    assert page(some)[-1] == "Other times: by NCCL's model."


def test_what_is_told_in_a_footnote_or_a_note_speaks_for_that():
    for scope in (nodes.footnote, nodes.note, nodes.container):
        said = page(scope("", text(told("time", "nccl"), value("1 ms", time="nccl"))), text(value("2 ms", time="nccl")))
        assert said[-1] == "Other times: by NCCL's model.", scope


def test_a_text_of_several_lines_that_differs_has_a_line_of_its_own():
    block = nodes.literal_block("", "in 3 ms\nand 4 ms", **{VALUE: {"time": "price"}})
    said = page(block, text(value("1 ms", time="nccl"), value("2 ms", time="nccl")))
    assert said[1] == "Times: by price." and said[-1] == "Times: by NCCL's model, unless marked."


def test_a_mark_stands_behind_the_unit():
    one = recorded("17", {"rows": []})
    said = page(text(value("3 ms", time="nccl"), value("4 ms", time="nccl"), " and ", one, " µs, so"))
    assert said[0] == "3 ms4 ms and 17 µs (measured), so"


def test_what_differs_from_the_line_is_marked():
    said = page(text(value("3 ms", time="nccl"), value("4 ms", time="nccl"), value("5 ms", time="measured")))
    assert said == ["3 ms4 ms5 ms (measured)", "Times: by NCCL's model, unless marked."]


def test_sizes_and_what_was_given_say_nothing():
    assert page(text(value("64 MiB", types="size"), value("10 s", time="given"))) == ["64 MiB10 s"]


def test_a_column_speaks_for_its_cells_alone():
    head = [cell("job"), cell(told("time", "price")), cell("other")]
    said = page(table(head, [cell("7B"), cell(value("3 ms", time="price")), cell(value("4 ms", time="price"))]))
    assert said[-1] == "Other times: by price."
    alone = page(table(head, [cell("7B"), cell(value("3 ms", time="price")), cell("-")]))
    assert "Times" not in alone[-1]
    other = page(table(head, [cell("7B"), cell(value("3 ms", time="nccl")), cell("-")]))
    assert "3 ms (by NCCL's model)" in other


def test_a_row_speaks_for_its_cells():
    said = page(
        table([cell("kind"), cell("time")], [cell(told("time", "measured")), cell(value("3 ms", time="measured"))])
    )
    assert "Times" not in said[-1]


def test_the_opening_of_a_page_speaks_for_itself_alone():
    opening = [text(told("time", "nccl"), value("1 ms", time="nccl"))]
    assert page(text(value("3 ms", time="nccl")), opening=opening) == ["3 ms", "Times: by NCCL's model."]


@pytest.fixture
def warned(monkeypatch):
    found = []
    monkeypatch.setattr(conventions.log, "warning", lambda text, *args, **_: found.append(text % args))
    return found


def test_a_bare_number_with_its_unit_in_the_prose_is_refused(warned):
    page(text("The step has ", value("3.94"), " PFLOP on each GPU."))
    assert len(warned) == 1 and "'3.94 PFLOP'" in warned[0] and "all keys" in warned[0]
    page(text("A share of ", value("10%"), " of the 70B's step"))
    page(text("in ", value("5 calls"), " or ", value("5"), " GPUs of ", value("3"), "."))
    assert len(warned) == 1
    page(text("It takes ", nodes.strong("", "", value("5")), " ms."))
    assert "'5 ms.'" in warned[1]


@pytest.mark.parametrize(
    ("head", "row", "refused"),
    [
        (("job", "ours, MiB"), ("7B", "12.5"), True),
        (("job", "takes (ms)"), ("7B", "12.5"), True),
        (("MB", "tensors"), ("BERT", "12.5"), True),
        (("MiB", "steps"), ("64", "12"), False),
        (("job", "FLOP per byte"), ("7B", "12.5"), False),
        (("job", "ms"), ("7B", "5 calls"), False),
    ],
)
def test_a_bare_number_under_its_unit_is_refused(warned, head, row, refused):
    page(table([cell(one) for one in head], [cell(row[0]), cell(value(row[1]))]))
    assert len(warned) == refused


def test_a_published_share_of_a_peak_says_which_scores_it_counts():
    share = nodes.reference("", "54.1 %", classes=["bim-fact"], **{VALUE: {"time": "measured", "pairs": "all keys"}})
    assert page(text(share))[-1] == "FLOPs, MFU and HFU: every query with every key."


def test_a_recorded_value_is_measured_and_names_its_types(warned):
    trace = {"data": {"ranks": [{"about": {"precision": "fp32"}}]}}
    said = page(text(recorded("3.2", trace), " MiB, and ", recorded("17", {"rows": []}), " µs"))
    assert said[-1] == "Times: measured. Bytes: all in fp32." and not warned
    page(text(recorded("3.2", {"rows": []}), " MiB"))
    assert len(warned) == 1 and "fsdp2" in warned[0]
    assert page(text(recorded("8", {"rows": []}), " GPUs")) == ["8 GPUs"]


@pytest.mark.parametrize(
    ("key", "says"),
    [("nvlink-4.call", "fitted to measurements"), ("nccl.call.ll", "by NCCL's model"), ("torch.nccl.timeout", "")],
)
def test_a_fact_says_how_it_is_known(key, says):
    assert conventions.words("time", roles.TIMES[facts.lookup(key).kind]) == says


def test_every_kind_of_fact_has_its_kind_of_time():
    assert roles.TIMES.keys() == set(KINDS) and set(roles.TIMES.values()) <= WORDS["time"].keys()
