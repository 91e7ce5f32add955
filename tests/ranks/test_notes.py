"""Op notes: entered is told from completed, signatures are compared, and what they cost."""

from __future__ import annotations

import os
import time

import labs
import pytest
import reported
import torch
import torch.distributed as dist

from helpers.ranks.hooks import noting
from helpers.ranks.notes import descriptions, notes, reader_lines
from helpers.ranks.notes.envelopes import Peer, pack_group
from helpers.ranks.notes.notes import State


@pytest.fixture
def region() -> memoryview:
    return memoryview(bytearray(notes.REGION))


def journals(*calls: list[tuple]) -> list[notes.Journal]:
    """One journal per rank, from (op, agreed) of what it entered; it is still in the last."""
    found = []
    for entered in calls:
        region = memoryview(bytearray(notes.REGION))
        writer = notes.Writer(region)
        for op, agreed, *group in entered:
            record = writer.enter(op, agreed, "", *group, where="cell line 7")
            writer.mark(record, State.DONE)
        if entered:
            writer.mark(record, State.INSIDE)
        found.append(notes.read(region))
    return found


def test_a_note_tells_entered_from_completed(region):
    writer = notes.Writer(region)
    first = writer.enter("all_reduce", "float32[4]", where="cell line 7")
    assert str(notes.read(region).inside) == "all_reduce #1 of float32[4]"
    writer.mark(first, State.DONE)
    journal = notes.read(region)
    assert journal.inside is None and journal.notes[0].state == State.DONE and journal.notes[0].where == "cell line 7"
    writer.enter("recv", "int64[2]", peers=[Peer(False, 3)])
    assert str(notes.read(region).inside) == "recv from rank 3 of int64[2]"
    assert notes.read(region).entered == 1, "a receive is no collective"


def test_old_records_are_overwritten(region):
    writer = notes.Writer(region)
    for _ in range(1000):
        record = writer.enter("barrier", "")
    writer.mark(0, State.DONE)  # long overwritten: nothing happens
    journal = notes.read(region)
    assert [note.number for note in journal.notes] == list(range(1001 - notes.KEPT, 1001))
    assert journal.entered == 1000 and record == 999
    assert journal.inside.number == 1001 - notes.KEPT, "the oldest that is open: on a stream the others wait for it"


def test_long_texts_are_cut_and_no_field_is_lost(region):
    long = "x" * 500
    group = pack_group("x" * 40, range(1000), "dp")
    notes.Writer(region).enter("all_gather_into_tensor_coalesced", long, " (DistributedDataParallel)", group, (), long)
    (note,) = notes.read(region).notes
    assert note.op == "all_gather_into_tensor_coalesced" and str(note.within).endswith("ranks 0-999 (mesh dim dp)")
    assert len(note.agreed) == 48 and len(note.where) == 60


def test_texts_that_differ_after_the_cut_still_differ(region):
    writer = notes.Writer(region)
    for end in "ab":
        writer.enter("new_group", "ranks " + "0, 1, 2, " * 10 + end)
    first, second = notes.read(region).notes
    assert first.agreed != second.agreed and max(len(first.agreed), len(second.agreed)) <= 48


def test_messages_are_counted_by_peer_way_tag_and_group(region):
    writer = notes.Writer(region)
    for peers in (
        [Peer(True, 1)],
        [Peer(True, 1)],
        [Peer(False, 1)],
        [Peer(True, 1, 7)],
        [Peer(True, 2), Peer(True, 1)],
    ):
        writer.enter("isend", "", peers=peers)
    writer.enter("isend", "", "", pack_group("1", [0, 1]), [Peer(True, 1)])
    found = [[peer.number for peer in note.peers] for note in notes.read(region).notes]
    assert found == [[1], [2], [1], [1], [1, 3], [1]]
    writer.clear()
    writer.enter("isend", "", peers=[Peer(True, 1)])
    assert notes.read(region).notes[0].peers[0].number == 1, "a new call counts afresh"


def test_notes_of_an_earlier_call_are_not_those_of_this_one(region):
    writer = notes.Writer(region)
    writer.enter("barrier", "")
    assert notes.read(region, 0) == notes.read(region) and not notes.read(region, 1).notes
    writer.clear()
    writer.enter("broadcast", "float32[4] root 0")
    assert [note.op for note in notes.read(region, 1).notes] == ["broadcast"] and not notes.read(region, 0).notes


