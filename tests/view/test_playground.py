"""The playground from Python: what it accepts, what it saves, its targets, and what a kernel and a page may tell each other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fractions import Fraction

import pytest
from test_player import Seen

from helpers.collectives import CATALOGUE, PROMISES, Schedule, check
from helpers.exercises.puzzles import PUZZLES
from helpers.view import Playground, playground
from helpers.view.playground.widget import SIZES, PlaygroundSpec, empty, playground_html, playground_spec, targets

RING = CATALOGUE["all_reduce", "ring"](4)


def test_the_spec_is_the_whole_state():
    assert playground("broadcast", nranks=8, nbytes="1 KiB", link="pcie-5").spec == {
        "schedule": "broadcast mine nranks=8 nchunks=1 root=0",
        "nbytes": 1024,
        "link": "pcie-5",
        "step": 0,
        "task": None,
    }
    assert playground("all_reduce_both").spec["task"] == "all_reduce_both"
    assert playground("all_reduce ring", step=3).spec["schedule"] == str(RING)
    assert playground(RING).schedule == RING


@pytest.mark.parametrize("collective", PROMISES)
def test_every_collective_can_be_begun(collective):
    for nranks in (2, 5, 8):
        s = empty(collective, nranks)
        PROMISES[collective].accepts(s.nranks, s.nchunks, s.root)
        assert s.steps == ()
        assert Schedule.parse(playground_spec(s).schedule) == s


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: playground("all_sum"), "unknown collective 'all_sum': expected one of all_reduce, reduce"),
        (lambda: playground("broadcast", nranks=9), "2 to 8 ranks and no switches, got nranks=9"),
        (lambda: playground("broadcast", nranks=1), "got nranks=1"),
        (lambda: playground("all_reduce nvls"), "got nranks=4, 1 switches"),
        (lambda: playground("all_reduce", root=1), "all_reduce takes no root, got root=1"),
        (lambda: playground("scatter", nchunks=3), "nchunks to be a multiple of nranks=4, got nchunks=3"),
        (lambda: playground(RING + RING), "no collective yet"),
        (lambda: playground(RING, link="string"), "unknown link 'string': expected one of nvlink-3, nvlink-4"),
        (lambda: playground(RING, step=7), r"step must lie in 0\.\.6, got 7"),
        (lambda: playground(RING, step=True), r"step must lie in 0\.\.6, got True"),
        (lambda: playground(RING, target="moon"), "unknown target 'moon': expected one of broadcast_rounds"),
        (lambda: playground(Schedule("broadcast", "x", 2, 1, RINGS, 0)), "up to 64 steps, got 65"),
    ],
)
def test_bad_input_says_what_was_expected(make, told):
    with pytest.raises(ValueError, match=told):
        make()


RINGS = tuple(((0, 1, 0, "copy"),) for _ in range(65))


def test_targets_are_the_puzzles():
    told = json.loads(json.dumps(targets()))
    assert [target["name"] for target in told] == list(SIZES)
    assert len(told) >= 8
    assert {rule for target in told for rule in target["rules"]} == {"one_port", "one_chunk", "matching"}
    for target in told:
        puzzle = PUZZLES[target["name"]]
        size = puzzle.target(*SIZES[puzzle.name])
        assert (target["steps"], Fraction(*target["moves"])) == (size.steps, size.moves)
        assert (target["collective"], target["root"], target["text"]) == (puzzle.collective, puzzle.root, puzzle.task)
        assert not puzzle.nswitches and not puzzle.gpus
        assert re.fullmatch(r"\w+", target["name"])  # it stands in links


def test_a_saved_playground_is_data_and_a_table():
    for what, rows in (("broadcast", 1), ("all_reduce ring", 6)):
        widget = playground(what)
        seen = Seen(widget.html())
        tag, attributes = seen.tags[0]
        assert (tag, attributes["class"], attributes["data-kind"]) == ("div", "bim-mount", "playground")
        assert json.loads(attributes["data-spec"]) == widget.spec
        assert sum(tag == "tr" for tag, _ in seen.tags) == 1 + rows
        assert not re.search(r"0x[0-9a-f]{4,}|<script", widget.html() + repr(widget))
    assert "1:0⇒1" in seen.text and "must hold the sum of all" in seen.text


def test_html_and_repr_are_the_same_every_time():
    spec = playground_spec(RING)
    assert playground_html(spec) == playground_html(PlaygroundSpec.read(json.loads(json.dumps(spec.as_json()))))
    assert repr(playground(RING)) == "Playground(a playground for all_reduce on 4 ranks in 4 chunks: 6 steps)"
    assert repr(playground("reduce", 2, root=1)) == (
        "Playground(a playground for reduce on 2 ranks to rank 1 in 1 chunk: no steps yet)"
    )


def test_what_the_reader_draws_reaches_python_and_the_saved_output_stays():
    widget = playground("broadcast", nranks=2)
    before = widget.html()
    drawn = "broadcast mine nranks=2 nchunks=1 root=0\n0:0→1"
    widget.set_state({"spec": {**widget.spec, "schedule": drawn}})  # what a frontend's message does
    assert widget.schedule == Schedule.parse(drawn)
    check(widget.schedule)
    assert widget.html() == before


def test_a_kernel_answers_with_the_catalogues_schedule():
    widget = Playground(empty("all_reduce", 4))
    asked = {"collective": "all_reduce", "algorithm": "ring", "nranks": 4, "nchunks": None, "root": None}
    widget.set_state({"spec": asked})
    assert widget.trace["text"] == str(RING)
    assert widget.schedule.steps == ()  # until the page has taken it
    widget.set_state({"spec": {**asked, "algorithm": "string"}})
    assert "unknown schedule 'all_reduce' by 'string'" in widget.trace["error"]


def test_the_mimebundle_has_widget_page_and_text():
    widget = playground("all_gather")
    data, _ = widget._repr_mimebundle_()
    assert data["text/html"] == widget.html()
    assert data["text/plain"] == repr(widget).strip()
    assert "application/vnd.jupyter.widget-view+json" in data


def test_drawing_needs_no_torch():
    code = (
        "import sys\nfrom helpers.view import playground\nplayground('all_reduce_both')\nprint('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
