"""Calls in the background, what every rank is doing meanwhile, and an end at any moment."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import labs
import psutil
import pytest
import torch.distributed as dist

from helpers.facts import Link
from helpers.ranks import RankError, Ranks, Stopped, emit
from helpers.ranks.pool import pending
from helpers.ranks.pool.interrupts import Hold
from helpers.ranks.wire.wire import Wire
from helpers.units import Bandwidth

QUICK = 10.0  # seconds: five times the 2 s in which a stopped call must be gone


def under_way(ranks: Ranks, fn, *args, **options):
    """A pending call whose ranks have all begun: each of them has emitted once."""
    begun = threading.Semaphore(0)

    def f(*args):
        emit("begun")
        return fn(*args)

    call = ranks.run_async(f, *args, on_emit=lambda *_: begun.release(), **options)
    for _ in range(ranks.nranks):
        assert begun.acquire(timeout=60)
    return call


def keeps_the_gil():
    sum(range(10**12))


def loops():
    while True:
        pass


def test_a_call_in_the_background_gives_its_results(four):
    call = four.run_async(lambda k: dist.get_rank() * k, 10)
    assert call.result() == call.result(timeout=0) == [0, 10, 20, 30] and call.done
    assert repr(call) == "4 ranks, gloo, CPU: a call that is done, 4 results"


def test_a_call_can_be_awaited_and_who_cancels_the_wait_stops_it(two):
    async def cell():
        with pytest.raises(RankError, match="ZeroDivisionError"):
            await two.run_async(lambda: 1 / 0)
        endless = two.run_async(loops)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(endless, 0.1)
        with pytest.raises(Stopped):
            endless.result(60)
        done = two.run_async(dist.get_rank)
        return await done, await done

    with ThreadPoolExecutor(1) as elsewhere:  # a browser's test in this process leaves its loop running
        assert elsewhere.submit(asyncio.run, cell()).result() == ([0, 1], [0, 1])


def test_the_notebook_goes_on_and_a_second_call_is_refused(two, tmp_path):
    def f():
        while not (tmp_path / "go").exists():
            time.sleep(0.01)

    call = two.run_async(f)
    assert not call.done
    with pytest.raises(TimeoutError, match=r"not over after 0.05 s"):
        call.result(timeout=0.05)
    for again in (two.run, two.run_async):
        with pytest.raises(RuntimeError, match="in a call already"):
            again(labs.healthy)
    (tmp_path / "go").touch()
    assert call.result(60) == [None, None] and two.run(labs.healthy) == [8.0] * 2


def test_what_a_rank_raises_comes_with_the_result(two):
    call = two.run_async(labs.raises_on_all)
    for _ in range(2):
        with pytest.raises(RankError, match="ranks 0, 1 raised KeyError"):
            call.result()
    assert call.done and two.run(labs.healthy) == [8.0] * 2
    assert "a call that failed: RankError: ranks 0, 1 raised" in repr(call)


@pytest.mark.parametrize("fn", [labs.receives_in_a_circle, keeps_the_gil, loops], ids=["C++", "GIL", "Python"])
def test_stop_ends_the_ranks_at_once_whatever_they_do(two, fn):
    pids = two.run(os.getpid)
    call, start = under_way(two, fn), time.monotonic()
    call.stop()
    assert call.done and time.monotonic() - start < QUICK and not any(map(psutil.pid_exists, pids))
    call.stop()
    for _ in range(2):
        with pytest.raises(Stopped, match=r"^stopped after \d"):
            call.result()
    assert two.run(labs.healthy) == [8.0] * 2


def test_stop_ends_the_ranks_while_the_callback_is_busy(two):
    pids, inside, go = two.run(os.getpid), threading.Event(), threading.Event()

    def busy(rank, obj):
        inside.set()
        go.wait()

    call = two.run_async(lambda: (emit(1), time.sleep(600)), on_emit=busy)
    inside.wait(60)
    stopper = threading.Thread(target=call.stop)
    stopper.start()
    assert psutil.wait_procs([psutil.Process(p) for p in pids if psutil.pid_exists(p)], timeout=QUICK)[1] == []
    go.set()
    stopper.join()
    with pytest.raises(Stopped):
        call.result(60)
    assert two.run(labs.healthy) == [8.0] * 2


def test_the_callback_itself_may_stop_the_call(two):
    call = []
    ready = threading.Event()

    def stop(rank, obj):
        ready.wait()
        call[0].stop()

    call.append(two.run_async(lambda: (emit(1), time.sleep(600)), on_emit=stop))
    ready.set()
    with pytest.raises(Stopped):
        call[0].result(60)
    assert two.run(labs.healthy) == [8.0] * 2


def test_stopping_a_finished_call_leaves_the_ranks_alone(two):
    call = two.run_async(os.getpid)
    pids = call.result()
    call.stop()
    assert call.result() == two.run(os.getpid) == pids


def test_closing_stops_what_is_pending(leftovers):
    with Ranks(2, backend="gloo") as ranks:
        call = under_way(ranks, labs.receives_in_a_circle)
    with pytest.raises(Stopped, match="the ranks were closed after"):
        call.result(60)
    assert ranks.status().state == "closed" and ranks.status().ranks == ()
    call._thread.join(10)
    assert not {k: v for k, v in leftovers.found().items() if k in ("threads", "directories")}


def test_closing_from_another_thread_ends_a_run():
    ranks = Ranks(2, backend="gloo")
    closer = threading.Thread(target=ranks.close)
    with pytest.raises(Stopped, match="the ranks were closed"):
        ranks.run(lambda: (emit(1), time.sleep(600)), on_emit=lambda *_: closer.ident or closer.start())
    closer.join()
    assert ranks._team is None


def test_closing_in_the_callback_ends_the_call_too():
    ranks = Ranks(2, backend="gloo")
    with pytest.raises(Stopped, match="the ranks were closed"):
        ranks.run(lambda: (emit(1), time.sleep(600)), on_emit=lambda *_: ranks.close())
    assert ranks._team is None and repr(ranks).endswith("(closed)")


def test_an_interrupt_while_waiting_for_the_result_ends_the_ranks(two):
    pids = two.run(os.getpid)
    call = under_way(two, labs.receives_in_a_circle)
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        call.result(60)
    assert call.done and not any(map(psutil.pid_exists, pids))
    assert two.run(labs.healthy) == [8.0] * 2


def test_no_thread_to_be_had_gives_the_ranks_back(two, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pending.threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        two.run_async(labs.healthy)
    assert two.run(labs.healthy) == [8.0] * 2


# interrupts ---------------------------------------------------------------------------------------------------------
@pytest.mark.alone
def test_an_interrupt_at_any_moment_leaves_ranks_that_work(leftovers):
    """It lands at a different instruction each time: in the launch, the call, the judging, the printing or the ending."""
    main, landed = threading.get_ident(), 0
    Ranks(2, backend="gloo").close()  # what is started once and stays
    before = type(leftovers)()
    for step in range(40):
        stop = threading.Event()

        def press(seconds=0.004 * step, stop=stop):
            if not stop.wait(seconds):
                signal.pthread_kill(main, signal.SIGINT)

        presser = threading.Thread(target=press)
        ranks = None
        try:
            presser.start()
            ranks = Ranks(2, backend="gloo")
            ranks.run(labs.healthy)
            stop.set()
            presser.join()
        except KeyboardInterrupt:
            landed += 1
        presser.join()
        if ranks:
            assert ranks.run(labs.healthy) == [8.0] * 2
            ranks.close()
    assert landed and {k: v for k, v in before.found().items() if k != "threads"} == {}


def test_a_held_interrupt_lands_at_the_end_or_where_it_is_open():
    steps = []
    with pytest.raises(KeyboardInterrupt), Hold():
        signal.raise_signal(signal.SIGINT)
        steps.append("held")
    with pytest.raises(KeyboardInterrupt), Hold() as hold:
        try:
            with hold.open():
                signal.raise_signal(signal.SIGINT)
                steps.append("never")
        finally:
            signal.raise_signal(signal.SIGINT)
            steps.append("cleaned up")
    assert steps == ["held", "cleaned up"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Alarm(Exception):
    """What a handler of the reader's raises."""


