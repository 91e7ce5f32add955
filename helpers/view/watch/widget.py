"""The widget `watch`: what every rank of a call under way is doing, how far it is, and a Stop button. Chapter: ranks.

It reads what `ranks.run_async(...)` returns through `status()`, `done`, `result()` and `stop()` alone; torch is never needed here.
"""

from __future__ import annotations

import reprlib
import threading
from typing import Any

import traitlets

from helpers.view.shared.widget import CourseWidget

EVERY = 0.2  # seconds between two looks
# The same on every run and machine: clocks and labels are not saved
SAVED = "a call on ranks, watched live in a kernel"


def snapshot(pending: Any) -> dict:
    """A call as plain data: {"phase", "label", "seconds", "startup", "calls", "ranks", "outcome"}.

    phase: "starting", "running", "done", "failed" or "stopped". ranks: [{"rank", "state", "done", "total"}]. outcome: results or
    error in short once it is over, else "".
    """
    over = pending.done  # asked first: what is read afterwards is then the end
    status = pending.status()
    phase, outcome = _end(pending) if over else ("starting" if status.state == "starting" else "running", "")
    ranks = [{"rank": r.rank, "state": r.state, "done": r.done, "total": r.total} for r in status.ranks]
    seconds = None if status.seconds is None else round(status.seconds, 1)
    about = {"label": status.label, "seconds": seconds, "startup": status.startup, "calls": status.calls}
    return {"phase": phase, **about, "ranks": ranks, "outcome": outcome}


def _end(pending: Any) -> tuple[str, str]:
    """(phase, outcome) of a call that is over."""
    try:
        results = pending.result()
    except BaseException as error:  # whatever the call raised is what there is to show
        name = type(error).__name__
        return ("stopped", str(error)) if name == "Stopped" else ("failed", f"{name}: {error}")
    return "done", f"{len(results)} results: {reprlib.repr(results)}"


class Watch(CourseWidget):
    """A call of `ranks.run_async` while it runs. Its thread looks five times a second and ends with the call, or with `close()`."""

    name = "watch"
    call = traitlets.Dict().tag(sync=True)
    stopping = traitlets.Bool(False).tag(sync=True)  # set by the Stop button

    def __init__(self, pending: Any):
        self._pending, self._closed = pending, threading.Event()  # first: `close` is called on whatever was begun
        if missing := [name for name in ("status", "done", "result", "stop") if not hasattr(pending, name)]:
            raise TypeError(
                f"watch shows what ranks.run_async(...) returns, got {pending!r}, which has no {missing[0]}"
            )
        super().__init__(call=snapshot(pending))
        if self.call["phase"] in ("starting", "running"):
            threading.Thread(target=self._look, name="ranks-watch", daemon=True).start()

    def _look(self) -> None:
        over = False
        while not over and not self._closed.wait(EVERY):
            over = self._pending.done
            self.call = snapshot(self._pending)

    @traitlets.observe("stopping")
    def _stop(self, change: dict) -> None:
        """The button was pressed: the ranks end at once, and the look that follows shows it."""
        if change["new"]:
            self._pending.stop()

    def close(self) -> None:
        """Take the widget away; the call goes on."""
        self._closed.set()
        super().close()

    def sentence(self) -> str:
        return SAVED

    def html(self) -> str:
        """What a saved notebook keeps: there is no call to watch any more, so a line that says what was here."""
        return f"<p>Here stood {SAVED}: what every rank is doing, how far it is, and a Stop button.</p>"


def watch(pending: Any) -> Watch:
    """Watch a call of `ranks.run_async`: `watch(ranks.run_async(train))`. TypeError on anything else."""
    return Watch(pending)
