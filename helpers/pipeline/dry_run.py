"""Where messages stand between the computations, and the proof: everything is computed once, from what is there, and nobody waits for ever.

The wrong place is a deadlock. `with_messages` looks at all ranks at once, computation after computation as they end, and writes a send
and its receive down at the same moment. So the order of messages is one order, of which every rank has its part. Nothing can wait in a
circle then, though every send wait until its receiver stands ready: of all messages that are not through the first in that order has
nothing before it on either side. Receives stand as early as this allows, so that a message travels while its receiver computes.

`naive` asks each rank alone: receive before you need it, send when you have made it. GPipe bears that; 1F1B does not, where
sends wait: rank 0 sends a forward to rank 1, which sends a backward to rank 0. Chapter: pipeline.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from helpers.collectives import Message, ScheduleError, rendezvous

from .schedule import KINDS, SHARDS, Action, PipelineSchedule, Program
from .timeline import UNIT, done, needs, timeline


def with_messages(s: PipelineSchedule) -> PipelineSchedule:
    """The same computations with their messages. ScheduleError where the computations wait for each other without end."""
    programs: list[list[Action]] = [[] for _ in s.programs]
    bare = replace(s, programs=s.computed)
    for timed in sorted(timeline(bare, UNIT).timed, key=lambda t: (t.end, t.rank)):
        programs[timed.rank].append(timed.action)
        for message in _made(s, timed.action):
            programs[timed.rank].append(message)
            other = received(message)
            programs[s.owner(other.stage)].append(other)
    return replace(s, programs=tuple(map(tuple, programs)))


def naive(s: PipelineSchedule) -> PipelineSchedule:
    """The same computations, each with its receive right before it and its send right behind: `dry_run` says whether that goes well."""
    return replace(s, programs=tuple(_alone(s, program) for program in s.computed))


def _alone(s: PipelineSchedule, program: Program) -> Program:
    done: list[Action] = []
    for action in program:
        done += [received(message) for message in needed(s, action)]
        done += [action, *_made(s, action)]
    return tuple(done)


def _made(s: PipelineSchedule, action: Action) -> list[Action]:
    """The send of what a computation has made for another rank; none where nobody else waits for it."""
    sends = KINDS[action.kind].sends
    return [action._replace(kind=sends)] if sends and s.travels(action.stage, action.neighbour) else []


def needed(s: PipelineSchedule, action: Action) -> list[Action]:
    """The sends, elsewhere, of what a computation needs from another rank."""
    return [
        need._replace(kind=KINDS[need.kind].sends) for need in needs(s, action) if s.travels(action.stage, need.stage)
    ]


def received(message: Action) -> Action:
    """The receive that belongs to a send."""
    if not message.kind.startswith("SEND"):
        raise ScheduleError(f"a send is SEND_F or SEND_B, got {message}")
    return Action(message.kind.replace("SEND", "RECV"), message.neighbour, message.microbatch)


def dry_run(s: PipelineSchedule) -> None:
    """Returns None where all holds; else ScheduleError naming the rank and the action. Without ranks, in milliseconds.

    - Every stage does every microbatch's forward once, and its backward once, whole (B) or in two parts (I, W).
    - On every rank each action has what it needs: made there before, or received there before.
    - Every message is sent once and received once, and is needed.
    - A stage that is gathered (UNSHARD) computes only while it is, and is freed at the end; its gradients are reduced once, behind its
      last backward, where they are reduced at all.
    - With the strictest of sends, each waiting until its receiver stands ready, every rank reaches its end.
    """
    for rank, program in enumerate(s.programs):
        _once(rank, program)
        _complete(s, rank)
        _in_order(s, rank)
        _sharded(rank, program)
    _free_of_deadlock(s)


def _once(rank: int, program: Program) -> None:
    twice = [
        action for action, times in Counter(program).items() if times > 1 and action.kind not in ("UNSHARD", "RESHARD")
    ]
    if twice:
        raise ScheduleError(f"rank {rank} has {twice[0]} more than once")


def _complete(s: PipelineSchedule, rank: int) -> None:
    """Against what the rank owes, action by action."""
    there = {action for action in s.programs[rank] if action.kind not in SHARDS}
    owed = {a for stage in s.stages(rank) for k in range(s.nmicrobatches) for a in _owed(s, stage, k, there)}
    for missing in sorted(owed - there):
        raise ScheduleError(f"rank {rank} never does {missing}")
    for odd in sorted(there - owed):
        raise ScheduleError(f"rank {rank} does {odd}, which nobody needs")


def _owed(s: PipelineSchedule, stage: int, k: int, there: set[Action]) -> list[Action]:
    """All that is to be done for one stage and one microbatch. Its backward is in two parts where only these are there."""
    whole, parts = Action("B", stage, k), [Action("I", stage, k), Action("W", stage, k)]
    split = whole not in there and any(part in there for part in parts)
    owed = [Action("F", stage, k), *(parts if split else [whole])]
    if s.travels(stage, stage + 1):
        owed += [Action("SEND_F", stage, k), Action("RECV_B", stage, k)]
    if s.travels(stage, stage - 1):
        owed += [Action("RECV_F", stage, k), Action("SEND_B", stage, k)]
    return owed


def _in_order(s: PipelineSchedule, rank: int) -> None:
    there: set[Action] = set()
    for action in s.programs[rank]:
        for need in _needs_here(s, action):
            if need not in there:
                raise ScheduleError(f"rank {rank} does {action} before {need}")
        there.update(done(action))


def _sharded(rank: int, program: Program) -> None:
    """Of every stage: what is asked of its shards fits what it computes."""
    managed = {action.stage for action in program if action.kind == "UNSHARD"}
    gathered: set[int] = set()
    reduced: set[int] = set()
    for action in program:
        stage, whole = action.stage, action.stage in gathered
        if (action.kind == "UNSHARD") == whole and action.kind in ("UNSHARD", "RESHARD"):
            raise ScheduleError(f"rank {rank} does {action} where stage {stage} is {'' if whole else 'not '}gathered")
        if action.computes and stage in managed - gathered:
            raise ScheduleError(f"rank {rank} does {action} before {Action('UNSHARD', stage)}")
        if action.computes and stage in reduced:
            raise ScheduleError(f"rank {rank} does {action} after {Action('REDUCE_GRAD', stage)}")
        reduced |= {stage} if action.kind == "REDUCE_GRAD" else set()
        gathered ^= {stage} if action.kind in ("UNSHARD", "RESHARD") else set()
    if gathered:
        raise ScheduleError(f"rank {rank} never does {Action('RESHARD', min(gathered))}")


def _needs_here(s: PipelineSchedule, action: Action) -> list[Action]:
    """What this rank must have done before: of what another rank computes, the receive."""
    here = [need for need in needs(s, action) if not s.travels(action.stage, need.stage)]
    return [*here, *map(received, needed(s, action))]


def _free_of_deadlock(s: PipelineSchedule) -> None:
    try:
        rendezvous([tuple(_step(s, action) for action in program) for program in s.programs])
    except ScheduleError as error:
        raise ScheduleError(f"deadlock: {_with_actions(s, str(error))}") from None


def _step(s: PipelineSchedule, action: Action) -> tuple[Message, ...]:
    """An action as `rendezvous` takes it: a message, or nothing. Its number says what is inside."""
    if action.computes or action.microbatch is None:
        return ()
    forward = action.kind in ("SEND_F", "RECV_F")
    sends = action.kind in ("SEND_F", "SEND_B")
    giver = action.stage if sends else action.neighbour
    number = 2 * (giver * s.nmicrobatches + action.microbatch) + forward
    return (Message("send" if sends else "recv", s.owner(action.neighbour), (number,), "copy"),)


def _with_actions(s: PipelineSchedule, text: str) -> str:
    """Who waits, and in which action."""

    def named(found: re.Match[str]) -> str:
        return f"{found[0]} ({s.programs[int(found[1])][int(found[2]) - 1]})"

    return re.sub(r"rank (\d+), step (\d+)", named, text)
