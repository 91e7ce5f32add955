"""Asking the ranks what they are doing, which disturbs nobody. Chapters: ranks, hangs."""

from __future__ import annotations

import time

from helpers.ranks.hangs import verdict
from helpers.ranks.notes import notes
from helpers.ranks.notes.reader_lines import ranks_text

from .call import Call, Died, Done
from .judge import doing
from .launch import Member, Team
from .stacks import ask_stacks
from .status import RankStatus, Status
from .turn import Turn

FRESH = 1.0  # seconds for which a rank's stack is not asked again, however often somebody looks


def look(label: str, team: Team | None, turn: Turn | None, call: Call | None, closed: bool) -> Status:
    """A snapshot. From any thread, at any time, also while the ranks are being ended."""
    seconds = turn.seconds if turn else None
    if team is None:
        return Status(label, "closed" if closed else "starting" if turn else "idle", seconds, None, 0, ())
    with team.lock:
        members = list(team.members)
        met = [notes.read_met(m.region) for m in members]
        together = len(members) == team.world.nranks and all(met)
        startup = max(met) - team.began if together else None
        state = "closed" if closed else "starting" if not together else "running" if turn else "idle"
        running = turn and call
        texts = _starting(members, met) if not together else _running(call) if running else _idle(members)
        return Status(label, state, seconds, startup, team.calls, _rows(team, members, texts))


def end(label: str, call: Call) -> Status:
    """How a call ended, whose ranks may be ended next: what each of them did last. `seconds` are the call's."""
    team = call.team
    with team.lock:
        members = list(team.members)
        texts = [_state(call, m, one, "running") for m, one in zip(members, team.journals(), strict=True)]
        startup = max((notes.read_met(m.region) for m in members), default=0.0) - team.began
        return Status(label, "idle", call.turn.seconds, max(startup, 0.0), team.calls, _rows(team, members, texts))


def line(call: Call, seconds: str) -> str:
    """A call in one line, by the notes of its ranks alone: none of them is disturbed."""
    with call.team.lock:
        members = list(call.team.members)
        met = [notes.read_met(m.region) for m in members]
        if call.starting and not all(met):
            texts = _starting(members, met)
        else:
            texts = [_state(call, m, one, "running") for m, one in zip(members, call.team.journals(), strict=True)]
        steps = min((notes.read_steps(m.region) for m in members), key=lambda one: one[0], default=(0, None))
    alike: dict[str, list[int]] = {}
    for rank, text in enumerate(texts):
        alike.setdefault(text, []).append(rank)
    who = [f"{ranks_text(ranks, most=2)} {text}" for text, ranks in alike.items()]
    head = f"{len(members)} rank{'s' * (len(members) > 1)}{seconds}{_far(call, *steps)}"
    return f"{head}: {'; '.join(who)}"


def _far(call: Call, done: int, total: int | None) -> str:
    if not total:
        return f", {done} done" * bool(done)
    return f", {done} of {total}{call.pace.left(done / total)}"


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
    journals = call.team.journals()
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
