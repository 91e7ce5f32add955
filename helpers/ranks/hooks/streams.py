"""When is a collective on a GPU complete? NCCL's calls return once enqueued, so events on the stream tell. Chapter: hangs.

A call with async_op=False runs on the current stream, one with async_op=True on a stream of torch's own (ProcessGroupNCCL.cpp,
`collective`): so the first is bracketed by two events, and the second asked through its handle. A thread looks at both. Four
traps, all known from torch's own watchdog, shape it:

- cudaEventQuery can block while another thread holds the context's lock, as a first launch of a kernel behind a stuck
  collective does (the comment in `finishedGPUExecutionInternal`). So a note reads "inside" or "queued" until an event says
  otherwise, and the parent takes a queued note that nobody refreshes for a stuck one.
- cudaDeviceSynchronize on a stuck stream never returns, so a call's end is polled for.
- A thread's first CUDA call makes a context on GPU 0 unless it has chosen its device.
- A query during a graph capture ends the capture (pytorch/pytorch#104487), so nobody looks while one is under way.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque

import torch
import torch.distributed as dist

from helpers.patches import CAPTURES
from helpers.ranks.notes.notes import KEPT, State, Writer

from .completion import Completion

POLL = 0.02  # seconds between looks while something is open
SPARE = 256  # events kept for the next operations


class Cuda:
    """All that is asked of CUDA; tests put another in its place."""

    def __init__(self, device: torch.device | str):
        self._device = torch.device(device)

    def bind(self) -> None:
        """Called first in a new thread."""
        torch.cuda.set_device(self._device)

    def capturing(self) -> bool:
        """Is the current stream being captured into a graph?"""
        return torch.cuda.is_current_stream_capturing()

    def stream(self) -> torch.cuda.Stream:
        return torch.cuda.current_stream()

    def event(self) -> torch.cuda.Event:
        return torch.cuda.Event()

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def pause_in_captures(self, lock: threading.RLock) -> None:
        """Whoever captures a graph in this process holds `lock` meanwhile."""
        begin, end = torch.cuda.CUDAGraph.capture_begin, torch.cuda.CUDAGraph.capture_end

        def capture_begin(graph, *args, **kwargs):
            lock.acquire()
            try:
                return begin(graph, *args, **kwargs)
            except BaseException:
                lock.release()
                raise

        def capture_end(graph):
            try:
                return end(graph)
            finally:
                lock.release()

        CAPTURES.put(torch.cuda.CUDAGraph, "capture_begin", capture_begin)
        CAPTURES.put(torch.cuda.CUDAGraph, "capture_end", capture_end)


class _Open:
    """An operation under way. begin: the stream reaches it (None: launched, and nobody waits). end or works: it is complete."""

    __slots__ = ("begin", "end", "record", "started", "stream", "works", "writer")

    def __init__(self, writer: Writer, record: int, stream: object, begin: object):
        self.writer, self.record, self.stream, self.begin = writer, record, stream, begin
        self.end, self.works, self.started = None, (), False

    def mark(self, state: State) -> None:
        self.writer.mark(self.record, state)

    def complete(self) -> bool:
        if self.works:
            return all(work.is_completed() for work in self.works)
        return self.end is not None and self.end.query()

    def look(self) -> bool:
        """Bring the note up to date; True once it is complete."""
        if self.complete():
            self.mark(State.DONE)
            return True
        if self.begin is not None and not self.started:
            self.started = self.begin.query()
            self.mark(State.INSIDE if self.started else State.QUEUED)
        return False


class _Reached:
    """The event of a wait that begins now."""

    @staticmethod
    def query() -> bool:
        return True


class StreamCompletion(Completion):
    """QUEUED while the stream is busy with what came before, INSIDE while the collective runs, DONE after it."""

    def __init__(self, gpu: Cuda, poll: float = POLL):
        self._gpu, self._poll = gpu, poll
        self._lanes: dict[object, deque[_Open]] = {}  # one per stream: what is on it completes in order
        self._handles: list[_Open] = []
        self._spare: deque = deque(maxlen=SPARE)
        self._failed = False
        self._lock = threading.RLock()  # not taken by begin and end: a look that blocks must not block them
        self._something = threading.Event()
        self._thread: threading.Thread | None = None
        gpu.pause_in_captures(self._lock)

    def begin(self, writer: Writer, record: int) -> _Open | None:
        """None in a graph capture: what is only recorded cannot be late."""
        if self._gpu.capturing():
            return None
        stream = self._gpu.stream()
        token = _Open(writer, record, stream, self._recorded(stream))
        self._lanes.setdefault(stream, deque()).append(token)
        self._wake()
        return token

    def end(self, writer: Writer, record: int, token: _Open | None) -> None:
        if token is None:
            return writer.mark(record, State.DONE)
        if not token.works:
            token.end = self._recorded(token.stream)
        return None

    def launched(self, writer: Writer, record: int, token: _Open | None, works: list[dist.Work]) -> None:
        if token is None:
            return writer.mark(record, State.DONE)
        with self._lock:
            self._leave_lane(token)
            token.works, token.begin, token.started = tuple(works), None, False
            self._handles.append(token)
            token.mark(State.LAUNCHED)
        return None

    def waiting(self, writer: Writer, record: int, token: _Open | None) -> None:
        if token is None or self._gpu.capturing():
            return
        with self._lock:
            if token in self._handles and token.begin is None:
                token.begin = self._recorded(self._gpu.stream())
                token.mark(State.INSIDE)

    def failed(self, writer: Writer, record: int, token: _Open | None) -> None:
        if token is None:
            return writer.mark(record, State.FAILED)
        with self._lock:
            self._leave_lane(token)
            self._handles = [open_ for open_ in self._handles if open_ is not token]
            token.mark(State.FAILED)
        return None

    def settle(self, limit: float | None = None) -> bool:
        """As Completion says. Without a limit it also waits for the reader's own kernels, and a CUDA error is raised."""
        if limit is None:
            self._poll_until(self._all_awaited)
            self._gpu.synchronize()  # no noted collective is left that could hang here; raises what went wrong
            return True
        last = self._recorded(self._gpu.stream())
        return self._poll_until(lambda: self._all_awaited() and last.query(), limit) and not self._failed

    def forget(self) -> None:
        with self._lock:
            self._lanes.clear()
            self._handles.clear()
            self._failed = False

    # looking -------------------------------------------------------------------------------------------------------------
    def _poll_until(self, ready, limit: float | None = None) -> bool:
        """Look often at first, then seldom. False when `limit` seconds are over."""
        began, pause = time.monotonic(), 50e-6
        while not ready():
            if limit is not None and time.monotonic() - began > limit:
                return False
            time.sleep(pause)
            pause = min(2 * pause, self._poll)
        return True

    def _all_awaited(self) -> bool:
        """The call ends here, so handles that nobody waited for are waited for. True when nothing is open."""
        with self._lock:
            for token in self._handles:
                if token.begin is None:
                    token.begin = _Reached
        return not self._look()

    def _watch(self) -> None:
        self._gpu.bind()
        while True:
            self._something.wait()
            if not self._look():
                self._something.clear()
                if not self._look():  # what began between the look and the clear would not wake us
                    continue
                self._something.set()
            time.sleep(self._poll)

    def _look(self) -> bool:
        """Bring all notes up to date; True while something is open."""
        with self._lock:
            try:
                for lane in list(self._lanes.values()):
                    self._look_along(lane)
                self._handles = [token for token in self._handles if not token.look()]
            except Exception:  # a CUDA error: every later call gives it again, in the rank's own thread too
                self._give_up()
            return any(list(self._lanes.values())) or bool(self._handles)

    def _look_along(self, lane: deque[_Open]) -> None:
        while lane and lane[0].look():
            done = lane.popleft()
            self._spare.extend((done.begin, done.end))
        for behind in list(lane)[1:][-KEPT:]:
            behind.mark(State.QUEUED)

    def _give_up(self) -> None:
        for token in [*self._handles, *(token for lane in self._lanes.values() for token in lane)]:
            token.mark(State.FAILED)
        self.forget()
        self._failed = True

    # small things --------------------------------------------------------------------------------------------------------
    def _recorded(self, stream: object) -> object:
        try:
            event = self._spare.pop()
        except IndexError:
            event = self._gpu.event()
        event.record(stream)
        return event

    def _leave_lane(self, token: _Open) -> None:
        with contextlib.suppress(ValueError, KeyError):  # complete already, or forgotten
            self._lanes[token.stream].remove(token)

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="op-notes", daemon=True)
            self._thread.start()
        if not self._something.is_set():
            self._something.set()