def test_a_record_that_is_being_overwritten_is_left_out(region):
    writer = notes.Writer(region)
    writer.enter("barrier", "")
    # Another record's number, its text not yet there
    region[notes.RECORD : notes.RECORD + 8] = (99).to_bytes(8, "little")
    assert notes.read(region).notes == ()


def test_a_mismatch_is_said_in_words():
    ring = [("all_reduce", "float32[8]")] * 3
    found = journals(*[[*ring, ("all_reduce", "float32[8]")]] * 3, [*ring, ("broadcast", "float32[8] root 0")])
    assert reported.differs(found) == (
        "ranks 0-2 are in all_reduce #4 of float32[8] (cell line 7),"
        " rank 3 in broadcast #4 of float32[8] root 0 (cell line 7)"
    )
    assert reported.differs(journals(ring, ring, ring[:1])) is None, "being behind is no mismatch"


@pytest.mark.parametrize(
    "one, other, said",
    [
        (
            "float32[8]",
            "float32[4]",
            "sizes differ in reduce #1: ranks 0, 1 have float32[8] (cell line 7), rank 2 float32[4]",
        ),
        (
            "float32[8]",
            "bool[8]",
            "types differ in reduce #1: ranks 0, 1 have float32[8] (cell line 7), rank 2 bool[8]",
        ),
        (
            "int8[2] root 0",
            "int8[2] root 1",
            "roots differ in reduce #1 of int8[2]: ranks 0, 1 have root 0 (cell line 7), rank 2 root 1",
        ),
        (
            "int8[2]",
            "int8[2] max",
            "reductions differ in reduce #1 of int8[2]: ranks 0, 1 have sum (cell line 7), rank 2 max",
        ),
        (
            "int8[2] root 0",
            "int8[3] root 1",
            "ranks 0, 1 are in reduce #1 of int8[2] root 0 (cell line 7), rank 2 in reduce #1 of int8[3] root 1",
        ),
        (
            "ranks 0, 1",
            "ranks 1, 2",
            "ranks 0, 1 are in reduce #1 of ranks 0, 1 (cell line 7), rank 2 in reduce #1 of ranks 1, 2",
        ),
    ],
)
def test_one_thing_that_differs_is_named(one, other, said):
    found = journals([("reduce", one)], [("reduce", one)], [("reduce", other)])
    assert reported.differs(found) == f"{said} (cell line 7)"


def test_sizes_that_may_differ_agree_with_everything():
    assert reported.differs(journals([("all_to_all_single", "")], [("all_to_all_single", "float32[8]")])) is None
    assert reported.differs(journals([("all_to_all_single", "")], [("barrier", "")])) is not None


def test_groups_are_compared_by_themselves():
    one, other = pack_group("g1", [0, 1]), pack_group("g2", [2, 3])
    fine = journals(
        [("barrier", "", one)], [("barrier", "", one)], [("all_reduce", "a", other)], [("all_reduce", "a", other)]
    )
    assert reported.differs(fine) is None
    wrong = journals([("barrier", "", one)], [("all_reduce", "a", one)])
    assert "barrier #1 in the group of ranks 0, 1" in reported.differs(wrong)


def test_waiting_is_hopeless_only_when_it_is():
    waiting = [("all_reduce", "a")] * 2
    assert reported.certain(journals(waiting, waiting[:1]), pending={0, 1}) is None, "rank 1 may still come"
    assert reported.certain(journals(waiting, waiting), pending={0}) is None, "rank 1 has entered: it will arrive"
    assert reported.certain(journals(waiting, waiting[:1]), pending={0}).startswith("rank 1 finished without entering")
    differing = journals([("barrier", "")], [("all_reduce", "a")])
    assert reported.certain(differing, pending={0, 1}) == reported.differs(differing) is not None, (
        "no deadline need pass"
    )
    receives = journals([("recv", "a", None)], [])
    assert reported.certain(receives, pending={0}) is None, "what has no group and no peer is not counted"


