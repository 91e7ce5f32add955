"""Each rank's own program of sends and receives, in order: what `helpers.ranks.execute` plays. Chapters: ring, hierarchy.

Only ranks run programs. What a switch does is done by ranks that host it, slot by slot: see `host`. So the numbers are those of
the switch, and the times are not: every adding and every multicast of the switch goes through the ports of ranks.
"""

from __future__ import annotations

from collections import defaultdict

from .rendezvous import Message, Program
from .schedule import Schedule
from .transfers import Op, Step

_ORDER = ("send", "recv", "move")


def host(s: Schedule, place: int, chunk: int) -> int:
    """The rank that keeps this chunk of this place: a rank its own.

    A switch's chunks are spread over all ranks, chunk c of S to rank c * P // S, so that none is everybody's bottleneck, and each
    further switch begins one rank later. Where there is one such place for every rank (the registers of one-shot), place P + r
    is rank r's.
    """
    if place < s.nranks:
        return place
    switch = place - s.nranks
    return switch if s.registers else (chunk * s.nranks // s.nchunks + switch) % s.nranks


def lower(s: Schedule) -> tuple[Program, ...]:
    """One program per rank: a tuple of steps, each a tuple of messages (sends, receives, moves). Steps in which a rank idles are empty."""
    steps = [_lower_step(s, step) for step in s.steps]
    return tuple(tuple(step.get(rank, ()) for step in steps) for rank in range(s.nranks))


def _lower_step(s: Schedule, step: Step) -> dict[int, tuple[Message, ...]]:
    """Messages between the same two ranks stand in the same order on both sides, and what a slot is sent, in the order of the places."""
    flows: dict[tuple[int, int, Op, int, int], list[int]] = defaultdict(list)
    for t in step:
        flows[t.src, t.dst, t.op, host(s, t.src, t.chunk), host(s, t.dst, t.chunk)].append(t.chunk)
    programs: dict[int, list[Message]] = defaultdict(list)
    for (src, dst, op, giver, taker), chunks in sorted(flows.items()):
        what = tuple(sorted(chunks)), op, None if max(src, dst) < s.nranks else (src, dst)
        if giver == taker:
            programs[giver].append(Message("move", giver, *what))
        else:
            programs[giver].append(Message("send", taker, *what))
            programs[taker].append(Message("recv", giver, *what))
    return {rank: tuple(sorted(messages, key=lambda m: _ORDER.index(m.kind))) for rank, messages in programs.items()}
