"""The widget `primitive` from Python: what it accepts, what it saves, and what a kernel and a page may tell each other."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import traitlets
from test_player import Seen

from helpers.collectives import PRIMITIVES
from helpers.view import primitive
from helpers.view.primitive.rows import list_text, number_text, read_values
from helpers.view.primitive.widget import PrimitiveSpec, primitive_html, primitive_sentence, primitive_spec, primitives


def test_the_spec_is_the_whole_state():
    assert primitive_spec("all_reduce", 3, "1 2 3", op="max").as_json() == {
        "primitive": "all_reduce",
        "nranks": 3,
        "root": 0,
        "op": "max",
        "values": [[1], [2], [3]],
    }


@pytest.mark.parametrize(
    ("name", "nranks", "values", "root", "wanted"),
    [
        ("all_reduce", 2, None, 0, [[1, 2], [11, 12]]),
        ("all_gather", 3, None, 0, [[1], [11], [21]]),
        ("barrier", 2, None, 0, [[1], [11]]),
        ("reduce_scatter", 3, None, 0, [[1, 2, 3], [11, 12, 13], [21, 22, 23]]),
        ("all_reduce", 2, "1 2.50; -3, 4", 0, [[1, 2.5], [-3, 4]]),
        ("all_reduce", 2, "1\n2\n", 0, [[1], [2]]),
        ("all_gather", 3, "7 8 9", 0, [[7], [8], [9]]),
        ("all_gather", 3, [7, 8, 9], 0, [[7], [8], [9]]),
        ("broadcast", 3, "7 8 9", 2, [[1, 2, 3], [11, 12, 13], [7, 8, 9]]),
        ("scatter", 2, [5, 6], 0, [[5, 6], [11, 12]]),
        ("send_recv", 2, "4", 1, [[1], [4]]),
        ("all_to_all", 2, [[1, 2], [3, 4]], 0, [[1, 2], [3, 4]]),
        ("all_to_all", 2, np.array([[1, 2], [3, 4]]), 0, [[1, 2], [3, 4]]),
        ("all_reduce", 2, ((1e6,), (-1e-7,)), 0, [[1000000], [-1e-7]]),
    ],
)
def test_values_may_be_written_in_many_ways(name, nranks, values, root, wanted):
    got = read_values(name, nranks, values, root)
    assert got == wanted
    assert json.dumps(got) == json.dumps(wanted)  # whole numbers stay whole


def test_random_values_are_the_same_every_time():
    one, two = primitive("all_reduce", 4, "random"), primitive("all_reduce", 4, "random")
    assert one.before == two.before != primitive("all_reduce", 4).before
    assert one.html() == two.html()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: primitive("all_sum"), "unknown primitive 'all_sum': expected one of all_reduce, reduce"),
        (lambda: primitive("all_reduce", 1), "draws 2 to 16 ranks, got nranks=1"),
        (lambda: primitive("all_reduce", 17), "got nranks=17"),
        (lambda: primitive("all_reduce", "4"), "got nranks='4'"),
        (lambda: primitive("all_reduce", root=1), "all_reduce takes no root, got root=1"),
        (lambda: primitive("reduce", root=4), r"root must be a rank in 0\.\.3, got 4"),
        (lambda: primitive("reduce", root=-1), r"root must be a rank in 0\.\.3, got -1"),
        (lambda: primitive("reduce", op="mean"), "unknown op 'mean': expected one of sum, avg"),
        (lambda: primitive("gather", op="max"), "gather takes no op, got op='max'"),
        (lambda: primitive("barrier", op="max"), "barrier takes no op"),
        (lambda: primitive("all_reduce", 2, "1 x; 2 3"), "a value is a number .* got 'x'"),
        (lambda: primitive("all_reduce", 2, [[1], [float("nan")]]), "a value is a number .* got nan"),
        (lambda: primitive("all_reduce", 2, [[1], [1000001]]), "got 1000001"),
        (lambda: primitive("all_reduce", 2, [[1], [True]]), "got True"),
        (lambda: primitive("all_reduce", 2, [[1], [None]]), "got None"),
        (lambda: primitive("all_reduce", 3, "1; 2"), "a row of numbers for each of 3 ranks, got 2"),
        (lambda: primitive("all_reduce", 2, ""), "a row of numbers for each of 2 ranks, got 0"),
        (lambda: primitive("all_reduce", 2, [[1, 2], [1]]), r"every rank needs equally many, got \[2, 1\]"),
        (lambda: primitive("all_reduce", 2, [[], []]), r"equally many numbers .* got \[0\]"),
        (lambda: primitive("all_to_all", 2, "1 2 3; 4 5 6"), "3 numbers cannot be split evenly"),
        (lambda: primitive("all_gather", 16, [[1, 2]] * 16), "at most 16 numbers per rank, all_gather would hold 32"),
        (lambda: primitive("all_reduce", 2, [range(17)] * 2), "would hold 17"),
    ],
)
def test_bad_input_says_what_was_expected(make, told):
    with pytest.raises(ValueError, match=told):
        make()


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_saved_widget_is_data_and_a_table(name):
    widget = primitive(name, 3)
    seen = Seen(widget.html())
    tag, attributes = seen.tags[0]
    assert (tag, attributes["class"], attributes["data-kind"]) == ("div", "bim-mount", "primitive")
    assert json.loads(attributes["data-spec"]) == primitive_spec(name, 3).as_json()
    assert sum(tag == "tr" for tag, _ in seen.tags) == 1 + 3
    assert PRIMITIVES[name].line(3) in seen.text
    assert PRIMITIVES[name].use in seen.text
    for row in widget.after:
        assert list_text(row) in seen.text
    assert not re.search(r"0x[0-9a-f]{4,}|<script", widget.html() + repr(widget))


def test_the_sentence_names_one_rank_that_gets_something():
    assert primitive_sentence(primitive_spec("all_reduce", 3, "1 2 3")) == (
        "all_reduce (sum) on 3 ranks: rank 0 gives [1] and ends with [6]"
    )
    assert primitive_sentence(primitive_spec("gather", 3, root=2)).endswith(
        "rank 0 gives [1], rank 2 ends with [1, 11, 21]"
    )
    assert primitive_sentence(primitive_spec("scatter", 2, root=1)).endswith(
        "rank 1 gives [11, 12], rank 0 ends with [11]"
    )
    assert primitive_sentence(primitive_spec("barrier", 2, "3 9")).endswith(
        "rank 0 arrives at [3] and leaves at [9] ms"
    )


def test_before_and_after_are_there_to_be_read():
    widget = primitive("reduce", 3, "1 2 3; 4 5 6; 7 8 9", root=1, op="product")
    assert widget.after == [None, [28, 80, 162], None]
    assert primitive("broadcast", 3, "7", root=1).before == [None, [7], None]


def test_the_mimebundle_has_widget_page_and_text():
    widget = primitive("all_gather")
    data, _ = widget._repr_mimebundle_()
    assert data["text/html"] == widget.html()
    assert data["text/plain"] == repr(widget).strip()
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_choice_of_the_reader_reaches_python_and_the_saved_output_stays():
    widget = primitive("all_reduce", 3, "1 2 3")
    before = widget.html()
    widget.set_state({"spec": primitive_spec("gather", 2, "5 6", root=1).as_json()})  # what a frontend's message does
    assert widget.after == [None, [5, 6]]
    assert widget.html() == before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"nranks": 5}, "each of 5 ranks, got 4"),
        ({"primitive": "all_sum"}, "unknown primitive"),
        ({"values": None, "root": None}, "root must be a rank"),
        ({"op": 3}, "unknown op 3"),
    ],
)
def test_a_spec_that_cannot_be_drawn_is_refused(change, told):
    widget = primitive("all_reduce", 4)
    before = widget.spec
    with pytest.raises(traitlets.TraitError, match=told):
        widget.spec = before | change
    with pytest.raises(traitlets.TraitError, match="no spec of a primitive"):
        widget.spec = {}
    assert widget.spec == before


def test_the_page_gets_all_ten():
    told = json.loads(json.dumps(primitives()))
    assert [one["name"] for one in told] == list(PRIMITIVES)
    who = {one["name"]: (one["gives"], one["gets"]) for one in told}
    assert who["all_reduce"] == who["barrier"] == who["all_to_all"] == ("all", "all")
    assert who["reduce"] == who["gather"] == ("all", "root")
    assert who["broadcast"] == who["scatter"] == ("root", "all")
    assert who["send_recv"] == ("root", "peer")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (64, "64"),
        (-1234567, "-1234567"),
        (1 / 3, "0.333333"),
        (2.5, "2.5"),
        (123456.75, "123456.8"),
        (1e9, "1e9"),
        (9999.99951e6, "1e10"),
        (-1.23456e12, "-1.235e12"),
        (0.00012, "0.00012"),
        (-0.00001, "-1e-5"),
    ],
)
def test_numbers_are_short(value, text):
    assert number_text(value) == text


def test_html_is_the_same_every_time():
    spec = primitive_spec("all_to_all", 5)
    assert primitive_html(spec) == primitive_html(PrimitiveSpec.read(json.loads(json.dumps(spec.as_json()))))
