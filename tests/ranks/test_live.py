"""While a call runs: lines as they come, emits, progress; and nothing of it is lost or torn."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import labs
import pytest
import torch.distributed as dist

from helpers.ranks import PackError, RankError, emit, here, progress
from helpers.ranks.hangs.verdict import SHOWN, Failure, headline
from helpers.ranks.pool import ranks as pool
from helpers.ranks.pool.status import RankStatus, Status
from helpers.ranks.wire import output
from helpers.ranks.wire.output import HALF, Live, in_rank_order


class Screen(io.StringIO):
    """What was written, piece by piece, and when."""

    def __init__(self):
        super().__init__()
        self.pieces: list[str] = []

    def write(self, text: str) -> int:
        self.pieces.append(text)
        return super().write(text)


@pytest.fixture
def screen(monkeypatch) -> Screen:
    made = Screen()
    for module in (output, pool):  # pytest puts its own sys.stdout back at every phase of a test
        monkeypatch.setattr(module, "sys", SimpleNamespace(stdout=made))
    return made


def test_live_lines_come_while_the_call_runs(two, screen, tmp_path):
    """The ranks go on only once what they printed has been seen."""
    seen = tmp_path / "seen"

    def f():
        print("first")
        while not seen.exists():
            time.sleep(0.01)
        print("second")

    class Watched(Screen):
        def flush(self):
            if self.getvalue().count("first") == 2:
                seen.touch()

    screen.__class__ = Watched
    two.run(f, live=True, limit=60)
    assert sorted(screen.getvalue().splitlines()) == [f"[rank {r}] {w}" for r in range(2) for w in ("first", "second")]


def test_live_lines_are_whole_and_all_of_them_also_the_unfinished_last(four, screen):
    def f():
        for i in range(2000):
            os.write(1, b"%d " % i + b"x" * 50)
            os.write(1, b"y\n")
        print("end", end="")

    four.run(f, live=True)
    lines = screen.getvalue().splitlines()
    for rank in range(4):
        mine = [line.removeprefix(f"[rank {rank}] ") for line in lines if line.startswith(f"[rank {rank}] ")]
        assert mine == [*(f"{i} {'x' * 50}y" for i in range(2000)), "end"]
    assert len(lines) == 4 * 2001 and all(piece.endswith("\n") for piece in screen.pieces)
    assert len(screen.getvalue()) > 4 * 2 * HALF, "more than the ordered form would show"


def test_live_output_is_read_when_the_call_fails_too(two, screen):
    def f():
        print("before")
        if labs.last():
            os.write(2, b"the last words")
            os._exit(7)
        time.sleep(60)

    with pytest.raises(RankError, match="rank 1 exited with code 7"):
        two.run(f, live=True)
    assert sorted(screen.getvalue().splitlines()) == ["[rank 0] before", "[rank 1] before", "[rank 1] the last words"]


def test_the_default_stays_rank_order(two, screen):
    two.run(lambda: print("a", dist.get_rank()), live=True)
    two.run(lambda: print("b", dist.get_rank()))
    assert screen.getvalue().endswith("[rank 0] b 0\n[rank 1] b 1\n") and screen.getvalue().count("] a") == 2


def test_a_progress_bar_is_one_line(screen):
    bar = b"\r 10%\r 50%\r100%\nnext\r\n"
    assert in_rank_order([bar.decode()]) == "[rank 0] 100%\n[rank 0] next\n"
    live = Live(1)
    for byte in bar:
        live(bytes([byte]))
    assert screen.getvalue() == "[rank 1] 100%\n[rank 1] next\n"


def test_emits_of_one_rank_keep_their_order_and_none_is_lost(four):
    def f():
        for i in range(3000):
            emit(i)

    seen = {rank: [] for rank in range(4)}
    four.run(f, on_emit=lambda rank, i: seen[rank].append(i))
    assert all(values == list(range(3000)) for values in seen.values())


def test_an_emit_after_the_last_answer_is_not_lost(two):
    def f():
        def later():
            time.sleep(0.2)
            emit("late")

        here.thread = threading.Thread(target=later)
        here.thread.start()

    seen = []
    two.run(f)
    two.run(lambda: here.thread.join(), on_emit=lambda rank, obj: seen.append((rank, obj)))
    assert sorted(seen) == [(0, "late"), (1, "late")]


def test_a_slow_callback_is_no_lack_of_progress(two):
    """Rank 0 cannot go on while its emits are not taken, and rank 1 waits for it: longer than the deadline of 2 s."""

    def f():
        if dist.get_rank() == 0:
            for _ in range(4):
                emit(bytes(1_000_000))
        dist.barrier()

    slept = []
    two.run(f, on_emit=lambda *_: slept or slept.append(time.sleep(3)))
    assert slept


class Bad:
    def __reduce__(self):
        return sys.exit, (3,)


def test_an_emit_that_cannot_be_read_back_names_its_rank(two):
    def f():
        if labs.last():
            emit(Bad())

    with pytest.raises(PackError, match="what rank 1 emitted cannot be read back: SystemExit: 3"):
        two.run(f, on_emit=print)
    assert two.run(labs.healthy) == [8.0] * 2


def test_an_error_of_other_ranks_in_the_callback_does_not_pass_for_ours(two, four):
    """It is sound for the other ranks; ours are in the middle of a call."""

    def nested(rank, obj):
        four.run(labs.raises_on_all)

    with pytest.raises(RankError, match="ranks 0-3 raised KeyError"):
        two.run(lambda: (emit(1), time.sleep(60)), on_emit=nested)
    assert two._team is None and two.run(labs.healthy) == [8.0] * 2
    assert "KeyError" in four.details() and "KeyError" not in two.details()


@pytest.mark.parametrize(
    "options, said",
    [
        ({"on_emit": 7}, r"on_emit is a function of \(rank, object\) or None, got 7"),
        ({"live": "yes"}, "live is True or False, got 'yes'"),
        ({"limit": -1}, "limit is a number of seconds > 0, got -1"),
    ],
)
def test_options_are_refused_before_anything_is_sent(two, options, said):
    pids = two.run(os.getpid)
    with pytest.raises((TypeError, ValueError), match=said):
        two.run(labs.healthy, **options)
    assert two.run(os.getpid) == pids


def test_progress_counts_and_each_call_begins_anew(two):
    def f(steps):
        for i in progress(range(steps)):
            if i == 3:
                emit(0)
                dist.barrier()
                time.sleep(0.3)

    seen = []
    two.run(f, 5, on_emit=lambda *_: seen.append(two.status()))
    assert {(r.done, r.total) for r in seen[-1].ranks} <= {(3, 5), (2, 5)} and seen[-1].ranks[0].total == 5
    assert [(r.done, r.total) for r in two.status().ranks] == [(5, 5)] * 2
    two.run(labs.healthy)
    assert [(r.done, r.total) for r in two.status().ranks] == [(0, None)] * 2


def test_what_is_done_is_told_of_what_is_known():
    ranks = (
        RankStatus(0, 7, "cpu", "running", 3),
        RankStatus(1, 8, "cpu", "running"),
        RankStatus(2, 9, "cpu", "running", 0, 5),
    )
    rows = str(Status("3 ranks", "running", 1.0, None, 0, ranks)).splitlines()
    assert [row.split()[3] for row in rows[1:]] == ["done", "3/?", "-", "0/5"]


def test_progress_of_what_has_no_length(two):
    two.run(lambda: sum(progress(i for i in range(7))))
    assert [(r.done, r.total) for r in two.status().ranks] == [(7, None)] * 2
    two.run(lambda: sum(progress((i for i in range(7)), total=9)))
    assert [(r.done, r.total) for r in two.status().ranks] == [(7, 9)] * 2


def test_progress_outside_a_rank_only_iterates():
    assert list(progress([1, 2])) == [1, 2]
    with pytest.raises(TypeError, match="whole number of steps or None, got 'many'"):
        progress([1], total="many")
    with pytest.raises(ValueError, match="steps >= 0, got -1"):
        progress([1], total=-1)


def test_one_failing_rank_of_64_makes_a_short_message():
    states = [f"waiting in recv from rank {(r + 1) % 64}" for r in range(63)] + ["raised ValueError: boom"]
    message = headline([Failure(63, "raised", "raised ValueError: boom")], states)
    lines = message.splitlines()
    assert lines[0] == "rank 63 raised ValueError: boom" and len(lines) == SHOWN + 1
    assert lines[-1] == f"{63 - SHOWN + 1} more ranks: see details()"


def test_what_c_said_before_a_death_is_in_the_message(two):
    def f():
        print("a step of the reader's")
        if labs.last():
            os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n")
            os.abort()

    with pytest.raises(RankError) as caught:
        two.run(f)
    assert str(caught.value).startswith("rank 1 died: SIGABRT at test_live.py line ")
    assert "  it said: what():  std::bad_alloc" in str(caught.value)
    assert "terminate called" in caught.value.details()


def test_a_death_says_in_which_collective_or_line(two):
    with pytest.raises(RankError, match=r"^rank 1 died: SIGSEGV at labs.py line \d+"):
        two.run(labs.segfaults)

    def killed_inside():
        if labs.last():
            threading.Timer(0.3, os.kill, [os.getpid(), 9]).start()
            dist.recv(labs.ones(4), 0)
        time.sleep(60)

    with pytest.raises(
        RankError, match=r"^rank 1 died: SIGKILL in recv from rank 0 of float32\[4\] at test_live.py line"
    ):
        two.run(killed_inside)


def test_a_running_rank_says_which_collective_it_has_left(two):
    def f():
        dist.all_reduce(labs.ones())
        if labs.last():
            time.sleep(60)
        dist.barrier()

    with pytest.raises(RankError, match=r"rank 1: running at test_live.py line \d+, after all_reduce #1"):
        two.run(f)


def test_a_rank_error_travels_with_its_states():
    error = RankError("m", [Failure(0, "raised", "t")], ["raised"], "d", True)
    assert pickle.loads(pickle.dumps(error)).states == ["raised"]


PIPED = "from helpers.ranks import Ranks; Ranks(2, backend='gloo').run(lambda: print('hi'), live=True)"


def test_a_script_in_a_pipe_is_live_too():
    done = subprocess.run([sys.executable, "-c", PIPED], capture_output=True, text=True, timeout=60)
    assert (sorted(done.stdout.splitlines()), done.stderr) == (["[rank 0] hi", "[rank 1] hi"], "")
