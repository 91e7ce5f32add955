"""Why nothing moves, in one line: who waits for whom, circles, ranks that have gone; and what random programs must never be called."""

from __future__ import annotations

import itertools

import programs
import pytest
import reported
from played import Op, Play, Program, Step

from helpers.ranks.hangs import verdict, waits
from helpers.ranks.notes.envelopes import Peer, pack_group
from helpers.ranks.notes.notes import State

SUM = Step("do", Op("all_reduce", "float32[8]"))


def send(to: int, tag: int = 0, agreed: str = "float32[4]", kind: str = "do", group: str = "") -> Step:
    return Step(kind, Op("send" if kind == "do" else "isend", agreed, group, (Peer(True, to, tag),)), handle=1)


def recv(source: int | None, tag: int = 0, agreed: str = "float32[4]", kind: str = "do", group: str = "") -> Step:
    return Step(kind, Op("recv" if kind == "do" else "irecv", agreed, group, (Peer(False, source, tag),)), handle=2)


def batch(*peers: Peer) -> Step:
    return Step("do", Op("batch_isend_irecv", peers=peers))


def within(name: str, *ranks: int, op: str = "all_reduce") -> Step:
    return Step("do", Op(op, "float32[8]", pack_group(name, ranks)))


def ended(*ranks: Program, running: tuple[int, ...] = ()) -> tuple[Play, set[int]]:
    """Played until nobody can move. running: ranks that have come to the end of their program and go on computing."""
    play = Play(list(ranks))
    for _ in play.steps():
        pass
    return play, play.gone - set(running)


def why(*ranks: Program, running: tuple[int, ...] = ()) -> str | None:
    play, gone = ended(*ranks, running=running)
    return reported.cause(play.journals(), gone, ["running at cell line 9"] * play.nranks)


def ring(n: int, first: str) -> list[Program]:
    """Every rank sends to the next, or receives from the one before, first."""
    both = [(send((r + 1) % n), recv((r - 1) % n)) for r in range(n)]
    return [list(steps) if first == "send" else list(steps[::-1]) for steps in both]


