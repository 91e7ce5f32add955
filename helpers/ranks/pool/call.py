"""One call on all ranks, seen from the notebook: answers, output, deaths, deadlines, requests to stop. Chapters: ranks, hangs."""

from __future__ import annotations

import pickle
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from helpers.meanwhile import LINE, Pace, Silence
from helpers.ranks.hangs.pauses import Pauses
from helpers.ranks.hangs.reporting import Evidence, certain
from helpers.ranks.notes.reader_lines import ranks_text
from helpers.ranks.wire.output import Live, in_rank_order
from helpers.ranks.wire.pack import unpack
from helpers.ranks.worker.life import Raised

from .interrupts import Hold
from .launch import Member, Team
from .stacks import stopped
from .turn import Turn

TICK = 0.1  # seconds between looks at the notes
LOOK = 0.5  # seconds between looks for a rank that is stopped
GRACE = 0.5  # seconds that the other ranks get after the first failure
LATE = 1000  # emits of a rank's own threads taken after the last answer; its pipe holds fewer


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


@dataclass(frozen=True)
class Order:
    """What the reader asked for. limit: seconds for the whole call or None. live: lines are shown as they come."""

    timeout: float
    limit: float | None = None
    on_emit: Callable[[int, Any], None] | None = None
    live: bool = False


class Call:
    """Collects one outcome per rank, or as many as can be had."""

    def __init__(self, team: Team, order: Order, turn: Turn, hold: Hold):
        self.team, self.order, self.turn, self.hold = team, order, turn, hold
        self.outcomes: dict[int, Outcome] = {}
        self.starting = not team.ready
        self.stuck: str | None = None  # why we stopped waiting, if it was a deadline
        self.began = self._looked = time.monotonic()
        self.stacks: tuple[float, dict[int, str]] = (0.0, {})  # when `status` last asked for them, and what it was told
        self._checked = self.began
        self._halted: dict[int, float] = {}  # ranks that are stopped, and since when
        self._mute: dict[int, float] = {}  # ranks that have closed their end of the call's pipe, and when
        self._pauses = Pauses(TICK)
        self.pace = Pace()

    def send(self, message: bytes) -> None:
        """The same bytes to every rank. One that is already dead, or takes nothing, is noticed by `gather`."""
        for member in self.team.members:
            # What NCCL_DEBUG says of the start comes with the first call
            if self.team.calls or self.team.world.backend != "nccl":
                member.output.clear()
            member.output.listen(Live(member.rank) if self.order.live else None)
            if not member.call.post(message):
                self._listen(member, selectors.EVENT_READ | selectors.EVENT_WRITE)
        self.team.calls += 1

    def gather(self, say: Callable[[str], str]) -> None:
        """Returns when every rank has answered or died, or when waiting longer cannot help. Raises Stopped. say: what goes on meanwhile."""
        give_up = None
        with Silence() as silence:
            while self.pending and (give_up is None or time.monotonic() < give_up):
                with self.hold.open():
                    events = self.team.selector.select(TICK)
                self.turn.check()
                for key, ready in events:
                    self._hear(key.fileobj, ready, *key.data)
                failed = any(not isinstance(outcome, Done) for outcome in list(self.outcomes.values()))
                if give_up is None and (failed or self._hopeless()):
                    give_up = time.monotonic() + (GRACE if failed else 0)
                self.turn.show(silence, say)
        for member in self.team.members:
            member.output.read()
            self._late(member)

    def said(self) -> str:
        """What the ranks printed, in rank order; "" where it is shown already, but for a last line without its newline."""
        if not self.order.live:
            return in_rank_order(m.output.text for m in self.team.members)
        for member in self.team.members:
            member.output.read()
            if member.output.heard:
                member.output.heard.end()
            member.output.heard = None
        return ""

    @property
    def pending(self) -> list[Member]:
        return [m for m in self.team.members if m.rank not in self.outcomes]

    def _listen(self, member: Member, events: int) -> None:
        if member.call.fileno() in self.team.selector.get_map():
            self.team.selector.modify(member.call, events, (member, "call"))

    def _hear(self, file: object, ready: int, member: Member, what: str) -> None:
        if what == "output":
            if not member.output.read():
                self.team.unregister(file)
        elif what == "death":
            self._died(member)
        else:
            if ready & selectors.EVENT_WRITE and member.call.flush():
                self._listen(member, selectors.EVENT_READ)
            if ready & selectors.EVENT_READ:
                self._receive(member)

    def _receive(self, member: Member) -> bool:
        """Take one message; False when no more is here by now."""
        try:
            message = member.call.receive()
        except EOFError:
            self.team.unregister(member.call)
            self._mute.setdefault(member.rank, time.monotonic())
            return False
        if message is None:
            return False
        kind, body, *here_used = pickle.loads(message)
        if kind == "emit":
            self._emitted(member.rank, body)
        else:
            self.team.here_used |= any(here_used)
            self.outcomes[member.rank] = Done(body) if kind == "done" else body
        return True

    def _emitted(self, rank: int, body: bytes) -> None:
        if not self.order.on_emit:
            return
        begun = time.monotonic()
        LINE.make_way()
        with self.hold.open():
            self.order.on_emit(rank, unpack(body, f"what rank {rank} emitted"))
        if (seconds := time.monotonic() - begun) > TICK:
            self._pauses.busy(begun, seconds)
        self.turn.check()

    def _late(self, member: Member) -> None:
        """What a thread of the rank emitted about when the last rank answered."""
        for _ in range(LATE):
            if not self._receive(member):
                return

    def _died(self, member: Member) -> None:
        """Its last words may still be in the pipe: they come first."""
        self.team.unregister(member.process.sentinel)
        while self._receive(member):
            pass
        with self.team.lock:
            member.process.join()
            code = member.process.exitcode
        known = self.outcomes.get(member.rank)
        if not isinstance(known, Raised):  # what it raised says more than that it then ended
            self.outcomes[member.rank] = Died(code, after_done=known is not None)

    def _hopeless(self) -> bool:
        now = time.monotonic()
        if now - self._looked < TICK:
            return False
        self._looked = now
        self._pauses.look(now)
        timeout, limit, waited = self.order.timeout, self.order.limit, self._pauses.waited
        if limit is not None and now - self.began - self._pauses.stood_still > limit:
            self.stuck = f"the call's limit of {limit:g} s is over"
            return True
        journals = self.team.journals()
        inside = [n for m in self.pending if (n := journals[m.rank].inside)]
        if any(waited(note.since, now) > timeout for note in inside):
            self.stuck = f"no progress for {timeout:g} s"
        elif mute := [
            m.rank for m in self.pending if waited(self._mute.get(m.rank, now), now) > GRACE
        ]:  # nor has it died
            self.stuck = f"no pipe leads to {ranks_text(mute)} any more"
        elif halted := self._stopped(now):
            self.stuck = f"{ranks_text(halted)} stopped by a signal more than {timeout:g} s ago"
        elif any(waited(note.since, now) > GRACE for note in inside):
            pending = {m.rank for m in self.pending}
            if certain(Evidence(journals, set(range(len(journals))) - pending)):
                self.stuck = ""  # no deadline: who keeps whom waiting says it all
        return self.stuck is not None

    def _stopped(self, now: float) -> list[int]:
        """Ranks that a signal has kept from running for longer than the deadline, whatever they were doing."""
        if now - self._checked > LOOK:
            self._checked = now
            self._halted = {m.rank: self._halted.get(m.rank, now) for m in self.pending if stopped(m)}
        return [rank for rank, since in self._halted.items() if self._pauses.waited(since, now) > self.order.timeout]
