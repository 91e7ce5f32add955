"""Op notes on a GPU: the events are played, so no GPU is needed to see the order, the races and what blocks."""

from __future__ import annotations

import threading
import time

import pytest

from helpers.ranks.hooks import streams
from helpers.ranks.notes import notes
from helpers.ranks.notes.notes import State


class Event:
    """Done when the test says so. `blocked`: a query that does not return, as behind a context's lock."""

    def __init__(self, gpu: Gpu):
        self.gpu, self.done, self.stream = gpu, False, None

    def record(self, stream: str) -> None:
        if self.gpu.broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        self.done, self.stream = False, stream
        self.gpu.recorded.append(self)

    def query(self) -> bool:
        self.gpu.asked.append(threading.current_thread().name)
        self.gpu.open.wait()
        if self.gpu.broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return self.done


class Work:
    """A handle whose collective runs on a stream of torch's own."""

    def __init__(self):
        self.done = False

    def is_completed(self) -> bool:
        return self.done


class Gpu:
    """As much of CUDA as StreamCompletion asks for."""

    def __init__(self):
        self.recorded, self.asked, self.made, self.bound = [], [], 0, []
        self.capture, self.broken, self.current = False, False, "default"
        self.open = threading.Event()  # queries return
        self.open.set()
        self.synchronized = 0
        self.lock = None

    def bind(self) -> None:
        self.bound.append(threading.current_thread().name)

    def capturing(self) -> bool:
        return self.capture

    def stream(self) -> str:
        return self.current

    def event(self) -> Event:
        self.made += 1
        return Event(self)

    def synchronize(self) -> None:
        if self.broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        self.synchronized += 1

    def pause_in_captures(self, lock: threading.RLock) -> None:
        self.lock = lock


class Rank:
    """One rank's notes, its completion, and the GPU under it."""

    def __init__(self):
        self.region = memoryview(bytearray(notes.REGION))
        self.writer, self.gpu = notes.Writer(self.region), Gpu()
        self.completion = streams.StreamCompletion(self.gpu, poll=0.001)

    def enter(self, op: str = "all_reduce") -> tuple:
        record = self.writer.enter(op, "float32[4]", where="cell line 7")
        return self.writer, record, self.completion.begin(self.writer, record)

    def call(self) -> tuple[Event, Event]:
        """A collective on the current stream; returns the events of its begin and its end."""
        entered = self.enter()
        self.completion.end(*entered)
        return tuple(self.gpu.recorded[-2:])

    def launch(self) -> tuple[tuple, Work]:
        entered, work = self.enter(), Work()
        self.completion.launched(*entered, [work])
        return entered, work

    def states(self) -> list[str]:
        return [note.state.name for note in notes.read(self.region).notes]

    def become(self, *wanted: str) -> None:
        deadline = time.monotonic() + 10
        while self.states() != list(wanted) and time.monotonic() < deadline:
            time.sleep(0.001)
        assert self.states() == list(wanted)

    def stay(self, *wanted: str) -> None:
        """For twenty looks."""
        looks = len(self.gpu.asked) + 20
        deadline = time.monotonic() + 0.3
        while len(self.gpu.asked) < looks and time.monotonic() < deadline:
            assert self.states() == list(wanted)
            time.sleep(0.001)
        assert self.states() == list(wanted)


@pytest.fixture
def rank() -> Rank:
    return Rank()


def test_a_collective_is_inside_only_once_its_stream_reaches_it(rank):
    begin, end = rank.call()
    rank.become("QUEUED")
    assert notes.read(rank.region).inside is None, "its stream computes: nothing waits"
    begin.done = True
    rank.become("INSIDE")
    since = notes.read(rank.region).inside.since
    rank.stay("INSIDE")
    assert notes.read(rank.region).inside.since == since, "how long it waits is not forgotten"
    end.done = True
    rank.become("DONE")


def test_a_queued_collective_is_looked_at_again_and_again(rank, monkeypatch):
    rank.call()
    rank.become("QUEUED")
    seen = notes.read(rank.region).notes[0].since
    deadline = time.monotonic() + 10
    while notes.read(rank.region).notes[0].since == seen and time.monotonic() < deadline:
        time.sleep(0.001)
    assert notes.read(rank.region).notes[0].since > seen


