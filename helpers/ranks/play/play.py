"""Play a schedule on real ranks over torch's sends and receives. Chapters: ring, trees, hierarchy.

The same value that was proved, priced and drawn. A switch is played by the ranks that host its slots: what comes out is what the
switch computes. How long that takes says nothing about a switch: here every sum and every copy of it goes over the ranks' own links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.collectives import Message, Schedule, ScheduleError, check, lower, rendezvous
from helpers.ranks.network.ports import clock

from . import reducing
from .buffers import Buffers


def execute(
    s: Schedule, tensor: torch.Tensor | None, out: torch.Tensor | None = None, op: str = "sum"
) -> torch.Tensor | None:
    """Inside a rank: returns what torch's collective of that name would give this rank, as a new tensor or in `out`.

    Shapes, for P ranks: all_reduce, reduce, broadcast, all_to_all: as given; all_gather and gather: [k, ...] -> [P*k, ...];
    reduce_scatter and scatter: [P*k, ...] -> [k, ...]. None off the root of reduce and gather. Off the root of scatter, `tensor`
    (or `out`) is what it is in torch: a tensor of the result's shape and dtype. `out` may be `tensor` itself, or share its memory as
    in torch's in-place collectives. op: sum, prod, min, max, avg, and for integers band, bor, bxor (`reducing.REDUCTIONS`).
    Raises ScheduleError when the schedule does not keep its promise, is for another number of ranks, when the tensor cannot be
    split among them, or when there is no such op for it.
    """
    with clock.model():  # on an emulated network
        return play(s, tensor, out, post, op)


Pair = tuple[Message, torch.Tensor]  # a send or a receive, and what travels
Post = Callable[[int, Sequence[Pair]], Sequence[dist.Work]]  # (number of the step, from 1; its messages)


def play(
    s: Schedule,
    tensor: torch.Tensor | None,
    out: torch.Tensor | None,
    post: Post,
    op: str = "sum",
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor | None:
    """`execute`, with the messages of a step handed to `post`. In a group the schedule's ranks are places in it."""
    rank = _my_rank(s, group)
    program = _program(s, rank)
    sample = tensor if tensor is not None else out
    if not isinstance(sample, torch.Tensor):
        raise ScheduleError(f"execute plays {s.collective} on a tensor, got {tensor!r}")
    into = reducing.into(op, s.collective, sample.dtype)
    player = _Player(Buffers(s, rank, sample, out), into, post)
    for part in program:
        player.step(part)
    if player.buffers.wanted:
        reducing.finish(op, player.buffers.total(), s.nranks)
    return player.buffers.result()


def post(number: int, messages: Sequence[Pair]) -> Sequence[dist.Work]:
    """The messages of a step, all at once."""
    ways = {"send": dist.isend, "recv": dist.irecv}
    return dist.batch_isend_irecv([dist.P2POp(ways[m.kind], payload, m.peer) for m, payload in messages])


class _Deed(NamedTuple):
    """One message of a rank's step, with what can be told beforehand: the same for every buffer that the schedule is played on.

    src, dst: the places whose slots are read and written. apart: a receive needs room beside the slot, since what arrives is added,
    or since the slot is read in this step; a move takes a copy along, since its slot is written in this step.
    """

    message: Message
    src: int
    dst: int
    apart: bool


class _Part(NamedTuple):
    """One step of a rank that does something in it, by its number in the schedule."""

    number: int
    deeds: tuple[_Deed, ...]


@lru_cache(maxsize=64)
def _program(s: Schedule, rank: int) -> tuple[_Part, ...]:
    """Proved once per schedule, lowered, and shown never to wait for ever."""
    check(s)
    programs = lower(s)
    rendezvous(programs)
    return tuple(_part(number, rank, step) for number, step in enumerate(programs[rank], 1) if step)


