"""The widget `memory`: what is alive while a step runs, by class, by layer and block by block.

The same picture for a trace that was tracked, predicted, recorded, or that arrives while the step runs. Torch is never needed here.
Chapters: training-memory, allocator, too-big.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import traitlets

from helpers.memory import Trace
from helpers.view.memory.feed import News, Sender
from helpers.view.memory.spec import (
    MemorySpec,
    against,
    devices,
    memory_spec,
    refuse_outside,
    set_html,
    set_sentence,
    trace_set,
    with_reserved,
)
from helpers.view.shared.recorded import recorded_set, traces_of
from helpers.view.shared.widget import CourseWidget

What = Trace | Sequence[Trace] | str | Sequence[str] | None
SAVED = "memory, watched live in a kernel"  # the same on every run: what was measured is not saved


class Memory(CourseWidget):
    """Traces over time. `memory(...)` says what may be shown; with live=True, `feed` is what a tracker calls for every event."""

    name = "memory"
    spec = traitlets.Dict().tag(sync=True)
    trace = traitlets.Dict().tag(sync=True)
    devices = traitlets.Dict().tag(sync=True)  # bytes by name: the limits that a reader may choose
    stream = traitlets.Bool(False).tag(sync=True)  # events arrive by messages

    def __init__(self, spec: MemorySpec, found: dict | None, saved: str | None = None, live: bool = False):
        self._sender = Sender(self._tell)
        super().__init__(spec=spec.as_json(), trace=found or {}, devices=devices(), stream=live)
        self._saved = recorded_set(saved) if saved else None if live else found
        self._saved_spec = replace(spec, show=saved, names=[saved]) if saved else spec
        self.on_msg(lambda _, content, __: self._sender.answer(content.get("ask")))

    @traitlets.observe("spec")
    def _answer(self, change: dict) -> None:
        """The reader chose another recorded trace, or another to compare it with."""
        show, against = change["new"].get("show"), change["new"].get("against", "")
        shown = self.trace.get("name"), self.trace.get("against", {}).get("name", "")
        if show and self.trace and (show, against) != shown:
            try:
                found = recorded_set(show)
                self.trace = {**found, "against": recorded_set(against)} if against else found
            except ValueError as error:
                self.trace = {"error": str(error)}

    @property
    def traces(self) -> list[Trace]:
        """What is on show, a trace per rank; of a live widget, what has arrived so far."""
        if "ranks" in self.trace:
            return traces_of(self.trace)
        feeds = [feed for _, feed in sorted(self._sender.feeds.items())]
        return [Trace(tuple(feed.events), "", samples=tuple(feed.samples)) for feed in feeds]

    def feed(self, news: News | Iterable[News], rank: int = 0) -> None:
        """An event that just happened, or a sample: `track(..., on_event=m.feed, on_sample=m.feed)`. It is on the screen 50 ms later.

        TypeError on what is neither.
        """
        self._sender.take(news, rank)

    def feeder(self, rank: int) -> Callable[[News], None]:
        """`feed` for one rank."""
        return lambda news: self.feed(news, rank)

    def on_emit(self, rank: int, news: News | Iterable[News]) -> None:
        """Of real ranks: `ranks.run(step, on_emit=m.on_emit)`, where every rank calls `track(..., on_event=emit, on_sample=emit)`."""
        self.feed(news, rank)

    def done(self, *traces: Trace) -> None:
        """The run is over: what waits is sent at once. traces: the tracker's own, a rank each, with source and label for the badge."""
        self._sender.flush()
        if traces:
            ranked = [replace(trace, about={**trace.about, "rank": rank}) for rank, trace in enumerate(traces)]
            self.trace = {**self.trace, **trace_set(ranked)}
        self._tell({"over": True})

    def _tell(self, message: dict) -> None:
        if self.comm is not None:
            self.send(message)

    def close(self) -> None:
        """Take the widget away; nothing is sent any more."""
        self._sender.flush()
        super().close()

    def sentence(self) -> str:
        return set_sentence(self._saved) if self._saved else SAVED

    def html(self) -> str:
        """What a saved notebook keeps: a recorded trace by its name, a small one whole; of a live one without a name, a line."""
        if self._saved:
            return set_html(self._saved_spec, self._saved)
        return f"<p>Here stood {SAVED}: areas by class that grow with every allocation.</p>"


def memory(
    what: What = None,
    *,
    recorded: str | None = None,
    limit: int | None = None,
    at: int | None = None,
    rank: int = 0,
    axis: str = "events",
    reserved: Sequence[int] | None = None,
    beside: Trace | None = None,
    title: str = "",
    live: bool = False,
) -> Memory:
    """`memory(trace)`, `memory([trace0, trace1])` (ranks), `memory("llama-2-7b")` (recorded; several names: a choice), `memory(live=True)`.

    recorded: the name under which this trace is recorded, so that the saved notebook and the page hold that name alone, and show the
    recorded run. reserved: bytes reserved after every event of the one trace (a Replay's), a thin line. beside: a trace to compare with,
    a line with its name: what was predicted. limit: the device's bytes, a dashed line. at: the event to begin at (default: the peak).
    axis: "events" or "seconds".
    ValueError on a name that is not recorded, an empty trace, or an event or rank that is not there.
    """
    if live:
        if what is not None:
            raise ValueError(f"a live widget is fed, not given a trace: memory(live=True), got {what!r}")
        return Memory(memory_spec(limit=limit, axis=axis), against(beside), recorded, live=True)
    listed = [what] if isinstance(what, (Trace, str)) else list(what or ())
    if not listed:
        raise ValueError("memory shows a Trace, a list of them, or a recorded one by name; or live=True")
    if reserved is not None:
        listed = [with_reserved(listed, reserved)]
    named = all(isinstance(one, str) for one in listed)
    found = (recorded_set(listed[0]) if named else trace_set(listed, title)) | against(beside)
    spec = memory_spec(listed if named else (), limit=limit, at=at, rank=rank, axis=axis)
    refuse_outside(spec, traces_of(found))
    return Memory(spec, found, recorded)