@pytest.fixture
def alarm():
    """signal.raise_signal(signal.SIGALRM) raises Alarm; from within a Hold, where it is open."""

    def ring(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.signal(signal.SIGALRM, before)


def test_every_handler_is_held_and_one_that_raises_nothing_leaves_the_hold_open(alarm):
    steps = []
    before = signal.signal(signal.SIGUSR1, lambda *_: steps.append("counted"))
    with pytest.raises(Alarm), Hold() as hold:
        signal.raise_signal(signal.SIGALRM)
        signal.raise_signal(signal.SIGUSR1)
        steps.append("held")
        with pytest.raises(Alarm), hold.open():
            steps.append("never")
        with hold.open():
            signal.raise_signal(signal.SIGUSR1)
            steps.append("open")
            signal.raise_signal(signal.SIGALRM)
            steps.append("never")
    assert steps == ["held", "counted", "counted", "open"]
    assert signal.signal(signal.SIGUSR1, before) != before, "its own handler is back"


def ring():
    signal.raise_signal(signal.SIGALRM)


def fail():
    raise Alarm


@pytest.mark.parametrize("what", [ring, fail], ids=["a signal's handler", "sending itself"])
def test_what_is_raised_between_two_sends_leaves_no_rank_with_the_former_call(two, alarm, monkeypatch, what):
    """Rank 0 has got the call and rank 1 has not: the next one must not be answered by what rank 0 still does."""

    def slow(word):
        time.sleep(0.2)
        return word

    two.run(labs.healthy)
    posted, post = [], Wire.post

    def second_fails(wire, message):
        posted.append(wire)
        if len(posted) == 2:
            what()
        return post(wire, message)

    with monkeypatch.context() as patch, pytest.raises(Alarm):
        patch.setattr(Wire, "post", second_fails)
        two.run(slow, "former")
    assert [two.run(slow, word) for word in ("this", "that")] == [["this"] * 2, ["that"] * 2]


class Rings:
    """An argument during whose sending a signal comes, once."""

    rung = False

    def __reduce__(self):
        if not self.rung:
            self.rung = True
            signal.raise_signal(signal.SIGALRM)
        return Rings, ()


def test_what_a_handler_raises_while_a_call_is_packed_is_no_fault_of_the_arguments(two, alarm):
    with pytest.raises(Alarm):
        two.run(len, Rings())


# status -------------------------------------------------------------------------------------------------------------
def test_status_tells_who_is_where_without_disturbing(pools, tmp_path):
    four = pools[4]
    four.timeout, before = 60.0, four.timeout

    def f():
        dist.all_reduce(labs.ones())
        if labs.last():
            while not (tmp_path / "go").exists():
                time.sleep(0.01)
        dist.barrier()
        return os.getpid()

    call = under_way(four, f)
    while "barrier" not in four.status().ranks[0].state:
        assert not call.done
    status = four.status()
    assert (status.label, status.state, status.calls) == ("4 ranks, gloo, CPU", "running", four._team.calls)
    assert [r.rank for r in status.ranks] == list(range(4)) and {r.device for r in status.ranks} == {"cpu"}
    assert status.ranks[0].state.startswith("waiting in barrier #2 at test_pending.py line")
    # But still inside of `last`
    while not call.done and "running at test_pending.py line" not in status.ranks[3].state:
        status = four.status()
    assert "test_pending.py line" in status.ranks[3].state and ", after all_reduce #1" in status.ranks[3].state
    (tmp_path / "go").touch()
    assert call.result(60) == [r.pid for r in status.ranks]
    four.timeout = before
    assert "4 ranks, gloo, CPU: running for " in str(status) and "waiting in barrier #2" in str(status)


def test_status_of_idle_starting_and_closed_ranks():
    with Ranks(2, backend="gloo") as ranks:
        first = ranks.status()
        assert first.state in ("starting", "idle") and first.calls == 0
        ranks.run(labs.healthy)
        ranks.run(labs.healthy)
        idle = ranks.status()
        assert (idle.state, idle.calls, [r.state for r in idle.ranks]) == ("idle", 2, ["idle"] * 2)
        assert 0 < idle.startup < 60 and ranks.status().startup == idle.startup, "paid once"
        os.kill(idle.ranks[1].pid, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(idle.ranks[1].pid)] if psutil.pid_exists(idle.ranks[1].pid) else [])
        while ranks.status().ranks[1].state != "died: SIGKILL":
            pass
    assert ranks.status().state == "closed"