def test_a_look_that_blocks_leaves_a_note_that_the_parent_takes_for_stuck(rank, monkeypatch):
    """A stuck collective can block whoever asks about it: then nobody refreshes the note, and its age tells."""
    rank.gpu.open.clear()
    entered = rank.enter()
    rank.completion.end(*entered)
    assert notes.read(rank.region).inside.number == 1, "from its call on, before anybody has looked"
    rank.gpu.open.set()
    rank.become("QUEUED")
    rank.gpu.open.clear()
    time.sleep(0.02)
    assert notes.read(rank.region).inside is None
    monkeypatch.setattr(notes, "STALE", 0.01)
    assert str(notes.read(rank.region).inside) == "all_reduce #1 of float32[4]"
    rank.gpu.open.set()


def test_the_stuck_one_is_named_and_not_the_last_one_enqueued(rank):
    events = [rank.call() for _ in range(3)]
    events[0][0].done = True
    rank.become("INSIDE", "QUEUED", "QUEUED")
    assert notes.read(rank.region).inside.number == 1
    for begin, end in events[:2]:
        begin.done = end.done = True
    events[2][0].done = True
    rank.become("DONE", "DONE", "INSIDE")


def test_streams_do_not_wait_for_one_another(rank):
    rank.call()
    rank.gpu.current = "side"
    begin, end = rank.call()
    assert (begin.stream, end.stream) == ("side", "side")
    begin.done = end.done = True
    rank.become("QUEUED", "DONE")


def test_a_blocking_call_is_followed_from_its_begin(rank):
    """A barrier blocks in C++: while the GPU still computes, the rank is not inside it."""
    rank.enter("barrier")
    rank.become("QUEUED")
    rank.gpu.recorded[0].done = True
    rank.become("INSIDE")


def test_a_handle_is_complete_when_its_work_is_and_not_when_the_current_stream_is(rank):
    _, work = rank.launch()
    rank.gpu.recorded[0].done = True
    rank.stay("LAUNCHED")
    work.done = True
    rank.become("DONE")


def test_a_handle_is_inside_once_the_stream_reaches_the_wait(rank):
    entered, work = rank.launch()
    rank.gpu.open.clear()
    rank.completion.waiting(*entered)
    rank.become("INSIDE")  # who cannot be asked may be stuck there
    rank.gpu.open.set()
    rank.completion.end(*entered)  # wait() has returned: on a GPU at once
    rank.become("QUEUED")
    rank.gpu.recorded[-1].done = True
    rank.become("INSIDE")
    work.done = True
    rank.become("DONE")


def test_the_end_of_a_call_waits_for_handles_that_nobody_waited_for(rank):
    _, work = rank.launch()
    settling = threading.Thread(target=rank.completion.settle)
    settling.start()
    rank.become("INSIDE")
    assert notes.read(rank.region).inside.op == "all_reduce" and rank.gpu.synchronized == 0
    work.done = True
    settling.join(10)
    assert rank.states() == ["DONE"] and rank.gpu.synchronized == 1


def test_a_call_ends_only_when_its_collectives_have(rank):
    begin, end = rank.call()
    settled = []
    settling = threading.Thread(target=lambda: settled.append(rank.completion.settle()))
    settling.start()
    rank.stay("QUEUED")
    assert settled == [] and rank.gpu.synchronized == 0, "synchronizing a stuck stream would never return"
    begin.done = end.done = True
    settling.join(10)
    assert settled == [True] and rank.states() == ["DONE"]


@pytest.mark.parametrize("finished, fit", [(True, True), (False, False)])
def test_after_an_exception_a_rank_is_fit_when_nothing_is_under_way(rank, finished, fit):
    events = rank.call()
    if finished:
        threading.Timer(0.02, lambda: [setattr(event, "done", True) for event in rank.gpu.recorded]).start()
    assert rank.completion.settle(limit=5.0 if finished else 0.05) is fit
    assert rank.states() == (["DONE"] if finished else ["QUEUED"]) and len(events) == 2


