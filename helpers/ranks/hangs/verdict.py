"""From what every rank did to one error that a person can act on: root cause first. Chapter: hangs.

Order of causes: ranks in different collectives; a death; an exception; a rank that waits for ever; and last what follows
from another rank's failure, such as "Connection closed by peer".
"""

from __future__ import annotations

import pickle
import re
import signal
from collections import defaultdict
from dataclasses import dataclass

from helpers.ranks.notes.notes import Journal, Note, State
from helpers.ranks.notes.reader_lines import own, place, ranks_text

from .words import SHOWN

_LOST_PEER = re.compile(
    "closed by peer|reset by peer|pair closure|Broken pipe|Connection refused|Timed out waiting|Socket Timeout"
    "|remote process exited|communicator was aborted|ncclRemoteError|ncclSystemError"
)
_FRAME = re.compile(r'File "([^"]+)", line (\d+) in')


@dataclass(frozen=True)
class Failure:
    """What went wrong on one rank (rank None: between ranks). kind: mismatch, died, raised, stuck or consequence."""

    rank: int | None
    kind: str
    text: str
    traceback: str = ""  # the reader's own frames
    full: str = ""
    pickled: bytes | None = None

    @property
    def exception(self) -> BaseException | None:
        """The rank's exception itself, where it could be pickled."""
        return pickle.loads(self.pickled) if self.pickled else None


class RankError(RuntimeError):
    """A call that did not end well on every rank. The message is short; `details()` is everything.

    failures: root cause first. states: what every rank was doing, in rank order. root: the first failure.
    sound: the ranks could go on as they are; else the next call starts new ones.
    """

    def __init__(
        self, message: str, failures: list[Failure], states: list[str], details: str = "", sound: bool = False
    ):
        super().__init__(message)
        self.failures, self.states, self.sound, self._details = failures, states, sound, details

    @property
    def root(self) -> Failure:
        return self.failures[0]

    def details(self) -> str:
        """Every rank's state, full traceback, latest operations, stack and output."""
        return self._details

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message alone, without the way through this library."""
        return [f"RankError: {self}", "(everything the ranks said and did: print(ranks.details()))"]

    def __reduce__(self):
        return RankError, (str(self), self.failures, self.states, self._details, self.sound)


def is_consequence(raised) -> bool:
    """An exception that torch raised because a peer went away."""
    return raised.from_torch and bool(_LOST_PEER.search(raised.message))


def died_text(code: int, after_done: bool) -> str:
    """-9 -> "died: SIGKILL"; 0 -> "exited with code 0 before it was done"."""
    when = " after it had finished" if after_done else " before it was done"
    if code < 0:
        return f"died: {signal.Signals(-code).name}" + (when if after_done else "")
    return f"exited with code {code}{when}"


def pending_text(journal: Journal, stack: str) -> str:
    """What a rank that has not answered is doing, and the last collective that it has left."""
    if note := journal.inside:
        return f"waiting in {note}{_at(note)}"
    left = next((n for n in reversed(journal.notes) if n.collective and n.state == State.DONE), None)
    after = f", after {left.op} #{left.number}" if left else ""
    if where := stack_line(stack):
        return f"running at {where}{after}"
    return f"running{after}" if stack else f"not answering{after}"


def stack_line(stack: str) -> str:
    """The innermost line of the reader's own in a stack: "cell line 7", or "". From life.py outwards nothing is the reader's."""
    for file, line in _FRAME.findall(stack):
        if file.endswith("/ranks/worker/life.py"):
            break
        if own(file):
            return f"{place(file)} line {line}"
    return ""


def lost_text(journal: Journal) -> str:
    """A rank whose exception only follows from another's failure."""
    note = next((n for n in reversed(journal.notes) if n.state in (State.FAILED, State.INSIDE)), None)
    return f"lost a peer in {note}{_at(note)} (a consequence)" if note else "lost a peer (a consequence)"


def _at(note: Note) -> str:
    return f" at {note.where}" if note.where else ""


def headline(failures: list[Failure], states: list[str]) -> str:
    """The short message: the root cause with its own lines, then what every other rank was doing."""
    root = failures[0]
    same: dict[str, list[int]] = defaultdict(list)
    for rank, state in enumerate(states):
        same[state].append(rank)
    who = "" if root.rank is None else f"{ranks_text(same.pop(states[root.rank]), most=SHOWN)} "
    others = [f"{ranks_text(ranks, most=SHOWN)}: {state}" for state, ranks in same.items()]
    if len(others) > SHOWN:
        rest = sum(len(ranks) for ranks in list(same.values())[SHOWN - 1 :])
        others[SHOWN - 1 :] = [f"{rest} more ranks: see details()"]
    return "\n".join([f"{who}{root.text}", *root.traceback.splitlines(), *others])