def test_a_finished_pending_call_keeps_its_own_last_state(two):
    call = two.run_async(labs.raises_on_all)
    with pytest.raises(RankError):
        call.result()
    two.run(labs.healthy)
    assert call.status().state == "idle" and [r.state for r in call.status().ranks] == ["raised KeyError"] * 2
    stopped = under_way(two, labs.receives_in_a_circle)
    while two.status().ranks[1].state[:7] != "waiting":
        pass
    stopped.stop()
    assert stopped.status().ranks[1].state.startswith("waiting in recv from rank 0")


def test_status_from_many_threads_while_ranks_die_and_start(two):
    """No exception, no released memory, no exit code read twice."""
    wrong, over = [], threading.Event()

    def ask():
        try:
            while not over.is_set():
                str(two.status())
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(8):
        with pytest.raises(RankError, match="exited with code 7 before it was done"):
            two.run(labs.exits, 7)
        assert two.run(labs.healthy) == [8.0] * 2
    over.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_pending_call_in_html_is_text_and_no_markup(two):
    def f():
        raise ValueError("<script>alert(1)</script>")

    call = two.run_async(f)
    with pytest.raises(RankError):
        call.result()
    assert "<script" not in call._repr_html_() and "&lt;script&gt;" in call._repr_html_()


# a network to emulate -----------------------------------------------------------------------------------------------
SLOW = Link(0.005, Bandwidth(1e8, "one way", "GPU", "spec"), "slow")


