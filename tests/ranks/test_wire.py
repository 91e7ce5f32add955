"""A rank that is stopped in the middle of a message does not stop the notebook: others are heard, deadlines and interrupts hold."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from multiprocessing import Pipe

import labs
import psutil
import pytest
import torch.distributed as dist

from helpers.ranks import RankError, Ranks, emit, here
from helpers.ranks.wire.wire import Wire

BIG = 50_000_000  # bytes


@pytest.fixture
def wire():
    ours, theirs = Pipe()
    yield Wire(ours), theirs
    ours.close()
    theirs.close()


@pytest.mark.parametrize("nbytes", [1, 100, 16_384, 16_385, 3_000_000])
def test_it_speaks_as_multiprocessing_does_both_ways(wire, nbytes):
    ours, theirs = wire
    message, got = os.urandom(nbytes), []
    reader = threading.Thread(target=lambda: got.append(theirs.recv_bytes()))
    reader.start()
    sent = ours.post(message)
    while not sent:
        sent = ours.flush()
    reader.join()
    assert got == [message] and not ours.sending
    writer = threading.Thread(target=theirs.send_bytes, args=(message,))
    writer.start()
    while (answer := ours.receive()) is None:
        pass
    writer.join()
    assert answer == message and not ours.receiving


def test_two_messages_that_come_at_once_are_two(wire):
    ours, theirs = wire
    theirs.send_bytes(b"one")
    theirs.send_bytes(b"two")
    assert (ours.receive(), ours.receive(), ours.receive()) == (b"one", b"two", None)
    theirs.close()
    with pytest.raises(EOFError):
        ours.receive()


def test_half_a_message_is_none_yet_and_is_known_as_half(wire):
    ours, theirs = wire
    os.write(theirs.fileno(), b"\0\0")
    assert ours.receive() is None and ours.receiving
    os.write(theirs.fileno(), b"\0\3ab")
    assert ours.receive() is None and ours.receiving
    os.write(theirs.fileno(), b"c")
    assert ours.receive() == b"abc" and not ours.receiving


def test_a_message_beyond_2_gib_has_a_long_length(wire):
    ours, theirs = wire
    os.write(theirs.fileno(), b"\xff\xff\xff\xff" + (5).to_bytes(8, "big") + b"hello")
    assert ours.receive() == b"hello"


def test_a_rank_that_is_gone_takes_nothing_and_does_not_raise(wire):
    ours, theirs = wire
    theirs.close()
    assert ours.post(b"x" * BIG) and not ours.sending


def halts_while_answering():
    if labs.last():
        emit(os.getpid())
        return bytes(BIG)
    return None


def emits_and_is_stopped():
    if labs.last():
        emit(os.getpid())
        emit(bytes(BIG))
    dist.barrier()


@pytest.mark.parametrize("n, fn", [(4, halts_while_answering), (2, emits_and_is_stopped)])
def test_a_rank_stopped_half_way_through_a_message_is_named_at_the_deadline(pools, n, fn):
    """The callback holds the notebook's side until the rank is in the middle of its 50 MB, for the pipe takes far less."""

    def stop(rank, obj):
        if isinstance(obj, int):
            time.sleep(0.5)
            os.kill(obj, signal.SIGSTOP)

    with pytest.raises(RankError, match=r"no progress for 2 s|stopped by a signal more than 2 s ago") as caught:
        pools[n].run(fn, on_emit=stop)
    assert "stopped by a signal" in caught.value.states[n - 1]
    assert pools[n].run(labs.healthy) == [4.0 * n] * n


def test_a_stopped_rank_that_does_not_take_its_argument(two):
    pid = two.run(os.getpid)[1]
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(RankError, match=r"^rank 1 stopped by a signal more than 2 s ago") as caught:
        two.run(len, bytes(BIG))
    assert caught.value.states == ["finished", "stopped by a signal"]
    assert two.run(labs.healthy) == [8.0] * 2 and not psutil.pid_exists(pid)


def test_the_limit_holds_while_a_stopped_rank_takes_nothing(two):
    os.kill(two.run(os.getpid)[0], signal.SIGSTOP)
    with pytest.raises(RankError, match=r"^the call's limit of 0.5 s is over"):
        two.run(len, bytes(BIG), limit=0.5)
    assert two.run(labs.healthy) == [8.0] * 2


def test_a_stopped_rank_in_a_collective_is_told_as_stopped(two):
    def f():
        if labs.last():
            os.kill(os.getpid(), signal.SIGSTOP)
        dist.barrier()

    said = r"no progress for 2 s: rank 1 has not reached barrier #1\nrank 0 waiting in .*\nrank 1: stopped by a signal"
    with pytest.raises(RankError, match=said):
        two.run(f)
    assert two.run(labs.healthy) == [8.0] * 2


def test_a_rank_killed_half_way_through_its_result(two):
    def f():
        if labs.last():
            threading.Timer(0.02, os._exit, [7]).start()
            return bytes(4 * BIG)
        return None

    with pytest.raises(RankError, match="rank 1 exited with code 7"):
        two.run(f)
    assert two.run(labs.healthy) == [8.0] * 2


def test_a_rank_that_takes_its_time_with_a_message_is_left_alone(pools):
    """It is not stopped: a thread of its own keeps the GIL for longer than the deadline while 50 MB are on their way."""
    with Ranks(1, backend="gloo", timeout=0.2) as ranks:

        def f():
            here.thread = threading.Thread(target=emit, args=(bytes(BIG),))
            here.thread.start()
            sum(range(30_000_000))

        got = []
        ranks.run(f, on_emit=lambda rank, data: got.append(len(data)))
        ranks.run(lambda: here.thread.join(), on_emit=lambda rank, data: got.append(len(data)))
        assert got == [BIG]


def test_huge_messages_both_ways_at_once(two):
    data = os.urandom(BIG)
    assert [pickle.loads(r) == data for r in two.run(pickle.dumps, data)] == [True, True]
