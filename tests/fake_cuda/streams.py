"""Streams whose work comes later, and events that tell when it has. Work is what takes time: collectives and sleeps.

A stream that has nothing to do marks an event at once; one that is busy has a thread, which does what was enqueued in order.
Events of a process without ranks tell a played time: what work took, and for each operator a launch and its bytes, so no rate
depends on how busy the CPU is. Ranks compare their clocks, so their events tell the time of the day.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

from . import graphs, state

LAUNCH = 1e-4  # seconds of an operator that moves nothing: so slow that the measurements need few repeats
RATE = 1e9  # bytes a second

_numbers = itertools.count()
_busy: dict[int, float] = {}  # seconds that a GPU has worked, in this process
_played = True


def by_the_clock() -> None:
    """From now on events tell the time of the day."""
    global _played
    _played = False


def now(device: int) -> float:
    """Seconds, as events on that GPU tell them."""
    return _busy.get(device, 0.0) if _played else time.perf_counter()


def charge(gpus: set[int], nbytes: int) -> None:
    """An operator that reads and writes so many bytes has run there; a copy between two keeps both."""
    for gpu in gpus:
        _busy[gpu] = _busy.get(gpu, 0.0) + LAUNCH + nbytes / RATE


class Stream:
    """One queue of a GPU. priority is taken and does nothing."""

    def __init__(self, device: object = None, priority: int = 0, **_: object):
        self.device_index = state.current() if device is None else state.index(device)
        self.number = next(_numbers)
        self._queue: deque[Callable[[], object]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[], object]) -> None:
        """To be done when all before it is."""
        with self._changed:
            self._queue.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=f"fake-stream-{self.number}", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue)
                work = self._queue[0]
            start = time.perf_counter()
            work()
            _busy[self.device_index] = _busy.get(self.device_index, 0.0) + time.perf_counter() - start
            with self._changed:
                self._queue.popleft()
                self._changed.notify_all()

    def mark(self, note: Callable[[], object]) -> None:
        """A note that takes no time: at once where nothing is under way."""
        with self._changed:
            if not self._queue:
                return note()
        return self.submit(note)

    def query(self) -> bool:
        return not self._queue

    def synchronize(self) -> None:
        graphs.forbidden("cudaStreamSynchronize")
        self.drain()

    def drain(self) -> None:
        if self._queue:
            with self._changed:
                self._changed.wait_for(lambda: not self._queue)

    def wait_event(self, event: Event) -> None:
        if not event.query_quietly():
            self.submit(event.reached().wait)

    def wait_stream(self, other: Stream) -> None:
        self.wait_event(other.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event


class Event:
    """Reached when its stream has come to where it was recorded; one that was never recorded counts as reached, as in CUDA."""

    def __init__(self, enable_timing: bool = False, **_: object):
        self.timing, self.at, self.recorded = enable_timing, 0.0, False
        self._reached = threading.Event()
        self._reached.set()

    def record(self, stream: Stream | None = None) -> None:
        reached = self._reached = threading.Event()
        self.recorded = True
        stream = stream or current_stream()

        def note() -> None:
            self.at = now(stream.device_index)
            reached.set()

        stream.mark(note)

    def reached(self) -> threading.Event:
        return self._reached

    def query_quietly(self) -> bool:
        return self._reached.is_set()

    def query(self) -> bool:
        graphs.forbidden("cudaEventQuery")
        return self._reached.is_set()

    def wait(self, stream: Stream | None = None) -> None:
        (stream or current_stream()).wait_event(self)

    def synchronize(self) -> None:
        graphs.forbidden("cudaEventSynchronize")
        self._reached.wait()

    def elapsed_time(self, other: Event) -> float:
        """Milliseconds, at least a hundredth: a GPU's clock has steps, too."""
        if not (self.timing and other.timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.recorded and other.recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query_quietly() and other.query_quietly()):
            raise RuntimeError("CUDA error: device not ready")
        return max((other.at - self.at) * 1e3, 0.01)


_default: dict[int, Stream] = {}
_all: list[Stream] = []
_chosen = threading.local()


def default_stream(device: object = None) -> Stream:
    at = state.current() if device is None else state.index(device)
    if at not in _default:
        _default[at] = Stream(at)
    return _default[at]


def current_stream(device: object = None) -> Stream:
    at = state.current() if device is None else state.index(device)
    return getattr(_chosen, "streams", {}).get(at) or default_stream(at)


@contextlib.contextmanager
def stream(chosen: Stream | None) -> Iterator[None]:
    """torch.cuda.stream: the stream's own GPU is current inside."""
    if chosen is None:
        yield
        return
    before, device = dict(getattr(_chosen, "streams", {})), state.current()
    _chosen.streams = before | {chosen.device_index: chosen}
    _all.append(chosen)
    state.choose(chosen.device_index)
    try:
        yield
    finally:
        _chosen.streams = before
        state.choose(device)


def synchronize(device: object = None) -> None:
    """Until nothing is under way on that GPU."""
    state.start()
    graphs.forbidden("cudaDeviceSynchronize")
    at = state.current() if device is None else state.index(device)
    for each in {*_default.values(), *_all}:
        if each.device_index == at:
            each.drain()


def sleep(cycles: int) -> None:
    """torch.cuda._sleep."""
    from .machine import CLOCK

    current_stream().submit(lambda: time.sleep(cycles / CLOCK))
