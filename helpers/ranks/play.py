"""Play a schedule on real ranks over torch's sends and receives. Chapters: ring, trees, hierarchy.

The same value that was proved, priced and drawn. Chunk c is `tensor_split(buffer, nchunks)[c]`; the collectives that belong to
ranks part by part (all_gather, reduce_scatter, scatter, gather) split each rank's part into its chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import torch
import torch.distributed as dist

from helpers.collectives import Message, Schedule, ScheduleError, check, lower

from .ports import clock

_WHOLE = ("all_reduce", "reduce", "broadcast")  # every rank's buffer is the whole message
_ONE_TO_ALL = ("all_gather", "gather")  # input: one part per rank; output: all parts
_ALL_TO_ONE = ("reduce_scatter", "scatter")  # input: all parts; output: one part per rank


def execute(s: Schedule, tensor: torch.Tensor | None, out: torch.Tensor | None = None) -> torch.Tensor | None:
    """Inside a rank: returns what torch's collective of that name would give this rank, as a new tensor or in `out`.

    Shapes, for P ranks: all_reduce, reduce, broadcast, all_to_all: as given; all_gather and gather: [k, ...] -> [P*k, ...];
    reduce_scatter and scatter: [P*k, ...] -> [k, ...]. None off the root of reduce and gather. Off the root of scatter, `tensor`
    (or `out`) is what it is in torch: a tensor of the result's shape and dtype. Raises ScheduleError when the schedule does not
    keep its promise, is for another number of ranks, or the tensor cannot be split among them.
    """
    with clock.model():  # on an emulated network
        return play(s, tensor, out, _post)


Post = Callable[[Sequence[tuple[str, torch.Tensor, int]]], Sequence[dist.Work]]  # (send or recv, payload, peer) each


def play(s: Schedule, tensor: torch.Tensor | None, out: torch.Tensor | None, post: Post) -> torch.Tensor | None:
    """`execute`, with the messages of a step handed to `post`."""
    program = _programs(s)[_my_rank(s)]
    sample = tensor if tensor is not None else out
    if not isinstance(sample, torch.Tensor):
        raise ScheduleError(f"execute plays {s.collective} on a tensor, got {tensor!r}")
    return _Player(s, sample, out, post).play(program)


def _post(messages: Sequence[tuple[str, torch.Tensor, int]]) -> Sequence[dist.Work]:
    return dist.batch_isend_irecv([dist.P2POp(getattr(dist, f"i{kind}"), *rest) for kind, *rest in messages])


@lru_cache(maxsize=64)
def _programs(s: Schedule) -> tuple:
    """Proved once per schedule, then lowered."""
    check(s)
    return lower(s)


def _my_rank(s: Schedule) -> int:
    if not dist.is_initialized():
        raise ScheduleError("execute plays a schedule inside ranks: call it in a function given to Ranks.run")
    if s.nranks != dist.get_world_size():
        raise ScheduleError(f"this schedule is for {s.nranks} ranks, these are {dist.get_world_size()}")
    return dist.get_rank()


class _Player:
    """One rank's buffer, cut into slots, while a program runs over it."""

    def __init__(self, s: Schedule, tensor: torch.Tensor, out: torch.Tensor | None, post: Post):
        self.s, self.tensor, self.out, self.post = s, tensor, out, post
        self.rank, self.nranks = dist.get_rank(), s.nranks
        self.wanted = not (s.collective in ("reduce", "gather") and self.rank != s.root)
        self.scratch: dict[tuple, torch.Tensor] = {}
        self.slots = self._fill()
        if out is not None and self.wanted:
            _fits(s, out, self._numel(), tensor.dtype)

    def play(self, program: tuple[tuple[Message, ...], ...]) -> torch.Tensor | None:
        for step in program:
            self._step(step)
        return self._result()

    # steps -----------------------------------------------------------------------------------------------------------
    def _step(self, step: tuple[Message, ...]) -> None:
        """Send and receive at once; what arrives is put down only when all is read, so a step reads what the last one left."""
        sent = {c for message in step if message.kind == "send" for c in message.chunks}
        payloads = [self._gathered(m) if m.kind == "send" else self._room(m, sent) for m in step]
        messages = [
            (message.kind, payload, message.peer)
            for message, payload in zip(step, payloads, strict=True)
            if payload.numel()  # both sides know an empty message, and neither sends it
        ]
        for work in self.post(messages) if messages else ():
            work.wait()
        for message, payload in zip(step, payloads, strict=True):
            if message.kind == "recv":
                self._put_down(message, payload)

    def _gathered(self, message: Message) -> torch.Tensor:
        slots = [self.slots[c] for c in message.chunks]
        return slots[0] if len(slots) == 1 else torch.cat(slots)

    def _room(self, message: Message, sent: set[int]) -> torch.Tensor:
        """Where a message arrives: in its slot when nothing else reads that in this step, else in a scratch buffer."""
        first = message.chunks[0]
        if message.op == "copy" and len(message.chunks) == 1 and first not in sent:
            return self.slots[first]
        size = sum(self.slots[c].numel() for c in message.chunks)
        key = message.peer, message.op, size
        if key not in self.scratch:
            self.scratch[key] = self.slots[first].new_empty(size)
        return self.scratch[key]

    def _put_down(self, message: Message, payload: torch.Tensor) -> None:
        sizes = [self.slots[c].numel() for c in message.chunks]
        for chunk, piece in zip(message.chunks, payload.split(sizes), strict=True):
            if message.op == "reduce":
                self.slots[chunk].add_(piece)
            elif piece.data_ptr() != self.slots[chunk].data_ptr():
                self.slots[chunk].copy_(piece)

    # buffers ---------------------------------------------------------------------------------------------------------
    def _fill(self) -> list[torch.Tensor]:
        """Every chunk's slot on this rank, holding what the collective promises before; the rest is undefined."""
        s, tensor = self.s, self.tensor
        flat = tensor.reshape(-1)
        if s.collective == "all_to_all":
            return self._fill_all_to_all(flat)
        if s.collective in _WHOLE:
            self.buffer = self._target(tensor).view(-1)
            if s.collective != "broadcast" or self.rank == s.root:
                self.buffer.copy_(flat)
            return list(torch.tensor_split(self.buffer, s.nchunks))
        whole = s.collective == "reduce_scatter" or (s.collective == "scatter" and self.rank == s.root)
        part = self._divided(flat) if whole else flat.numel()
        self.buffer = flat.clone() if whole else flat.new_empty(part * self.nranks)
        if s.collective in _ONE_TO_ALL:
            self._part(self.rank).copy_(flat)
        parts = (self._part(rank) for rank in range(self.nranks))
        return [chunk for p in parts for chunk in torch.tensor_split(p, s.nchunks // self.nranks)]

    def _fill_all_to_all(self, flat: torch.Tensor) -> list[torch.Tensor]:
        part = self._divided(flat)
        slots = [flat.new_empty(part) for _ in range(self.s.nchunks)]
        for dst, piece in enumerate(flat.split(part) if part else [flat] * self.nranks):
            slots[self.rank * self.nranks + dst].copy_(piece)
        return slots

    def _target(self, tensor: torch.Tensor) -> torch.Tensor:
        """Where the result of a whole-buffer collective is worked out: in `out` where it is dense, else beside it."""
        usable = self.out is not None and self.wanted and self.out.is_contiguous() and self.out.shape == tensor.shape
        return self.out if usable else torch.empty_like(tensor, memory_format=torch.contiguous_format)

    def _divided(self, flat: torch.Tensor) -> int:
        if flat.numel() % self.nranks:
            raise ScheduleError(
                f"{self.s.collective} gives every rank an equal part: {flat.numel()} elements do not divide by {self.nranks} ranks"
            )
        return flat.numel() // self.nranks

    def _part(self, rank: int) -> torch.Tensor:
        size = self.buffer.numel() // self.nranks
        return self.buffer[rank * size : (rank + 1) * size]

    # results ---------------------------------------------------------------------------------------------------------
    def _result(self) -> torch.Tensor | None:
        if not self.wanted:
            return None
        flat = self._flat_result()
        if self.out is None:
            return flat.view(self._shape(flat.numel()))
        if self.out.data_ptr() != flat.data_ptr() or not flat.numel():
            self.out.copy_(flat.view(self.out.shape))
        return self.out

    def _numel(self) -> int:
        if self.s.collective == "all_to_all":
            return self.tensor.numel()
        return self.buffer.numel() // (self.nranks if self.s.collective in _ALL_TO_ONE else 1)

    def _flat_result(self) -> torch.Tensor:
        if self.s.collective == "all_to_all":
            return torch.cat([self.slots[src * self.nranks + self.rank] for src in range(self.nranks)])
        return self._part(self.rank).clone() if self.s.collective in _ALL_TO_ONE else self.buffer

    def _shape(self, numel: int) -> tuple[int, ...]:
        """torch's shape: the first dimension grows or shrinks by the number of ranks; flat where it does not divide."""
        shape = tuple(self.tensor.shape)
        if numel == self.tensor.numel() and self.s.collective not in (*_ONE_TO_ALL, *_ALL_TO_ONE):
            return shape
        if self.s.collective in _ONE_TO_ALL:
            return (shape[0] * self.nranks, *shape[1:]) if shape else (numel,)
        if self.s.collective == "scatter" and self.rank != self.s.root:
            return shape
        return (shape[0] // self.nranks, *shape[1:]) if shape and shape[0] % self.nranks == 0 else (numel,)


def _fits(s: Schedule, out: torch.Tensor, numel: int, dtype: torch.dtype) -> None:
    if out.numel() != numel or out.dtype != dtype:
        raise ScheduleError(f"{s.collective} gives {numel} elements of {dtype}, out has {out.numel()} of {out.dtype}")
