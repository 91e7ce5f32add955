"""Each rank's own program of sends and receives, in order: what `helpers.ranks.execute` plays. Chapter: ring."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal, NamedTuple

from .schedule import Schedule, ScheduleError, Step


class Message(NamedTuple):
    """What one rank does with one peer in one step: all chunks between two ranks in a step travel as one message per op."""

    kind: Literal["send", "recv"]
    peer: int
    chunks: tuple[int, ...]
    op: Literal["copy", "reduce"]


Program = tuple[tuple[Message, ...], ...]


def lower(s: Schedule) -> tuple[Program, ...]:
    """One program per rank: a tuple of steps, each a tuple of messages (sends first). Steps in which a rank idles are empty."""
    if s.nswitches:
        raise ScheduleError(
            f"only ranks run programs: this schedule has {s.nswitches} switches, which torch.distributed cannot address"
        )
    steps = [_lower_step(step) for step in s.steps]
    return tuple(tuple(step.get(rank, ()) for step in steps) for rank in range(s.nranks))


def _lower_step(step: Step) -> dict[int, tuple[Message, ...]]:
    flows: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    for t in step:
        flows[t.src, t.dst, t.op].append(t.chunk)
    programs: dict[int, list[Message]] = defaultdict(list)
    for (src, dst, op), chunks in sorted(flows.items()):
        programs[src].append(Message("send", dst, tuple(sorted(chunks)), op))
        programs[dst].append(Message("recv", src, tuple(sorted(chunks)), op))
    return {rank: tuple(sorted(messages, key=lambda m: m.kind == "recv")) for rank, messages in programs.items()}
