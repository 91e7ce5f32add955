"""The primitives of NCCL's kernels, laid over a schedule: receiving, adding, storing and sending on are one pass over the bytes.

A rank does not receive a chunk, then add it, then send it: recvReduceSend reads the slot and its own input and writes the sum
into the next rank's slot. The names are those of src/device/prims_*.h, and a ring's order is that of src/device/all_reduce.h,
all_gather.h, reduce_scatter.h, broadcast.h and reduce.h (NCCL 2.30.7). Over NVLink they are preceded by "direct": the peer's
memory in place of a slot. Chapter: inside-nccl.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from helpers.collectives import Schedule, ScheduleError
from helpers.collectives.simulate import counts, holdings

COPIED = ("all_gather", "broadcast")  # what is sent first is part of one's own output, too


@dataclass(frozen=True)
class Fused:
    """One primitive of one rank. sources, targets: the ranks whose slots it reads and writes.

    step: of the schedule, in which it first sends; of one that only receives, the step after.
    """

    name: str
    step: int
    chunk: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True)
class _Pass:
    """Receives of one chunk in a row, then sends of it: (step, peer) of each."""

    op: str | None
    received: list[tuple[int, int]]
    sent: list[tuple[int, int]]

    @property
    def step(self) -> int:
        return self.sent[0][0] if self.sent else self.received[-1][0] + 1


def fused(s: Schedule) -> tuple[tuple[Fused, ...], ...]:
    """Each rank's primitives in order. ScheduleError for a schedule through a switch: that is NVLS, and no primitive of these."""
    if s.nswitches:
        raise ScheduleError(f"{s.algorithm} goes through a switch; its ranks scatter, reduce in the switch, and gather")
    states = [[dict(chunk) for chunk in state] for state in holdings(s)]
    done: list[list[Fused]] = [[] for _ in range(s.nranks)]
    for (rank, chunk), passes in _passes(s).items():
        for one in passes:
            last = one.received[-1][0] if one.received else -1
            name = _name(s.collective, one, all(counts(states[last + 1][chunk].get(rank, 0), s.nranks)))
            peers = (tuple(peer for _, peer in events) for events in (one.received, one.sent))
            done[rank].append(Fused(name, one.step, chunk, *peers))
    return tuple(tuple(sorted(one, key=lambda f: (f.step, f.chunk))) for one in done)


def _passes(s: Schedule) -> dict[tuple[int, int], list[_Pass]]:
    """By (rank, chunk). A send belongs to what was received before it; a receive after a send, or of another kind, begins anew."""
    found: dict[tuple[int, int], list[_Pass]] = defaultdict(list)
    for step, transfers in enumerate(s.steps):
        for t in transfers:
            mine = found[t.src, t.chunk]
            if not mine:
                mine.append(_Pass(None, [], []))
            mine[-1].sent.append((step, t.dst))
        for t in transfers:
            mine = found[t.dst, t.chunk]
            if not mine or mine[-1].sent or mine[-1].op != t.op:
                mine.append(_Pass(t.op, [], []))
            mine[-1].received.append((step, t.src))
    return found


def _name(collective: str | None, one: _Pass, complete: bool) -> str:
    if one.op is None:
        return "copySend" if collective in COPIED else "send"
    if one.op == "copy":
        return "recvCopySend" if one.sent else "recv"
    if not one.sent:
        return "recvReduceCopy"
    return "recvReduceCopySend" if complete else "recvReduceSend"
