"""The end of a call: results, or the RankError that says why there are none. Chapter: hangs."""

from __future__ import annotations

from . import notes, verdict
from .call import Call, Died, Done, Outcome
from .notes import Journal
from .pack import PackError, unpack_result
from .stacks import ask_stacks
from .verdict import Failure, RankError

_ORDER = ("mismatch", "died", "raised", "stuck", "consequence")


def results(call: Call) -> list[object]:
    """What every rank returned, in rank order. Raises RankError; the team is killed unless all its ranks are known to be sound."""
    heads = {notes.read_head(m.region) for m in call.team.members}
    fine = all(isinstance(o, Done) for o in call.outcomes.values()) and not call.pending
    if fine and len(heads) == 1 and not any(subgroups for *_, subgroups in heads):
        return _unpack(call)
    journals = [notes.read(m.region) for m in call.team.members]
    disagreement = verdict.mismatch(journals) or (verdict.uneven(journals) if fine else None)
    if fine and not disagreement:
        return _unpack(call)
    raise _error(call, journals, disagreement)


def _unpack(call: Call) -> list[object]:
    try:
        return [unpack_result(call.outcomes[m.rank].payload, m.rank) for m in call.team.members]
    except PackError as error:
        rank = next(m.rank for m in call.team.members if f"rank {m.rank} " in str(error))
        raise RankError(str(error), [Failure(rank, "raised", str(error))], [], str(error), sound=True) from error


def _error(call: Call, journals: list[Journal], disagreement: str | None) -> RankError:
    team = call.team
    stacks = ask_stacks(call.pending)
    for member in team.members:
        member.output.read()
    found = {m.rank: _failure(call, m.rank, journals[m.rank], stacks) for m in team.members}
    failures = [f for f in found.values() if f]
    if disagreement:
        failures.append(Failure(None, "mismatch", disagreement))
    if all(f.kind == "consequence" for f in failures):  # nobody to blame: the first is as good a cause as any
        failures = [Failure(f.rank, "raised", f.full.splitlines()[-1], f.traceback, f.full) for f in failures]
    failures.sort(key=lambda f: _ORDER.index(f.kind))
    states = [f.text.splitlines()[0] if (f := found[m.rank]) else "finished" for m in team.members]
    message = verdict.headline(failures, states)
    if call.stuck and not disagreement:
        message = f"{call.stuck}\n{message}"
    sound = all(f.kind == "raised" for f in failures) and not _under_way(journals)
    if call.starting:
        message = f"the ranks could not start: {message}"
    if team.here_used and not sound:
        message += "\nThe ranks start afresh: what `here` held is gone."
    return RankError(message, failures, states, _details(call, message, journals, found), sound)


def _under_way(journals: list[Journal]) -> bool:
    """Is a message perhaps still under way, or has a rank done more than others?"""
    return len({j.entered for j in journals}) > 1 or any(n.state != notes.State.DONE for j in journals for n in j.notes)


def _failure(call: Call, rank: int, journal: Journal, stacks: dict[int, str]) -> Failure | None:
    outcome: Outcome | None = call.outcomes.get(rank)
    if isinstance(outcome, Done):
        return None
    if outcome is None:
        return Failure(rank, "stuck", verdict.pending_text(journal, stacks.get(rank, "")), full=stacks.get(rank, ""))
    if isinstance(outcome, Died):
        return Failure(rank, "died", verdict.died_text(outcome.code, outcome.after_done))
    if verdict.is_consequence(outcome):
        return Failure(rank, "consequence", verdict.lost_text(journal), outcome.trimmed, outcome.full)
    text = f"raised {outcome.type_name}: {outcome.message}".rstrip(": ")
    return Failure(rank, "raised", text, outcome.trimmed, outcome.full, outcome.pickled)


def _details(call: Call, message: str, journals: list[Journal], found: dict[int, Failure | None]) -> str:
    parts = [message]
    for member in call.team.members:
        failure, rank = found[member.rank], member.rank
        parts.append(f"\nrank {rank}: {failure.text.splitlines()[0] if failure else 'finished'}")
        parts += [f"  {note.state.name.lower():8} {note} at {note.where}" for note in journals[rank].notes[-5:]]
        parts += [text.rstrip() for text in (failure.full if failure else "", member.output.text) if text]
    return "\n".join(parts)
