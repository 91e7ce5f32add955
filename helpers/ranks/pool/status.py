"""What the ranks are doing at this moment, as plain data; asking disturbs nobody. Chapters: ranks, hangs."""

from __future__ import annotations

import time
from dataclasses import dataclass

from helpers.ranks.hangs import verdict
from helpers.ranks.notes import notes
from helpers.ranks.notes.reader_lines import ranks_text

from .call import Call, Died, Done
from .judge import doing
from .launch import Member, Team
from .stacks import ask_stacks
from .turn import Turn

FRESH = 1.0  # seconds for which a rank's stack is not asked again, however often somebody looks


@dataclass(frozen=True)
class RankStatus:
    """One rank. state: in RankError's words. done, total: what `progress` counted in this call (total None: unknown)."""

    rank: int
    pid: int
    device: str
    state: str
    done: int = 0
    total: int | None = None


@dataclass(frozen=True, repr=False)
class Status:
    """All ranks. Printing it shows a table.

    state: "starting", "idle", "running" or "closed". seconds: of the call that runs, else None. startup: seconds from the
    start of the processes until all had met, paid once for all `calls` so far; None while they have not. ranks: () when there
    are none. Of a `Pending` that is over: "idle", with the seconds that its call took and what every rank did last.
    """

    label: str
    state: str
    seconds: float | None
    startup: float | None
    calls: int
    ranks: tuple[RankStatus, ...]

    def __str__(self) -> str:
        spent = "" if self.seconds is None else f"{self.seconds:.1f} s"
        running = spent and (f", the call took {spent}" if self.state == "idle" else f" for {spent}")
        met = "" if self.startup is None else f"; met in {self.startup:.2f} s, once for {_calls(self.calls)}"
        return "\n".join([f"{self.label}: {self.state}{running}{met}", *self._rows()])

    __repr__ = __str__

    def _rows(self) -> list[str]:
        if not self.ranks:
            return []
        rows = [("rank", "pid", "device", "done", "state")]
        rows += [(str(r.rank), str(r.pid), r.device, _done(r), r.state) for r in self.ranks]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _calls(n: int) -> str:
    return f"{n} call{'' if n == 1 else 's'}"


def _done(rank: RankStatus) -> str:
    if not rank.done and rank.total is None:
        return "-"
    return f"{rank.done}/{'?' if rank.total is None else rank.total}"


def look(label: str, team: Team | None, turn: Turn | None, closed: bool) -> Status:
    """A snapshot. From any thread, at any time, also while the ranks are being ended."""
    seconds = turn.seconds if turn else None
    if team is None:
        return Status(label, "closed" if closed else "starting" if turn else "idle", seconds, None, 0, ())
    with team.lock:
        members = list(team.members)
        met = [notes.read_met(m.region) for m in members]
        together = len(members) == team.world.nranks and all(met)
        startup = max(met) - team.began if together else None
        call = turn.call if turn else None
        state = "closed" if closed else "starting" if not together else "running" if turn else "idle"
        texts = _starting(members, met) if not together else _running(call) if call else _idle(members)
        return Status(label, state, seconds, startup, team.calls, _rows(team, members, texts))


def end(label: str, call: Call) -> Status:
    """How a call ended, whose ranks may be ended next: what each of them did last. `seconds` are the call's."""
    team = call.team
    with team.lock:
        members = list(team.members)
        texts = [_state(call, m, notes.read(m.region), "running") for m in members]
        startup = max((notes.read_met(m.region) for m in members), default=0.0) - team.began
        return Status(label, "idle", call.turn.seconds, max(startup, 0.0), team.calls, _rows(team, members, texts))


def _rows(team: Team, members: list[Member], texts: list[str]) -> tuple[RankStatus, ...]:
    return tuple(
        RankStatus(m.rank, m.process.pid, team.world.devices[m.rank], text, *notes.read_steps(m.region))
        for m, text in zip(members, texts, strict=True)
    )


def _starting(members: list[Member], met: list[float]) -> list[str]:
    absent = ranks_text([m.rank for m in members if not met[m.rank]])
    return [_ended(m) or (f"waiting for {absent}" if met[m.rank] else "starting") for m in members]


def _idle(members: list[Member]) -> list[str]:
    return [_ended(m) or "idle" for m in members]


def _running(call: Call) -> list[str]:
    members = call.team.members
    journals = [notes.read(m.region) for m in members]
    stacks = _stacks(call, [m for m in call.pending if not journals[m.rank].inside])
    return [_state(call, m, journals[m.rank], stacks.get(m.rank, "running")) for m in members]


def _state(call: Call, member: Member, journal: notes.Journal, stack: str) -> str:
    outcome = call.outcomes.get(member.rank)
    if outcome is None:
        return doing(member, journal, stack)
    if isinstance(outcome, Done):
        return "finished"
    if isinstance(outcome, Died):
        return verdict.died_text(outcome.code, outcome.after_done)
    return f"raised {outcome.type_name}"


def _ended(member: Member) -> str:
    """How the process of a rank that nobody calls has ended, "" while it lives."""
    code = member.process.exitcode
    return "" if code is None else verdict.died_text(code, after_done=False)


def _stacks(call: Call, members: list[Member]) -> dict[int, str]:
    if time.monotonic() - call.stacks[0] > FRESH:
        call.stacks = time.monotonic(), ask_stacks(members)
    return call.stacks[1]