SHAPES = {
    "two receive from each other": (
        [[recv(1), send(1)], [recv(0), send(0)]],
        "rank 0 waits to receive from rank 1, rank 1 from rank 0: a circle",
    ),
    "four sends around": (
        ring(4, "send"),
        "rank 0 waits to send to rank 1, rank 1 to rank 2, rank 2 to rank 3, rank 3 to rank 0: a circle",
    ),
    "a circle that not all are in": (
        [[recv(1)], [recv(2)], [recv(1)], [recv(0)]],
        "rank 1 waits to receive from rank 2, rank 2 from rank 1: a circle",
    ),
    "the shorter of two circles": (
        [[batch(Peer(False, 1), Peer(False, 2))], [recv(2)], [recv(0)]],
        "rank 0 waits in batch_isend_irecv for rank 2, rank 2 waits to receive from rank 0: a circle",
    ),
    "a receive against a collective": (
        [[recv(1), SUM], [SUM, send(0)]],
        "rank 0 waits to receive from rank 1, rank 1 waits in all_reduce #1 for rank 0: a circle",
    ),
    "a receive from a rank that has finished": (
        [[recv(1)], []],
        "rank 0 waits to receive from rank 1, which has finished",
    ),
    "the end of a chain": (
        [[recv(1)], [recv(2)], [recv(3)], []],
        "rank 2 waits to receive from rank 3, which has finished",
    ),
    "a send that nobody takes": (
        [[send(1)], [SUM], [SUM]],
        "rank 0 waits to send to rank 1, rank 1 waits in all_reduce #1 for rank 0: a circle",
    ),
    "one message too few": ([[send(1)], [recv(0), recv(0)]], "rank 1 waits to receive from rank 0, which has finished"),
    "other tags": (
        [[recv(1, tag=5)], [send(0, tag=4)]],
        "tags differ: rank 0 waits to receive from rank 1 with tag 5, rank 1 waits to send to rank 0 with tag 4",
    ),
    "other groups": (
        [[recv(1)], [send(0, group="1|0-1|")]],
        "groups differ: rank 0 waits to receive from rank 1, rank 1 waits to send to rank 0",
    ),
    "a batch that lacks one": (
        [[batch(Peer(True, 1), Peer(False, 1), Peer(False, 2))], [batch(Peer(True, 0), Peer(False, 0))], []],
        "rank 0 waits in batch_isend_irecv for rank 2, which has finished",
    ),
    "from anyone, and nobody is left": (
        [[recv(None)], [], []],
        "rank 0 waits to receive from anyone, and all others have finished",
    ),
    "from anyone, beside a receive that takes the only message": (
        [[recv(1, kind="launch"), recv(None)], [send(0)]],
        "rank 0 waits to receive from anyone, and all others have finished",
    ),
    "a rank that has left comes before a circle": (
        [[recv(1)], [recv(0)], [recv(3)], []],
        "rank 2 waits to receive from rank 3, which has finished",
    ),
    "from anyone, who wait themselves": (
        [[recv(None)], [recv(0)]],
        "rank 0 waits to receive from anyone, rank 1 from rank 0: a circle",
    ),
    "groups in different order": (
        [[within("1", 0, 1), within("2", 0, 1)], [within("2", 0, 1), within("1", 0, 1)]],
        "ranks 0, 1 entered groups in different order: rank 0 is in all_reduce #1 of float32[8] in the group of ranks 0, 1"
        " (cell line 7), rank 1 in all_reduce #1 of float32[8] in another group of ranks 0, 1 (cell line 7)",
    ),
    "three groups in a circle": (
        [
            [within("1", 0, 1), within("3", 0, 2)],
            [within("2", 1, 2), within("1", 0, 1)],
            [within("3", 0, 2), within("2", 1, 2)],
        ],
        "ranks 0-2 entered groups in different order: rank 0 is in all_reduce #1 of float32[8] in the group of ranks 0, 1"
        " (cell line 7), rank 1 in all_reduce #1 of float32[8] in the group of ranks 1, 2 (cell line 7), rank 2 in"
        " all_reduce #1 of float32[8] in the group of ranks 0, 2 (cell line 7)",
    ),
    "a group against all ranks": (
        [[SUM, within("1", 0, 1)], [within("1", 0, 1), SUM], [SUM]],
        "ranks 0, 1 entered groups in different order: rank 0 is in all_reduce #1 of float32[8] (cell line 7),"
        " rank 1 in all_reduce #1 of float32[8] in the group of ranks 0, 1 (cell line 7)",
    ),
    "a member of a group has finished": (
        [[within("1", 0, 2)], [], []],
        "rank 2 finished without entering all_reduce #1 of float32[8] in the group of ranks 0, 2",
    ),
    "who is in no group is not missed": ([[within("1", 0, 1)], [within("1", 0, 1)], []], None),
    "ranks have finished": (
        [[SUM, SUM], [SUM], [SUM]],
        "ranks 1, 2 finished without entering all_reduce #2 of float32[8]",
    ),
}


@pytest.mark.parametrize("ranks, said", SHAPES.values(), ids=SHAPES)
def test_the_cause_in_words(ranks, said):
    assert why(*ranks) == said


def test_who_still_runs_is_named():
    assert why([SUM], [SUM], [], running=(2,)) == "rank 2 has not reached all_reduce #1 of float32[8]"
    assert why([SUM], [], [], running=(1, 2)) == "ranks 1, 2 have not reached all_reduce #1 of float32[8]"
    assert why([recv(1)], [], running=(1,)) == "rank 0 waits to receive from rank 1, which is running at cell line 9"
    assert why([recv(1)], [recv(2)], [], running=(2,)).startswith(
        "rank 1 waits to receive from rank 2, which is running"
    )
    assert why([recv(None)], [], [], running=(1,)) is None, "it may still send"


