"""The end of a call: results, or the RankError that says why there are none. Chapter: hangs."""

from __future__ import annotations

import re

from helpers.ranks.hangs import verdict
from helpers.ranks.hangs.reporting import Evidence, When, first
from helpers.ranks.hangs.verdict import Failure, RankError
from helpers.ranks.notes import notes
from helpers.ranks.notes.notes import Journal
from helpers.ranks.wire.pack import PackError, unpack
from helpers.ranks.worker.life import Raised

from .call import Call, Died, Done, Outcome
from .launch import Member
from .stacks import ask_stacks, last_stack, stopped

_ORDER = ("mismatch", "died", "raised", "stuck", "consequence")
_LAST_WORDS = re.compile(  # of C and C++: the only explanation of a death that no Python saw
    r"what\(\):|terminate called|[Aa]ssert|[Aa]bort|corrupt|invalid pointer|double free|stack smashing|[Cc]heck failed"
    r"|[Ee]rror|Fatal"
)


def judge(call: Call) -> tuple[list[object], RankError | None]:
    """What every rank returned, in rank order; or no results and the error. `sound` ranks may go on, others must be ended."""
    heads = {notes.read_head(m.region) for m in call.team.members}
    fine = all(isinstance(o, Done) for o in call.outcomes.values()) and not call.pending
    messages = sum(notes.read_messages(m.region) for m in call.team.members) % 2**32
    if fine and not messages and len(heads) == 1 and not any(subgroups for *_, subgroups in heads):
        return _unpacked(call)
    journals = call.team.journals()
    disagreement = first(When.AT_ANY_TIME, Evidence(journals))
    if fine and not disagreement:
        disagreement = first(When.ALL_FINISHED, Evidence(journals))
    if fine and not disagreement:
        return _unpacked(call)
    return [], _error(call, journals, disagreement)


def _unpacked(call: Call) -> tuple[list[object], RankError | None]:
    results: list[object] = []
    for rank in range(len(call.team.members)):
        try:
            with call.hold.open():  # the objects' own code runs
                results.append(unpack(call.outcomes[rank].payload, f"the result of rank {rank}"))
        except PackError as error:
            said = RankError(str(error), [Failure(rank, "raised", str(error))], [], str(error), sound=True)
            said.__cause__ = error
            return [], said
    return results, None


def _error(call: Call, journals: list[Journal], disagreement: str | None) -> RankError:
    team = call.team
    with team.lock:
        stacks = ask_stacks(call.pending)
        for member in team.members:
            member.output.read()
        found = {m.rank: _failure(call, m, journals[m.rank], stacks) for m in team.members}
    failures = [f for f in found.values() if f]
    if disagreement:
        failures.append(Failure(None, "mismatch", disagreement))
    if all(f.kind == "consequence" for f in failures):  # nobody to blame: the first is as good a cause as any
        failures = [Failure(f.rank, "raised", f.full.splitlines()[-1], f.traceback, f.full) for f in failures]
    failures.sort(key=lambda f: _ORDER.index(f.kind))
    states = [f.text.splitlines()[0] if (f := found[m.rank]) else "finished" for m in team.members]
    message = verdict.headline(failures, states)
    if not disagreement and (why := _why(call, journals, states)):
        message = f"{why}\n{message}"
    broken = any(isinstance(o, Raised) and o.broken for o in call.outcomes.values())
    sound = all(f.kind == "raised" for f in failures) and not broken and not _under_way(journals)
    if call.starting:
        message = f"the ranks could not start: {message}"
    if team.here_used and not sound:
        message += "\nThe ranks start afresh: what `here` held is gone."
    return RankError(message, failures, states, _details(call, message, journals, found), sound)


def _why(call: Call, journals: list[Journal], states: list[str]) -> str:
    """The deadline that is over, and who keeps whom waiting as far as the journals tell; "" when nobody gave up waiting."""
    if call.stuck is None:
        return ""
    gone = {rank for rank, outcome in call.outcomes.items() if isinstance(outcome, Done)}
    return ": ".join(filter(None, [call.stuck, first(When.NOTHING_MOVES, Evidence(journals, gone, states))]))


def _under_way(journals: list[Journal]) -> bool:
    """Is a message perhaps still under way, or has a rank done more than others?"""
    return len({j.entered for j in journals}) > 1 or any(n.state != notes.State.DONE for j in journals for n in j.notes)


def _failure(call: Call, member: Member, journal: Journal, stacks: dict[int, str]) -> Failure | None:
    rank = member.rank
    outcome: Outcome | None = call.outcomes.get(rank)
    if isinstance(outcome, Done):
        return None
    if outcome is None:
        stack = stacks.get(rank, "")
        return Failure(rank, "stuck", doing(member, journal, stack), full=stack)
    if isinstance(outcome, Died):
        return _death(member, outcome, journal)
    if verdict.is_consequence(outcome):
        return Failure(rank, "consequence", verdict.lost_text(journal), outcome.trimmed, outcome.full)
    text = f"raised {outcome.type_name}: {outcome.message}".rstrip(": ")
    return Failure(rank, "raised", text, outcome.trimmed, outcome.full, outcome.pickled)


def doing(member: Member, journal: Journal, stack: str) -> str:
    """What a rank that has not answered is doing. Hold the team's lock."""
    text = verdict.pending_text(journal, stack)
    if stopped(member):
        return f"stopped by a signal, {text}" if journal.inside else "stopped by a signal"
    if text.startswith("running at") or journal.inside:
        return text
    return "taking its arguments" if member.call.sending else "sending its result" if member.call.receiving else text


def _death(member: Member, outcome: Died, journal: Journal) -> Failure:
    """With the place where it died, and its last words where only they explain why."""
    text = verdict.died_text(outcome.code, outcome.after_done)
    stack = last_stack(member)
    if journal.inside:
        text += f" in {journal.inside}" + f" at {journal.inside.where}" * bool(journal.inside.where)
    elif where := verdict.stack_line(stack):
        text += f" at {where}"
    return Failure(member.rank, "died", text, last_words(member.output.text), stack)


def last_words(text: str) -> str:
    """The one line among the last ten that reads like the cause of a crash, or ""; as it stands in a message."""
    said = [line.strip() for line in text.splitlines()[-10:] if _LAST_WORDS.search(line)]
    best = next((line for line in said if "what():" in line), said[-1] if said else "")
    return f"  it said: {best[:200]}" if best else ""


def _details(call: Call, message: str, journals: list[Journal], found: dict[int, Failure | None]) -> str:
    parts = [message]
    for member in call.team.members:
        failure, rank = found[member.rank], member.rank
        parts.append(f"\nrank {rank}: {failure.text.splitlines()[0] if failure else 'finished'}")
        parts += [f"  {note.state.name.lower():8} {note} at {note.where}" for note in journals[rank].notes[-5:]]
        parts += [text.rstrip() for text in (failure.full if failure else "", member.output.text) if text]
    return "\n".join(parts)
