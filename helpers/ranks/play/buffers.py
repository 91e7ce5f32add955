"""What a rank holds while it plays a schedule: one dense buffer of its own, cut into slots, and the slots of switches that it hosts.

Chunk c is `tensor_split(buffer, nchunks)[c]`; the collectives that belong to ranks part by part (all_gather, reduce_scatter,
scatter, gather) split each rank's part into its chunks. Chapters: ring, primitives.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch

from helpers.collectives import Schedule, ScheduleError, host

WHOLE = ("all_reduce", "reduce", "broadcast")  # every rank's buffer is the whole message
ONE_TO_ALL = ("all_gather", "gather")  # input: one part per rank; output: all parts
ALL_TO_ONE = ("reduce_scatter", "scatter")  # input: all parts; output: one part per rank


class Buffers:
    """Every slot that a rank has in a schedule, filled with what the collective promises before; the rest is undefined.

    slots[place][chunk]: a flat tensor; places are this rank and the switches that it hosts slots of. empty: the hosted slots into which
    nothing has come yet.
    """

    def __init__(self, s: Schedule, rank: int, tensor: torch.Tensor, out: torch.Tensor | None):
        self.s, self.rank, self.tensor, self.out = s, rank, tensor, out
        self.wanted = not (s.collective in ("reduce", "gather") and rank != s.root)
        if out is not None and self.wanted:
            self._check_out()
        self.buffer = self._filled()
        sizes = self._sizes()
        self.bounds = [0, *accumulate(sizes)]
        self.slots: dict[int, Sequence[torch.Tensor] | dict[int, torch.Tensor]] = {rank: self.buffer.split(sizes)}
        self.empty = self._host()

    def region(self, place: int, chunks: tuple[int, ...]) -> torch.Tensor | None:
        """The memory of these chunks where it is one piece: a single one, or neighbours of the rank's own. Else None."""
        first, last = chunks[0], chunks[-1]
        if first == last:
            return self.slots[place][first]
        if place == self.rank and last - first + 1 == len(chunks):
            return self.buffer[self.bounds[first] : self.bounds[last + 1]]
        return None

    def numel(self, chunks: tuple[int, ...]) -> int:
        """Elements in these chunks, the same in every place."""
        return sum(self.bounds[c + 1] - self.bounds[c] for c in chunks)

    # before ----------------------------------------------------------------------------------------------------------
    def _sizes(self) -> list[int]:
        s, numel = self.s, self.buffer.numel()
        groups = 1 if s.collective in WHOLE else s.nchunks if s.collective == "all_to_all" else s.nranks
        each, count = numel // groups, s.nchunks // groups
        return [each // count + (i < each % count) for i in range(count)] * groups  # as tensor_split cuts

    def _filled(self) -> torch.Tensor:
        s, flat = self.s, self.tensor.reshape(-1)
        if s.collective in WHOLE:
            buffer = self._target(flat.numel())
            if s.collective != "broadcast" or self.rank == s.root:
                buffer.copy_(flat)
        elif s.collective in ONE_TO_ALL:
            buffer = self._target(s.nranks * flat.numel())
            self._part(buffer, self.rank).copy_(flat)
        elif s.collective == "all_to_all":
            buffer = flat.new_empty(s.nranks * self._divided(flat) * s.nranks)
            self._part(buffer, self.rank).copy_(flat)
        elif s.collective == "reduce_scatter" or self.rank == s.root:
            self._divided(flat)
            buffer = flat.clone()
        else:  # off the root of a scatter
            buffer = flat.new_empty(s.nranks * flat.numel())
        return buffer

    def _target(self, numel: int) -> torch.Tensor:
        """Where the result is worked out: in `out` where it is dense and wanted here, else beside it."""
        if self.out is not None and self.wanted and self.out.is_contiguous():
            return self.out.view(-1)
        return self.tensor.new_empty(numel)

    def _divided(self, flat: torch.Tensor) -> int:
        if flat.numel() % self.s.nranks:
            raise ScheduleError(
                f"{self.s.collective} gives every rank an equal part: {flat.numel()} elements do not divide by {self.s.nranks} ranks"
            )
        return flat.numel() // self.s.nranks

    def _part(self, buffer: torch.Tensor, rank: int) -> torch.Tensor:
        size = buffer.numel() // self.s.nranks
        return buffer[rank * size : (rank + 1) * size]

    def _host(self) -> set[tuple[int, int]]:
        """Room for what the switches hold here; returns its slots, all of them empty."""
        s, found = self.s, set()
        for place in range(s.nranks, s.nranks + s.nswitches):
            chunks = [c for c in range(s.nchunks) if host(s, place, c) == self.rank]
            self.slots[place] = {c: torch.empty_like(self.slots[self.rank][c]) for c in chunks}
            found |= {(place, c) for c in chunks}
        return found

    # after -----------------------------------------------------------------------------------------------------------
    def result(self) -> torch.Tensor | None:
        """torch's result of that collective on this rank, in `out` if there is one; None off the root of reduce and gather."""
        if not self.wanted:
            return None
        flat = self.total()
        if self.out is None:  # a part is cut off, so that it does not keep the whole buffer alive
            return (flat.clone() if self.s.collective in ALL_TO_ONE else flat).view(self._shape(flat.numel()))
        if self.out.data_ptr() != flat.data_ptr() or not flat.numel():
            self.out.copy_(flat.view(self.out.shape))
        return self.out

    def total(self) -> torch.Tensor:
        """The same, flat; in a scatter and a reduce_scatter, this rank's part of the buffer."""
        if self.s.collective == "all_to_all":
            return torch.cat([self.slots[self.rank][src * self.s.nranks + self.rank] for src in range(self.s.nranks)])
        return self._part(self.buffer, self.rank) if self.s.collective in ALL_TO_ONE else self.buffer

    def _shape(self, numel: int) -> tuple[int, ...]:
        """torch's shape: the first dimension grows or shrinks by the number of ranks; flat where it does not divide."""
        shape, collective = tuple(self.tensor.shape), self.s.collective
        if collective in ONE_TO_ALL:
            return (shape[0] * self.s.nranks, *shape[1:]) if shape else (numel,)
        if collective not in ALL_TO_ONE or (collective == "scatter" and self.rank != self.s.root):
            return shape
        return (shape[0] // self.s.nranks, *shape[1:]) if shape and shape[0] % self.s.nranks == 0 else (numel,)

    def _check_out(self) -> None:
        s, numel = self.s, self.tensor.numel()
        if s.collective in ONE_TO_ALL:
            numel *= s.nranks
        elif s.collective == "reduce_scatter" or (s.collective == "scatter" and self.rank == s.root):
            numel = self._divided(self.tensor.reshape(-1))
        if self.out.numel() != numel or self.out.dtype != self.tensor.dtype:
            raise ScheduleError(
                f"{s.collective} gives {numel} elements of {self.tensor.dtype}, out has {self.out.numel()} of {self.out.dtype}"
            )