def _part(number: int, rank: int, step: tuple[Message, ...]) -> _Part:
    ends = [m.places or ((rank, m.peer) if m.kind == "send" else (m.peer, rank)) for m in step]
    both = list(zip(step, ends, strict=True))
    read = {(src, c) for m, (src, _) in both if m.kind != "recv" for c in m.chunks}
    written = {(dst, c) for m, (_, dst) in both if m.kind != "send" for c in m.chunks}
    apart = {
        "send": lambda m, src, dst: False,
        "recv": lambda m, src, dst: m.op == "reduce" or any((dst, c) in read for c in m.chunks),
        "move": lambda m, src, dst: any((src, c) in written for c in m.chunks),
    }
    return _Part(number, tuple(_Deed(m, src, dst, apart[m.kind](m, src, dst)) for m, (src, dst) in both))


def _my_rank(s: Schedule, group: dist.ProcessGroup | None) -> int:
    if not dist.is_initialized():
        raise ScheduleError("execute plays a schedule inside ranks: call it in a function given to Ranks.run")
    if s.nranks != dist.get_world_size(group):
        raise ScheduleError(f"this schedule is for {s.nranks} ranks, these are {dist.get_world_size(group)}")
    return dist.get_rank(group)


class _Player:
    """One rank's slots while a program runs over them. into: what to do with a contribution."""

    def __init__(self, buffers: Buffers, into: Callable[[torch.Tensor, torch.Tensor], object], post: Post):
        self.buffers, self.into, self.post = buffers, into, post
        self.scratch: dict[tuple[int, int], torch.Tensor] = {}

    def step(self, part: _Part) -> None:
        """Send and receive at once; what arrives is put down only when all is read, so a step reads what the last one left.

        Into a slot of a switch many may be added in one step: in the order of the ranks, and the host's own contribution last.
        """
        payloads = [
            self._room(i, deed) if deed.message.kind == "recv" else self._taken(deed)
            for i, deed in enumerate(part.deeds)
        ]
        travels = [
            (deed.message, payload)
            for deed, payload in zip(part.deeds, payloads, strict=True)
            if deed.message.kind != "move" and payload.numel()  # both sides know an empty message, and neither sends it
        ]
        for work in self.post(part.number, travels) if travels else ():
            work.wait()
        for deed, payload in zip(part.deeds, payloads, strict=True):
            if deed.message.kind != "send":
                self._put_down(deed, payload)

    def _taken(self, deed: _Deed) -> torch.Tensor:
        """What leaves a slot: the slot itself where it can be."""
        chunks = deed.message.chunks
        region = self.buffers.region(deed.src, chunks)
        if region is None:
            return torch.cat([self.buffers.slots[deed.src][c] for c in chunks])
        return region.clone() if deed.apart else region

    def _room(self, index: int, deed: _Deed) -> torch.Tensor:
        """Where a message arrives: in its slots where it can, else in a scratch buffer."""
        chunks = deed.message.chunks
        region = None if deed.apart else self.buffers.region(deed.dst, chunks)
        if region is not None:
            return region
        key = index, self.buffers.numel(chunks)
        if key not in self.scratch:
            self.scratch[key] = self.buffers.buffer.new_empty(key[1])
        return self.scratch[key]

    def _put_down(self, deed: _Deed, payload: torch.Tensor) -> None:
        message, buffers = deed.message, self.buffers
        if deed.dst == buffers.rank and (region := buffers.region(deed.dst, message.chunks)) is not None:
            self._set(message.op, region, payload)
            return
        sizes = [buffers.numel((c,)) for c in message.chunks]
        for chunk, piece in zip(message.chunks, payload.split(sizes), strict=True):
            first = (deed.dst, chunk) in buffers.empty  # whatever comes first into a switch is there alone
            buffers.empty.discard((deed.dst, chunk))
            self._set("copy" if first else message.op, buffers.slots[deed.dst][chunk], piece)

    def _set(self, op: str, slot: torch.Tensor, piece: torch.Tensor) -> None:
        if op == "reduce":
            self.into(slot, piece)
        elif piece.data_ptr() != slot.data_ptr():
            slot.copy_(piece)
