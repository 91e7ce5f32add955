"""Events on their way to a live widget: gathered, numbered, sent in batches, kept for whoever missed some. Chapter: training-memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from helpers.memory import Event, Sample

EVERY = 0.05  # seconds from the first event that waits to the batch that carries it
News = Event | Sample
FIRST_WHOLE = 64  # events; at every doubling all are sent again, so that a view that came late needs not ask


class Feed:
    """One rank's events as rows [what, block, bytes, microseconds]; `what` numbers the distinct (kind, class, module, phase, op).

    samples: what its GPU's allocator said meanwhile.
    """

    def __init__(self, rank: int):
        self.rank = rank
        self.events: list[Event] = []
        self.what: dict[tuple[str, ...], int] = {}
        self.rows: list[list[int]] = []
        self.samples: list[Sample] = []
        self.sent, self.named, self.sampled, self.whole = 0, 0, 0, FIRST_WHOLE

    def take(self, news: Event | Sample) -> None:
        (self.events if isinstance(news, Event) else self.samples).append(news)

    def waits(self) -> bool:
        return self.sent < len(self.events) or self.sampled < len(self.samples)

    def batch(self, since: int | None = None, named: int | None = None) -> dict:
        """The message with every event from `since` on and all samples (None: both from where the last batch ended)."""
        self._spell()
        sampled = 0
        if since is None:
            since, named, sampled = self.sent, self.named, self.sampled
            if len(self.rows) >= self.whole:
                since, named, sampled, self.whole = 0, 0, 0, 2 * len(self.rows)
            self.sent, self.named, self.sampled = len(self.rows), len(self.what), len(self.samples)
        what = [list(key) for key in list(self.what)[named:]]
        samples = {"sampled": sampled, "samples": [list(one) for one in self.samples[sampled:]]}
        return {"rank": self.rank, "from": since, "events": self.rows[since:], "named": named, "what": what, **samples}

    def _spell(self) -> None:
        """Rows of the events that have none yet."""
        for e in self.events[len(self.rows) :]:
            which = self.what.setdefault((e.kind, e.cls, e.module, e.phase, e.op), len(self.what))
            self.rows.append([which, e.block, e.nbytes, round(e.seconds * 1e6)])


class Sender:
    """Feeds by rank; a timer that lives 50 ms sends what waits, and none is left when nothing does."""

    def __init__(self, send: Callable[[dict], None]):
        self._send, self._lock, self._timer = send, threading.RLock(), None
        self.feeds: dict[int, Feed] = {}

    def take(self, news: News | Iterable[News], rank: int) -> None:
        """An event, a sample, or several in order. TypeError on anything else."""
        events = [news] if isinstance(news, News) else list(news)
        if bad := [one for one in events if not isinstance(one, News)]:
            raise TypeError(f"a live widget is fed events and samples of helpers.memory, got {bad[0]!r}")
        with self._lock:
            feed = self.feeds.setdefault(rank, Feed(rank))
            for one in events:
                feed.take(one)
            if self._timer is None and events:
                self._timer = threading.Timer(EVERY, self.flush)
                self._timer.name, self._timer.daemon = "memory-flush", True
                self._timer.start()

    def flush(self) -> None:
        """Send what waits, now."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            for feed in self.feeds.values():
                if feed.waits():
                    self._send(feed.batch())

    def answer(self, asked: object) -> None:
        """A view asks: for everything ("all"), or for a rank's events from a number on."""
        with self._lock:
            if asked == "all":
                for feed in self.feeds.values():
                    self._send(feed.batch(0, 0))
            elif isinstance(asked, dict) and asked.get("rank") in self.feeds:
                self._send(self.feeds[asked["rank"]].batch(int(asked["from"]), int(asked["named"])))
