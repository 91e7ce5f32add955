"""Where one rank is, as it travels between ranks, and the report that all positions make. Chapter: hangs.

JSON, never pickle: whoever can reach the job's store could write into it.
"""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from helpers.ranks.notes.notes import Journal, Note, State

from . import verdict
from .reporting import Evidence, When, first
from .verdict import Failure

KINDS = ("died", "raised", "not answering", "stuck", "consequence", "finished")
_SILENT = "not answering: it has died, a signal has stopped it, or Python's lock (the GIL) is held"
NOTHING = Journal((), 0, 0, 0)
_EXIT_CODE = 49  # of the fields of /proc/PID/stat after the name: proc(5) counts it as 52


@dataclass(frozen=True)
class Position:
    """kind: one of KINDS; text: in RankError's words; traceback: the reader's own frames; journal: its latest operations, if known."""

    kind: str
    text: str
    traceback: str = ""
    journal: Journal | None = None

    def dump(self) -> str:
        """Times become ages: clocks differ between machines."""
        now, journal = time.monotonic(), self.journal or NOTHING
        found = [note._replace(since=now - note.since, state=int(note.state)) for note in journal.notes]
        return json.dumps([self.kind, self.text, self.traceback, found, journal[1:]])

    @classmethod
    def load(cls, text: bytes | str) -> Position:
        """The inverse of `dump`, on another machine."""
        kind, words, traceback, found, head = json.loads(text)
        now = time.monotonic()
        read = (Note(*fields) for fields in found)
        notes = tuple(note._replace(since=now - note.since, state=State(note.state)) for note in read)
        return cls(kind, words, traceback, Journal(notes, *head))


GONE = Position("died", "died: its process is gone, the launcher knows how")
ENDED = Position("stuck", "ended before it could answer")  # by the launcher, which had seen the death of another
_TERMINATED = Position("died", verdict.died_text(-signal.SIGTERM, after_done=False))


def of_dead(pid: int) -> Position | None:
    """How a process of this machine has died; None while it lives."""
    try:
        if psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        status = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[_EXIT_CODE])
    except (psutil.NoSuchProcess, OSError):  # its parent knows; or this is not Linux
        return GONE
    return Position("died", verdict.died_text(os.waitstatus_to_exitcode(status), after_done=False))


def without_ended(found: list[Position | None]) -> list[Position | None]:
    """Beside another death, SIGTERM is how a launcher ends the rest: no cause."""
    if all(position in (None, _TERMINATED) or position.kind != "died" for position in found):
        return found
    return [ENDED if position == _TERMINATED else position for position in found]


def compose(positions: list[Position | None], why: str) -> str:
    """The report: root cause first, then every rank, as in a RankError. None: a rank that did not answer; why: the deadline."""
    known = [position or Position("not answering", _SILENT) for position in positions]
    failures = [Failure(rank, p.kind, p.text, p.traceback) for rank, p in enumerate(known) if p.kind != "finished"]
    failures.sort(key=lambda failure: KINDS.index(failure.kind))
    journals = [p.journal or NOTHING for p in known]
    disagreement = first(When.AT_ANY_TIME, Evidence(journals))
    if disagreement:
        failures.insert(0, Failure(None, "mismatch", disagreement))
    if not failures:
        return "all ranks have finished"
    message = verdict.headline(failures, [p.text.splitlines()[0] for p in known])
    if failures[0].kind not in ("stuck", "consequence"):
        return message
    said = ": ".join(filter(None, [why, _cause(known)]))
    return f"{said}\n{message}" if said else message


def _cause(known: list[Position]) -> str | None:
    """Who keeps whom waiting; of a rank that did not answer nothing is known."""
    gone = {rank for rank, p in enumerate(known) if p.kind == "finished"}
    return first(When.NOTHING_MOVES, Evidence([p.journal for p in known], gone, [p.text for p in known]))
