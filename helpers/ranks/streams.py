"""When is a collective on a GPU complete? NCCL's calls return once enqueued, so two events on the stream tell. Chapter: hangs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque

import torch

from .hooks import Completion
from .notes import State, Writer

POLL = 0.02  # seconds between looks


class StreamCompletion(Completion):
    """LAUNCHED while the stream is still busy with what came before, INSIDE while the collective runs, DONE after it."""

    def __init__(self, event=lambda: torch.cuda.Event(), poll: float = POLL):
        self._event, self._poll = event, poll
        self._open: deque[tuple[Writer, int, object, object]] = deque()
        threading.Thread(target=self._watch, name="op-notes", daemon=True).start()

    def begin(self) -> object:
        return self._recorded()

    def end(self, writer: Writer, record: int, begun: object) -> None:
        writer.mark(record, State.LAUNCHED)
        self._open.append((writer, record, begun, self._recorded()))

    def settle(self) -> None:
        torch.cuda.synchronize()

    def forget(self) -> None:
        self._open.clear()

    def _recorded(self) -> object:
        event = self._event()
        event.record()
        return event

    def _watch(self) -> None:
        started: set[int] = set()
        while True:
            time.sleep(self._poll)
            for item in list(self._open):
                self._look(item, started)

    def _look(self, item: tuple[Writer, int, object, object], started: set[int]) -> None:
        writer, record, begin, end = item
        if end.query():
            writer.mark(record, State.DONE)
            started.discard(id(item))
            with contextlib.suppress(ValueError):  # forgotten meanwhile
                self._open.remove(item)
        elif id(item) not in started and begin.query():
            writer.mark(record, State.INSIDE)
            started.add(id(item))
