"""Where sends and receives stand between the computations. The wrong place is a deadlock. Chapter: pipeline.

`with_messages` looks at all ranks at once, computation after computation as they end, and writes a send and its receive down at
the same moment. So the order of messages is one order, of which every rank has its part. Nothing can wait in a circle then,
though every send wait until its receiver stands ready: of all messages that are not through the first in that order has nothing
before it on either side. Receives stand as early as this allows, so that a message travels while its receiver computes.

`naive` asks each rank alone: receive before you need it, send when you have made it. GPipe bears that; 1F1B does not, where
sends wait: rank 0 sends a forward to rank 1, which sends a backward to rank 0.
"""

from __future__ import annotations

from dataclasses import replace

from helpers.collectives import ScheduleError

from .action import KINDS, Action
from .schedule import PipelineSchedule, Program
from .timeline import UNIT, needs, timeline


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
