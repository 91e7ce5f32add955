"""Every way in which a rank can fail: the right rank is named first, everyone's state is told, and the next call works."""

from __future__ import annotations

import os
import signal
import threading
import time

import labs
import pytest
import torch
import torch.distributed as dist

from helpers.ranks import PackError, RankError, Ranks
from helpers.ranks.pool.call import GRACE

WAITING = "ranks 0-2: waiting in all_reduce #1 of float32[1024] at labs.py line"
# function, its arguments, kind of the root failure, its rank, what the message says
FAULTS = [
    (labs.raises_on_last, (), "raised", 3, ["rank 3 raised ValueError: boom", 'raise ValueError("boom")', WAITING]),
    (labs.raises_on_all, (), "raised", 0, ["ranks 0-3 raised KeyError: 'k'"]),
    (labs.raises_unpicklable, (), "raised", 3, ["rank 3 raised Unpicklable: odd", WAITING]),
    (labs.says_a_peer_left, (), "raised", 3, ["rank 3 raised RuntimeError: Connection closed by peer, says", WAITING]),
    (labs.dies_by, (signal.SIGKILL,), "died", 3, ["rank 3 died: SIGKILL"]),
    (labs.dies_by, (signal.SIGABRT,), "died", 3, ["rank 3 died: SIGABRT"]),
    (labs.segfaults, (), "died", 3, ["rank 3 died: SIGSEGV"]),
    (labs.exits, (0,), "died", 3, ["rank 3 exited with code 0 before it was done"]),
    (labs.exits, (7,), "died", 3, ["rank 3 exited with code 7 before it was done"]),
    (labs.sys_exits, (), "raised", 3, ["rank 3 raised SystemExit: 0", WAITING]),
    (labs.returns_early, (), "stuck", 0, ["rank 3 finished without entering all_reduce #1", "rank 3: finished"]),
    (
        labs.skips_and_sleeps,
        (),
        "stuck",
        0,
        ["no progress for 2 s", "rank 3 has not reached all_reduce #1", "rank 3: running at labs.py line"],
    ),
    (
        labs.skips_and_keeps_the_gil,
        (),
        "stuck",
        0,
        ["no progress for 2 s", "rank 3 has not reached all_reduce #1", "rank 3: running at labs.py line"],
    ),
    (labs.differs_in_op, (), "mismatch", None, ["ranks 0-2 are in all_reduce #4", "rank 3 in broadcast #4"]),
    (
        labs.differs_in_size,
        (),
        "mismatch",
        None,
        ["sizes differ in all_reduce #1: ranks 0-2 have float32[1024] (labs.py line", "), rank 3 float32[512] (labs"],
    ),
    (
        labs.differs_in_dtype,
        (),
        "mismatch",
        None,
        ["types differ in all_reduce #1: ranks 0-2 have float32[8] (labs.py line", "), rank 3 int32[8] (labs.py line"],
    ),
    (
        labs.differs_in_root,
        (),
        "mismatch",
        None,
        ["roots differ in broadcast #1 of float32[1024]: ranks 0-2 have root 0 (labs", "), rank 3 root 1 (labs"],
    ),
    (
        labs.differs_in_reduction,
        (),
        "mismatch",
        None,
        ["reductions differ in all_reduce #1 of float32[1024]: ranks 0-2 have sum (labs", "), rank 3 max (labs"],
    ),
    (
        labs.receives_in_a_circle,
        (),
        "stuck",
        0,
        [
            "no progress for 2 s: rank 0 waits to receive from rank 1, rank 1 from rank 2, rank 2 from rank 3,"
            " rank 3 from rank 0: a circle\n",
            "rank 3: waiting in recv from rank 0 of float32[1024]",
        ],
    ),
    (labs.waits_on_a_handle, (), "stuck", 0, ["no progress", "ranks 0-2 waiting in all_reduce #1", "rank 3: running"]),
    (labs.subgroup_differs, (), "mismatch", None, ["in the group of ranks 0, 1", "rank 1 in broadcast #1"]),
    (
        labs.launches_and_leaves,
        (),
        "mismatch",
        None,
        ["ranks 1-3 finished without entering", ", which rank 0 entered (labs.py line"],
    ),
]


@pytest.mark.parametrize("fn, args, kind, rank, said", FAULTS, ids=[f"{f[0].__name__}{f[1] or ''}" for f in FAULTS])
def test_root_cause_first_and_the_next_call_works(four, fn, args, kind, rank, said):
    with pytest.raises(RankError) as caught:
        four.run(fn, *args)
    error = caught.value
    assert (error.root.kind, error.root.rank) == (kind, rank), error
    for text in said:
        assert text in str(error)
    assert len(error.states) == 4
    assert four.run(labs.healthy) == [16.0] * 4


