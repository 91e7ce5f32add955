"""When a call has lasted long enough to say something, what that is, and how long it may still take. Chapter: ranks."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from helpers.meanwhile import line
from helpers.meanwhile.line import LINE

if TYPE_CHECKING:  # Python 3.11
    from typing import Self

_current: contextvars.ContextVar[Silence | None] = contextvars.ContextVar("_current", default=None)


class Silence:
    """A call of ours from its first second to its last: `with Silence() as silence`, and `silence.tick(say)` whenever it wakes.

    head: said before what a call inside says. Of calls of one cell that follow one another at once, the first one's silence counts.
    """

    _last = 0.0, -line.EVERY, 0  # when the wait before began and ended, and its cell

    def __init__(self, head: str = ""):
        self.head, self.inside = head, 0  # inside: calls that run in this one, and say more

    def __enter__(self) -> Self:
        line.attend()
        self.began = self.since = time.monotonic()
        self._outer = _current.get()
        if self._outer:
            self._outer.inside += 1
            self.since = self._outer.since
        else:
            began, ended, cell = Silence._last
            if self.began - ended < line.EVERY and cell == line.Cell.number:
                self.since = began
        self._token = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)
        LINE.erase()
        if self._outer:
            self._outer.inside -= 1
        else:
            Silence._last = self.since, time.monotonic(), line.Cell.number

    def tick(self, say: Callable[[str], str]) -> None:
        """Draw the line if it is time to. say: what goes on, given ", 12 s" for the seconds of the call, "" below one."""
        now = time.monotonic()
        if self.inside or now < LINE.next or now - self.since < line.AFTER:
            return
        seconds = int(now - self.began)
        with contextlib.suppress(Exception):  # the ranks have ended meanwhile, say
            LINE.show(": ".join([*self._around(), say(f", {seconds} s" * bool(seconds))]))

    def _around(self) -> list[str]:
        """The heads of what this call is inside of, the outermost first."""
        outer = self._outer
        return [*outer._around(), *filter(None, [outer.head])] if outer else []


class Count(Silence):
    """Cases, one after the other: `with Count(weights) as count`, and `count.at(i, "what")` before each.

    weights: what each takes, as parts of the whole.
    """

    def __init__(self, weights: Sequence[float]):
        super().__init__()
        self._weights, self._pace = list(weights), Pace()

    def at(self, i: int, what: str) -> None:
        """Case i comes, counted from 0."""
        left = self._pace.left(sum(self._weights[:i]) / sum(self._weights))
        self.head = f"{i + 1} of {len(self._weights)}{left}: {what}"
        self.tick(lambda _: self.head)


class Pace:
    """How long the rest will take, if it goes on as it went."""

    def __init__(self) -> None:
        self.began = self._at = time.monotonic()
        self._share = 0.0
        self._again = False

    def left(self, share: float) -> str:
        """ ", about 8 s left" when so much of the whole is done; "" while nobody knows, and once it has begun again."""
        now = time.monotonic()
        self._again |= share < self._share
        if share != self._share:
            self._share, self._at = share, now
        if self._again or not 0 < share < 1:
            return ""
        rest = (self._at - self.began) * (1 - share) / share - (now - self._at)
        return f", about {max(1.0, rest):.0f} s left"


@contextlib.contextmanager
def aloud(what: str) -> Iterator[Silence]:
    """Around what computes here, in this process: a thread draws the line. what: "profiling a step"; what it yields has it as `head`."""
    line.attend()
    silence = Silence(what)
    if not line.watched():
        yield silence
        return
    over = threading.Event()

    def look() -> None:
        pause = max(line.SOON, silence.since + line.AFTER - time.monotonic())
        while not over.wait(pause):
            silence.tick(lambda seconds: silence.head + seconds)
            pause = line.EVERY

    with silence:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(look,), name="meanwhile", daemon=True)
        thread.start()
        try:
            yield silence
        finally:
            over.set()
            thread.join()