class Topology:
    name = "two switches"

    def link(self, src, dst):
        return SLOW


def test_the_label_says_what_is_emulated():
    with Ranks(2, backend="gloo", link=SLOW) as ranks:
        assert ranks.label == "2 ranks, gloo, CPU, emulated link: 5 ms, 0.1 GB/s one way per GPU"
        assert ranks.run(labs.healthy) == [8.0] * 2
    with Ranks(2, backend="gloo", link=Topology()) as ranks:  # a class of the notebook never travels
        assert ranks.label == "2 ranks, gloo, CPU, emulated network: two switches"
        assert ranks.run(labs.healthy) == [8.0] * 2


class Broken:
    def __init__(self, answer):
        self.answer = answer

    def link(self, src, dst):
        return self.answer() if dst == 1 else SLOW


@pytest.mark.parametrize(
    "link, error, said",
    [
        (7, TypeError, r"link is a Link, or has a method link\(src, dst\) that returns one, got 7"),
        (Broken(lambda: 9), TypeError, r"link.link\(0, 1\) returns a Link, got 9"),
        (Broken(lambda: 1 / 0), ValueError, r"link.link\(0, 1\) raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_link_that_is_none_is_refused_before_anything_starts(leftovers, link, error, said):
    with pytest.raises(error, match=said):
        Ranks(2, backend="gloo", link=link)
    assert "processes" not in leftovers.found() and "directories" not in leftovers.found()