def test_survivors_of_a_death_are_marked_as_consequences(four):
    with pytest.raises(RankError) as caught:
        four.run(labs.exits, 7)
    kinds = [failure.kind for failure in caught.value.failures]
    assert kinds[0] == "died" and "consequence" in kinds and "raised" not in kinds
    assert "(a consequence)" in str(caught.value) and "127.0.0.1" not in str(caught.value)
    assert "127.0.0.1" in caught.value.details(), "all of it on request"


def test_what_a_rank_raised_says_more_than_its_death_and_a_late_death_is_no_success(four):
    with pytest.raises(RankError, match="ranks 0-3 raised ValueError: boom"):
        four.run(labs.raises_and_dies)
    with pytest.raises(RankError):
        four.run(time.sleep, 2)  # the ranks end by themselves meanwhile
    with pytest.raises(RankError, match=r"^rank 3 exited with code 7 after it had finished"):
        four.run(labs.finishes_and_dies)
    assert four.run(labs.healthy) == [16.0] * 4


def test_the_exception_itself_comes_home(four):
    with pytest.raises(RankError) as caught:
        four.run(labs.raises_on_last)
    assert isinstance(caught.value.root.exception, ValueError)
    with pytest.raises(RankError) as caught:
        four.run(labs.raises_unpicklable)
    assert caught.value.root.exception is None


def test_ranks_that_all_answered_stay_warm(four):
    before = four.run(os.getpid)
    with pytest.raises(RankError) as caught:
        four.run(labs.raises_on_all)
    assert caught.value.sound and four.run(os.getpid) == before


def test_a_killed_rank_is_noticed_between_calls(four):
    pid = four.run(os.getpid)[2]
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(RankError, match=r"^rank 2 died: SIGKILL"):
        four.run(labs.healthy)
    assert four.run(labs.healthy) == [16.0] * 4


def test_computing_has_no_deadline_unless_asked(two):
    assert two.run(time.sleep, 2.5) == [None, None], "longer than the timeout of 2 s, which is for collectives"
    with pytest.raises(RankError, match=r"the call's limit of 0.3 s is over") as caught:
        two.run(time.sleep, 60, limit=0.3)
    assert caught.value.root.kind == "stuck"
    assert two.run(labs.healthy) == [8.0] * 2


@pytest.mark.parametrize("what", [labs.Slow(), threading.Lock(), (i for i in [])], ids=["exits", "lock", "generator"])
def test_an_argument_that_cannot_be_sent_is_named_before_anything_is_sent(four, what):
    before = four.run(os.getpid)
    with pytest.raises(PackError, match=r"argument 1 \(a \w+\) cannot be sent to the ranks"):
        four.run(print, 1, what)
    with pytest.raises(PackError, match=r"argument sep= \(a \w+\) cannot be sent"):
        four.run(print, sep=what)
    assert four.run(os.getpid) == before


def test_a_function_that_cannot_be_sent_is_named(four):
    lock = threading.Lock()

    def holds_a_lock():
        return lock

    def calls_it():
        return [holds_a_lock() for _ in range(2)]

    uses = "it uses `lock`, a lock: TypeError: cannot pickle"
    with pytest.raises(PackError, match=f"the function holds_a_lock cannot be sent to the ranks: {uses}"):
        four.run(holds_a_lock)
    with pytest.raises(
        PackError, match=f"the function calls_it cannot be sent to the ranks: it uses `holds_a_lock`: {uses}"
    ):
        four.run(calls_it)
    with pytest.raises(PackError, match=r"it uses `four`, a Ranks: TypeError: .* get_world_size\(\)"):
        four.run(lambda: four.nranks)
    with pytest.raises(PackError, match=r"run\(\) takes a function and its arguments, got 7"):
        four.run(7)


def test_what_cannot_be_read_back(four):
    with pytest.raises(RankError, match="ranks 0-3 raised ArithmeticError: cannot be read back"):
        four.run(print, labs.Exploding("rank"))
    with pytest.raises(RankError, match="the result of rank 0 cannot be read back: ArithmeticError"):
        four.run(labs.Exploding, "parent")
    with pytest.raises(RankError, match="ranks 0-3 raised TypeError: cannot pickle 'generator' object"):
        four.run(lambda: (i for i in [1]))
    assert four.run(labs.healthy) == [16.0] * 4


def test_a_rank_that_is_late_in_beginning_a_call_is_waited_for():
    """On a busy machine it still has its notes of the call before, when the others have long been waiting in another collective."""

    def sums(n):
        dist.all_reduce(torch.ones(n))
        return os.getpid()

    with Ranks(2, backend="gloo", timeout=60) as ranks:
        pid = ranks.run(sums, 8)[1]
        os.kill(pid, signal.SIGSTOP)
        goes_on = threading.Timer(3 * GRACE, os.kill, (pid, signal.SIGCONT))
        goes_on.start()
        assert ranks.run(sums, 16)[1] == pid
        goes_on.join()