def test_every_collective_is_noted_once_with_its_line(two):
    def f():
        x, y = torch.ones(4), torch.empty(8)
        dist.all_reduce(x)
        dist.all_gather_into_tensor(y, x)
        dist.all_gather_object([None, None], "o")
        dist.broadcast(x, src=1)
        dist.reduce(x, 0, dist.ReduceOp.MAX)
        dist.all_to_all_single(y, torch.ones(8), [4, 4], [4, 4])
        handle = dist.all_reduce(x, async_op=True)
        handle.wait()
        dist.barrier()

    two.run(f)
    line = f.__code__.co_firstlineno
    found = notes.read(two._team.members[1].region).notes
    assert [(str(note), note.where) for note in found] == [
        ("all_reduce #1 of float32[4]", f"test_notes.py line {line + 2}"),
        ("all_gather_into_tensor #2 of float32[4]", f"test_notes.py line {line + 3}"),
        ("all_gather_object #3", f"test_notes.py line {line + 4}"),
        ("broadcast #4 of float32[4] root 1", f"test_notes.py line {line + 5}"),
        ("reduce #5 of float32[4] root 0 max", f"test_notes.py line {line + 6}"),
        ("all_to_all_single #6", f"test_notes.py line {line + 7}"),
        ("all_reduce #7 of float32[4]", f"test_notes.py line {line + 8}"),
        ("barrier #8", f"test_notes.py line {line + 10}"),
    ]
    assert {note.state for note in found} == {State.DONE}


def test_a_batch_is_one_note_that_ends_with_its_last_wait(two):
    def f():
        other = 1 - dist.get_rank()
        x, y = torch.ones(4), torch.empty(4)
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other)])
        for work in works:
            work.wait()

    two.run(f)
    (note,) = notes.read(two._team.members[0].region).notes
    assert (str(note), note.state) == ("batch_isend_irecv: to rank 1, from rank 1", State.DONE)


def test_numbers_start_at_1_in_every_call(two):
    for _ in range(2):
        two.run(labs.healthy)
        assert [note.number for note in notes.read(two._team.members[0].region).notes] == [1]


def test_an_async_launch_is_not_a_wait(two):
    """Four seconds of computing while a collective is under way: longer than the deadline, and no fault."""

    def f():
        handle = dist.all_reduce(torch.ones(4), async_op=True)
        time.sleep(2.4)
        handle.wait()

    assert two.run(f) == [None, None]


def test_a_note_costs_at_most_a_twentieth_of_a_small_all_reduce(pools):
    """A 64 KB all_reduce on 4 ranks, noted and not, in turns. Noise is larger than the cost, so the note is timed by itself."""

    def cost():
        x = torch.ones(16384)
        region = memoryview(bytearray(notes.REGION))
        noter = noting.Noter(notes.Writer(region), noting.Completion())
        noted = noter.noted(lambda tensor: None, descriptions.describer("all_reduce", dist.all_reduce))
        reps = 2000
        start = time.perf_counter()
        for _ in range(reps):
            noted(x)
        note = (time.perf_counter() - start) / reps
        times = []
        for _ in range(50):
            dist.barrier()
            start = time.perf_counter()
            dist.all_reduce.__wrapped__(x)
            times.append(time.perf_counter() - start)
        return note / sorted(times)[25]

    assert min(pools[4].run(cost)) <= 0.05


def test_ranks_are_written_as_people_do():
    texts = {(0,): "rank 0", (0, 1): "ranks 0, 1", (0, 1, 2): "ranks 0-2", (0, 1, 2, 5, 7, 8): "ranks 0-2, 5, 7, 8"}
    assert {ranks: reader_lines.ranks_text(list(ranks)) for ranks in texts} == texts


def test_the_readers_own_code_is_told_from_libraries():
    assert reader_lines.own("/tmp/ipykernel_12/345.py") and reader_lines.own(__file__)
    assert not any(map(reader_lines.own, (torch.__file__, os.__file__, reader_lines.__file__)))
    assert reader_lines.place("/tmp/ipykernel_12/345.py") == "cell" and reader_lines.place("/a/b/lab.py") == "lab.py"


def test_an_installed_package_is_nobodys_own_in_any_environment():
    files = ["/another/venv/lib/python3.11/site-packages/torch/nn.py", "/usr/lib/python3/dist-packages/numpy/x.py"]
    assert [reader_lines.own(file) for file in [*files, "train.py"]] == [False, False, True]