def test_nobody_is_missing():
    play = Play([[SUM]] * 3)
    assert len(list(itertools.islice(play.steps(), 3))) == 3  # all have entered, and none has left
    said = "nobody is missing from all_reduce #1 of float32[8]: what carries it is slow or broken"
    assert reported.cause(play.journals(), play.gone) == said


def test_sixty_four_ranks_stay_readable():
    text = why(*ring(64, "recv"))
    assert text == (
        "rank 0 waits to receive from rank 63, rank 63 from rank 62, rank 62 from rank 61, ..., rank 1 from rank 0:"
        " a circle of 64 ranks"
    )
    assert len(why([SUM, SUM], *([SUM, SUM] if r % 2 else [SUM] for r in range(63)))) < 150
    states = ["finished" if r % 2 else "waiting in barrier #1" for r in range(64)]
    failures = [verdict.Failure(0, "stuck", states[0])]
    assert verdict.headline(failures, states).splitlines() == [
        "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 24 more waiting in barrier #1",
        "ranks 1, 3, 5, 7, 9, 11, 13, 15 and 24 more: finished",
    ]
    apart = [[Step("do", Op("all_reduce", f"float32[{r}]"))] for r in range(64)]
    told = reported.differs(ended(*apart)[0].journals())
    assert len(told) < 600 and told.endswith("rank 6 float32[6] (cell line 7), 57 more ranks in other ways")


def test_what_some_left_out_of_a_finished_call():
    launch = SUM._replace(kind="launch")
    assert reported.unequal(ended([launch], [], [])[0].journals()) == (
        "ranks 1, 2 finished without entering all_reduce #1 of float32[8], which rank 0 entered (cell line 7)"
    )
    part = within("1", 0, 1)._replace(kind="launch")
    assert reported.unequal(ended([part], [], [])[0].journals()) == (
        "rank 1 finished without entering all_reduce #1 of float32[8] in the group of ranks 0, 1,"
        " which rank 0 entered (cell line 7)"
    )
    assert reported.unequal(ended([SUM, part], [SUM, part], [SUM])[0].journals()) is None
    long_ago = ended([launch, *[part] * 80], [part] * 80)[0].journals()
    assert reported.unequal(long_ago) == "rank 0 has entered more collectives than others: 1 in all"


def test_what_is_queued_on_a_gpu_has_not_come():
    """Over NCCL calls return at once: rank 0 runs A and has B behind it, rank 1 the other way round."""
    a, b = within("1", 0, 1), within("2", 0, 1)
    play = Play(
        [[a._replace(kind="launch"), b._replace(kind="launch")], [b._replace(kind="launch"), a._replace(kind="launch")]]
    )
    for _ in play.steps():
        pass
    for writer in play._writers:
        writer.mark(0, State.INSIDE)
        writer.mark(1, State.QUEUED)
    assert "entered groups in different order" in reported.cause(play.journals(), set())
    play = Play([[recv(1, kind="launch"), send(1, kind="launch")], [recv(0, kind="launch"), send(0, kind="launch")]])
    for _ in play.steps():
        pass
    for writer in play._writers:
        writer.mark(0, State.INSIDE)
        writer.mark(1, State.QUEUED)
    assert reported.cause(play.journals(), set()).endswith("rank 1 from rank 0: a circle"), "the sends wait behind them"
    behind = Play([[a]])  # behind its own GPU's work, and looked at long ago
    assert len(list(itertools.islice(behind.steps(), 1))) == 1
    behind._writers[0].mark(0, State.QUEUED)
    journal = behind.journals()[0]
    stale = journal._replace(notes=(journal.notes[0]._replace(since=0.0),))
    assert waits.waits([stale, ended([])[0].journals()[0]], {1})[0].lacks == (1,), "never itself"