def test_a_cuda_error_fails_what_is_open_and_a_rank_is_not_fit(rank):
    rank.call()
    rank.become("QUEUED")
    rank.gpu.broken = True
    rank.become("FAILED")
    with pytest.raises(RuntimeError, match="illegal memory access"):
        rank.completion.settle()
    with pytest.raises(RuntimeError, match="illegal memory access"):
        rank.completion.settle(limit=0.1)
    rank.gpu.broken = False
    threading.Timer(0.02, lambda: [setattr(event, "done", True) for event in rank.gpu.recorded]).start()
    assert rank.completion.settle(limit=5.0) is False, "until the next call"
    rank.completion.forget()
    rank.gpu.open.set()
    begin, end = rank.call()
    begin.done = end.done = True
    rank.become("FAILED", "DONE")


def test_a_call_that_raises_is_no_longer_followed(rank):
    entered = rank.enter()
    rank.completion.failed(*entered)
    rank.stay("FAILED")
    entered, work = rank.launch()
    rank.completion.failed(*entered)
    work.done = True
    rank.launch()  # something to look at
    rank.stay("FAILED", "FAILED", "LAUNCHED")


def test_in_a_graph_capture_nothing_is_recorded_and_nobody_looks(rank):
    rank.call()
    rank.become("QUEUED")
    with rank.gpu.lock:  # as Cuda.pause_in_captures holds it
        rank.gpu.capture = True
        recorded, asked = len(rank.gpu.recorded), len(rank.gpu.asked)
        entered = rank.enter()
        rank.completion.end(*entered)
        rank.launch()
        time.sleep(0.02)
        assert (len(rank.gpu.recorded), len(rank.gpu.asked)) == (recorded, asked)
        rank.gpu.capture = False
    assert rank.states() == ["QUEUED", "DONE", "DONE"]


def test_whoever_captures_a_graph_holds_the_lock(monkeypatch):
    import torch

    class Graph:
        def capture_begin(self, fail=False):
            if fail:
                raise RuntimeError("no capture")

        def capture_end(self):
            pass

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    lock = threading.RLock()
    streams.Cuda("cuda:0").pause_in_captures(lock)

    def free() -> bool:
        found = []
        other = threading.Thread(target=lambda: found.append(lock.acquire(blocking=False) and lock.release() is None))
        other.start()
        other.join()
        return found[0]

    graph = Graph()
    graph.capture_begin()
    assert not free()
    graph.capture_end()
    assert free()
    with pytest.raises(RuntimeError):
        graph.capture_begin(fail=True)
    assert free()


def test_nobody_looks_when_nothing_is_open_and_one_thread_serves_all_calls(rank):
    for _ in range(5):
        begin, end = rank.call()
        begin.done = end.done = True
        assert rank.completion.settle()
        rank.completion.forget()
        rank.writer.clear()
    time.sleep(0.05)
    asked = len(rank.gpu.asked)
    time.sleep(0.05)
    assert len(rank.gpu.asked) == asked and rank.gpu.bound == ["op-notes"]


def test_events_are_used_again(rank):
    for _ in range(50):
        begin, end = rank.call()
        begin.done = end.done = True
        rank.completion.settle()
    assert rank.gpu.made <= 4


def test_a_flood_of_calls_from_two_streams_is_followed_to_its_end(rank):
    """The rank enqueues, the GPU completes and the watcher looks, all at once."""
    stop = threading.Event()

    def complete():
        done = 0
        while not stop.is_set() or done < len(rank.gpu.recorded):
            if done < len(rank.gpu.recorded):
                rank.gpu.recorded[done].done = True
                done += 1

    gpu = threading.Thread(target=complete)
    gpu.start()
    for number in range(600):
        rank.gpu.current = ("default", "side")[number % 2]
        if number % 7:
            rank.call()
        else:
            entered, work = rank.launch()
            rank.completion.waiting(*entered)
            rank.completion.end(*entered)
            work.done = True
    assert rank.completion.settle()
    stop.set()
    gpu.join(10)
    assert set(rank.states()) == {"DONE"} and len(rank.states()) == notes.KEPT


def test_completion_cannot_be_taken_back(rank):
    """A handle launched after its stream was looked at never returns from LAUNCHED to INSIDE by itself."""
    for _ in range(200):
        entered = rank.enter()
        rank.gpu.recorded[-1].done = True  # the watcher may mark it INSIDE at any moment from here on
        work = Work()
        rank.completion.launched(*entered, [work])
        assert notes.read(rank.region).notes[-1].state == State.LAUNCHED
    rank.stay(*rank.states())
