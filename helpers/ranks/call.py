"""One call on all ranks, seen from the notebook: wait for answers, output, deaths and deadlines at once. Chapters: ranks, hangs."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import notes, verdict
from .launch import Member, Team
from .worker import Raised

TICK = 0.1  # seconds between looks at the notes
GRACE = 0.5  # seconds that the other ranks get after the first failure


@dataclass
class Done:
    """The rank returned; `payload` is its pickled result."""

    payload: bytes


@dataclass
class Died:
    """The process ended: exit code, or minus the signal's number."""

    code: int
    after_done: bool = False


Outcome = Done | Raised | Died


class Call:
    """Collects one outcome per rank, or as many as can be had."""

    def __init__(self, team: Team, timeout: float, limit: float | None, on_emit: Callable[[int, Any], None] | None):
        self.team, self.timeout, self.limit, self.on_emit = team, timeout, limit, on_emit
        self.outcomes: dict[int, Outcome] = {}
        self.starting = not team.ready
        self.stuck: str | None = None  # why we stopped waiting, if it was a deadline
        self.began = self._looked = time.monotonic()

    def send(self, message: bytes) -> None:
        """The same bytes to every rank. One that is already dead is noticed by `gather`."""
        for member in self.team.members:
            member.output.clear()
            try:
                member.call.send_bytes(message)
            except OSError:
                continue

    def gather(self) -> None:
        """Returns when every rank has answered or died, or when waiting longer cannot help."""
        give_up = None
        while self.pending and (give_up is None or time.monotonic() < give_up):
            for key, _ in self.team.selector.select(TICK):
                self._hear(key.fileobj, *key.data)
            failed = any(not isinstance(outcome, Done) for outcome in self.outcomes.values())
            if give_up is None and (failed or self._hopeless()):
                give_up = time.monotonic() + (GRACE if failed else 0)
        for member in self.team.members:
            member.output.read()

    @property
    def pending(self) -> list[Member]:
        return [m for m in self.team.members if m.rank not in self.outcomes]

    def _hear(self, file: object, member: Member, what: str) -> None:
        if what == "output":
            if not member.output.read():
                self.team.unregister(file)
        elif what == "call":
            self._receive(member)
        else:
            self._died(member)

    def _receive(self, member: Member) -> bool:
        """Take one message; False when there will be no more."""
        try:
            kind, body, *here_used = pickle.loads(member.call.recv_bytes())
        except (EOFError, OSError):
            self.team.unregister(member.call)
            return False
        if kind != "emit":
            self.team.here_used |= any(here_used)
            self.outcomes[member.rank] = Done(body) if kind == "done" else body
        elif self.on_emit:
            self.on_emit(member.rank, pickle.loads(body))
        return True

    def _died(self, member: Member) -> None:
        """Its last words may still be in the pipe: they come first."""
        self.team.unregister(member.process.sentinel)
        while member.call.poll() and self._receive(member):
            pass
        member.process.join()
        known = self.outcomes.get(member.rank)
        if not isinstance(known, Raised):  # what it raised says more than that it then ended
            self.outcomes[member.rank] = Died(member.process.exitcode, after_done=known is not None)

    def _hopeless(self) -> bool:
        now = time.monotonic()
        if now - self._looked < TICK:
            return False
        self._looked = now
        if self.limit is not None and now - self.began > self.limit:
            self.stuck = f"the call's limit of {self.limit:g} s is over"
            return True
        inside = [n for m in self.pending if (n := notes.read(m.region).inside)]
        if any(now - note.since > self.timeout for note in inside):
            self.stuck = f"no progress for {self.timeout:g} s"
        elif any(now - note.since > GRACE for note in inside):
            self.stuck = verdict.hopeless(
                [notes.read(m.region) for m in self.team.members], {m.rank for m in self.pending}
            )
        return self.stuck is not None