def test_an_unknown_rank_is_never_accused():
    journals = ended([SUM], [SUM], [])[0].journals()
    assert reported.cause([*journals[:2], None], set()) is None
    assert reported.cause([None, *journals[:2]], {2}) is None
    assert reported.leaves([*journals[:2], None], set()) is None
    for wants in (recv(1), send(1), recv(None)):
        assert reported.cause([ended([wants], [])[0].journals()[0], None], set()) is None


def test_what_a_journal_has_overwritten_may_have_been_there():
    part, rest = within("1", 0, 1)._replace(kind="launch"), within("2", 1)
    play, gone = ended([part], [part, *[rest] * 80])
    play._writers[0].mark(0, State.INSIDE)  # complete, and not yet seen to be
    assert gone == {0, 1} and reported.cause(play.journals(), {1}) is None
    took = ended([send(1, kind="launch")], [recv(0), *[rest] * 80])[0]
    took._writers[0].mark(0, State.INSIDE)
    assert reported.cause(took.journals(), {1}) is None
    many = batch(*(Peer(True, rank) for rank in range(40, 1, -1)), Peer(False, 0))
    crowd = Play([[send(1)], [many]])
    assert len(list(itertools.islice(crowd.steps(), 2))) == 2
    assert 0 not in waits.waits(crowd.journals(), set()) or not waits.waits(crowd.journals(), set())[0].lacks, "no room"


def test_who_can_never_go_on():
    play, gone = ended([recv(1)], [recv(2)], [recv(3)], [])
    assert waits.stuck(waits.waits(play.journals(), gone), gone) == {0, 1, 2}
    play, gone = ended([recv(1)], [recv(2)], [recv(3)], [], running=(3,))
    assert waits.stuck(waits.waits(play.journals(), gone), gone) == set()


def test_before_the_deadline_only_what_is_certain_counts():
    circle = ended([recv(1)], [recv(0)])[0]
    assert reported.leaves(circle.journals(), set()) is None, "another thread may break it"
    left = ended([recv(1)], [])[0]
    assert reported.leaves(left.journals(), {1}) == "rank 0 waits to receive from rank 1, which has finished"
    assert reported.leaves(left.journals(), set()) is None


@pytest.mark.parametrize("eager", [False, True])
def test_healthy_programs_are_never_called_stuck(eager):
    for seed in range(25):
        play = Play(programs.healthy(seed), seed, eager)
        for step, _ in enumerate(play.steps()):
            if step % 5 == 0:
                journals, gone = play.journals(), play.gone
                assert not waits.stuck(waits.waits(journals, gone), gone), f"seed {seed}"
                assert reported.certain(journals, set(range(play.nranks)) - gone) is None, f"seed {seed}"
        journals = play.journals()
        assert len(play.gone) == play.nranks and reported.left_over(journals) is None, f"seed {seed}"
        assert reported.differs(journals) is reported.unequal(journals) is reported.unfit(journals) is None, (
            f"seed {seed}"
        )


def test_broken_programs_are_named_and_nobody_who_goes_on_is_called_stuck():
    named = 0
    for seed in range(40):
        kinds = programs.KINDS if seed % 4 == 0 else programs.MATCHED
        play, claimed = Play(programs.broken(seed, kinds), seed), {}
        for step, _ in enumerate(play.steps()):
            if step % 5 == 0:
                for rank in waits.stuck(waits.waits(play.journals(), play.gone), play.gone):
                    claimed.setdefault(rank, play.at[rank])
        journals, gone = play.journals(), play.gone
        assert claimed == {rank: play.at[rank] for rank in claimed} and not gone & claimed.keys(), f"seed {seed}"
        if len(gone) == play.nranks or any(j.forgot for j in journals) or "anyone" in kinds:
            continue
        why = reported.differs(journals) or reported.cause(journals, gone)
        assert why and "nobody is missing" not in why and "not reached" not in why, f"seed {seed}: {why}"
        named += 1
    assert named > 10
