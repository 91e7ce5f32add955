"""From dumps of the flight recorder to the report of helpers.ranks.hangs: the same words as for ranks of this project."""

import json
from pathlib import Path

import pytest
from test_flight_recorder import dump, entry

from helpers.nccl import parse_flight_recorder
from helpers.ranks.hangs.flight import positions, report
from helpers.ranks.notes.notes import State

GLOO = json.loads((Path(__file__).parent / "logs" / "gloo-skip.json").read_text())


def said(*dumps):
    return report(parse_flight_recorder(list(dumps)))


def test_the_rank_that_has_left_a_collective_out():
    first, *rest = report(parse_flight_recorder(GLOO)).splitlines()
    assert (
        first
        == "the dumps say where the ranks were, not whether they went on: rank 3 has not reached all_reduce #5 of float32[4]"
    )
    assert rest[0].startswith("ranks 0-2 waiting in all_reduce #5 of float32[4] at record_flight.py line ")
    assert rest[1:] == ["rank 3: running, after barrier #4"]


def test_a_rank_without_a_dump():
    text = report(parse_flight_recorder(dict(enumerate(GLOO[:3]))))
    assert text.startswith("rank 3 left no dump of its flight recorder") and "has not reached" not in text


@pytest.mark.parametrize(
    ("dumps", "first"),
    [
        (
            [dump(entry(0, 1, "started")), dump(entry(0, 1, "started")), dump(entry(0, 1, "started", op="broadcast"))],
            "ranks 0, 1 are in all_reduce #1 of float32[4] (line not recorded), rank 2 in broadcast #1 of float32[4] (line not recorded)",
        ),
        (
            [dump(entry(0, 1, "started", op="_all_gather_base", size=(n,))) for n in (4, 4, 2)],
            "sizes differ in all_gather_into_tensor #1: ranks 0, 1 have float32[4] (line not recorded),"
            " rank 2 float32[2] (line not recorded)",
        ),
    ],
)
def test_ranks_that_do_not_do_the_same(dumps, first):
    assert said(*dumps).splitlines()[0] == first


def test_nobody_is_missing():
    assert "nobody is missing from all_reduce #1" in said(*[dump(entry(0, 1, "started"))] * 3)


def test_what_is_queued_behind_it_has_not_come():
    """Rank 2 waits in a group of its own, and what it has queued there is not in the other group's way."""
    groups = {
        "0": {"name": "0", "desc": "", "ranks": "[0, 1, 2]"},
        "1": {"name": "1", "desc": "", "ranks": "[1, 2]"},
    }
    one = dump(entry(0, 1, "started"), pg_config=groups)
    two = dump(entry(0, 1, "started", group="1"), entry(1, 1, "scheduled"), pg_config=groups)
    text = said(one, one, two)
    assert "rank 1 has not reached all_reduce #1 of float32[4] in the group of ranks 1, 2" in text


def test_a_receive_that_nobody_answers():
    receive = entry(0, 0, "started", op="recv 1<-0", is_p2p=True, p2p_seq_id=1, size=(8,))
    text = said(dump(entry(0, 1)), dump(entry(0, 1), receive | {"record_id": 1}), dump(entry(0, 1)))
    assert "rank 1 waits to receive from rank 0" in text


def test_a_finished_program_accuses_nobody():
    text = said(*[dump(entry(0, 1))] * 3)
    assert text.splitlines()[-1] == "ranks 0-2 running, after all_reduce #1"


@pytest.mark.parametrize(("backend", "behind"), [("nccl", State.QUEUED), ("gloo", State.LAUNCHED)])
def test_what_was_handed_over_later_waits_on_a_gpu_and_runs_on_a_cpu(backend, behind):
    ops = [entry(i, i + 1, "scheduled", backend=backend) for i in range(2)]
    (position, *_) = positions(parse_flight_recorder([dump(*ops)] * 3))
    assert [note.state for note in position.journal.notes] == [State.INSIDE, behind]
