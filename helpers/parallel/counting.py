"""`counted`: the collectives that a rank asks for, calls and bytes by operation and group. Chapters: data-parallel, sharded.

    with counted() as moved:
        loss.backward()
    moved.ncalls("all_reduce"), moved.nbytes("all_reduce"), moved.sent("all_reduce")

Counted is what is asked of torch.distributed, by Python, by DistributedDataParallel's C++ and by DTensor alike, at c10d's operators
(helpers.ranks.hooks.reducer) and the functional ones (helpers.parallel.functional), not what the backend makes of it.
Two conventions, both told:
- `nbytes` are input bytes as torch sees them: an all_gather's input is one part, a reduce_scatter's all parts.
- `sent` are the bytes that a rank must at least send, the shares of N of `helpers.collectives.PRIMITIVES`, N being the larger
  of its input and output: N(P-1)/P for all_gather, reduce_scatter and all_to_all, 2N(P-1)/P for all_reduce. Formulas mean this.
`on_gloo` is the same for what Gloo really does, where it does another thing: a reduce_scatter is an all_reduce there.
Not counted: what a graph of torch.compile or another library sends past torch.distributed, and stores.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.collectives import PRIMITIVES
from helpers.ranks.hooks.reducer import listening

from .functional import Asked, Functional, taken

# Operator: the collective's name, and where among its arguments stand input, output, group and root.
OPERATORS: dict[str, tuple[str, int | None, int | None, int, int | None]] = {
    "allreduce_": ("all_reduce", 0, 0, 1, None),
    "allreduce_coalesced_": ("all_reduce", 0, 0, 1, None),
    "broadcast_": ("broadcast", 0, 0, 1, 2),
    "reduce_": ("reduce", 0, 0, 1, 3),
    "allgather_": ("all_gather", 1, 0, 2, None),
    "_allgather_base_": ("all_gather", 1, 0, 2, None),
    "allgather_coalesced_": ("all_gather", 1, 0, 2, None),
    "allgather_into_tensor_coalesced_": ("all_gather", 1, 0, 2, None),
    "reduce_scatter_": ("reduce_scatter", 1, 0, 2, None),
    "_reduce_scatter_base_": ("reduce_scatter", 1, 0, 2, None),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter", 1, 0, 2, None),
    "alltoall_base_": ("all_to_all", 1, 0, 2, None),
    "alltoall_": ("all_to_all", 1, 0, 2, None),
    "gather_": ("gather", 1, 0, 2, 3),
    "scatter_": ("scatter", 1, 0, 2, 3),
    "send": ("send", 0, None, 1, None),
    "recv_": ("recv", None, 0, 1, None),
    "recv_any_source_": ("recv", None, 0, 1, None),
    "barrier": ("barrier", None, None, 1, None),
}
_SPLITS = 4  # argument of alltoall_base_: rows for each rank; empty where all get equally many


class Call(NamedTuple):
    """One call of one rank. group: its ranks, in order; given, taken: bytes of its input and its output; sent: at least."""

    op: str
    group: tuple[int, ...]
    given: int
    taken: int
    sent: Fraction


@dataclass
class Moved:
    """The calls of a rank while it was counted, in their order. Every question may name an operation, a group, or both."""

    calls: list[Call] = field(default_factory=list)

    def those(self, op: str | None = None, group: tuple[int, ...] | None = None) -> list[Call]:
        """The calls of an operation (None: any), in a group of ranks (None: any)."""
        return [c for c in self.calls if op in (None, c.op) and group in (None, c.group)]

    def ncalls(self, op: str | None = None, group: tuple[int, ...] | None = None) -> int:
        return len(self.those(op, group))

    def nbytes(self, op: str | None = None, group: tuple[int, ...] | None = None) -> int:
        """Input bytes, as torch sees them."""
        return sum(c.given for c in self.those(op, group))

    def sent(self, op: str | None = None, group: tuple[int, ...] | None = None) -> Fraction:
        """Bytes that this rank must at least send: the formulas' convention."""
        return sum((c.sent for c in self.those(op, group)), Fraction(0))

    def by_op(self) -> dict[str, int]:
        """Calls of each operation."""
        return {op: self.ncalls(op) for op in dict.fromkeys(c.op for c in self.calls)}

    def on_gloo(self) -> Fraction:
        """Bytes sent by Gloo's own algorithms: its reduce_scatter is an all_reduce of everything, of which a part is kept.

        ProcessGroupGloo.cpp of torch 2.13, reduce_scatter and _reduce_scatter_base.
        """
        return sum((c.sent * (2 if c.op == "reduce_scatter" else 1) for c in self.calls), Fraction(0))

    def __str__(self) -> str:
        """A line for each operation and group."""
        keys = dict.fromkeys((c.op, c.group) for c in self.calls)
        lines = (
            f"{op} in {list(group)}: {self.ncalls(op, group)} calls, {self.nbytes(op, group)} bytes given, "
            f"{float(self.sent(op, group)):.0f} sent"
            for op, group in keys
        )
        return "\n".join(lines) or "nothing"


@contextmanager
def counted(device_type: str | None = None) -> Iterator[Moved]:
    """Inside a rank: what this process asks for meanwhile, in all its threads. device_type: by default the default device's."""
    moved, lock = Moved(), threading.Lock()

    def hear(operator: str, args: tuple) -> None:
        call = described(operator, args)
        with lock:
            moved.calls.append(call)

    def hear_functional(asked: Asked) -> None:
        call = described_functional(asked)
        with lock:
            moved.calls.append(call)

    with listening(hear, device_type or torch.get_default_device().type), Functional(hear_functional):
        yield moved


def described(operator: str, args: tuple) -> Call:
    """One call of a c10d operator, read from its arguments."""
    op, given, taken, group, root = OPERATORS[operator]
    members = tuple(dist.get_process_group_ranks(dist.ProcessGroup.unbox(args[group])))
    inputs, outputs = (0 if at is None else size(args[at]) for at in (given, taken))
    if operator == "alltoall_base_":
        return Call(op, members, inputs, outputs, Fraction(inputs - _own_part(args, members)))
    rank = members.index(dist.get_rank())
    at_root = 0 if root is None else args[root]
    return Call(op, members, inputs, outputs, at_least(op, rank, len(members), max(inputs, outputs), at_root))


def described_functional(asked: Asked) -> Call:
    """One call of a functional collective."""
    given, rank = size(asked.given), asked.group.index(dist.get_rank())
    got = taken(asked, given)
    if asked.op == "all_to_all":
        rows, nranks = asked.splits[0], len(asked.group)
        own = given * rows[rank] // sum(rows) if rows and sum(rows) else given // nranks
        return Call(asked.op, asked.group, given, got, Fraction(given - own))
    return Call(
        asked.op, asked.group, given, got, at_least(asked.op, rank, len(asked.group), max(given, got), asked.root)
    )


def at_least(op: str, rank: int, nranks: int, nbytes: int, root: int = 0) -> Fraction:
    """Bytes that a rank of a group must send. nbytes: N, the larger of one rank's input and output; root: its number there."""
    if op in ("send", "recv"):
        return Fraction(nbytes if op == "send" else 0)
    return PRIMITIVES[op].least(rank, nranks, root)[0] * nbytes


def size(what: object) -> int:
    """Bytes of a tensor, or of all tensors in nested lists."""
    if isinstance(what, torch.Tensor):
        return what.numel() * what.element_size()
    return sum(map(size, what))


def _own_part(args: tuple, members: tuple[int, ...]) -> int:
    """Of an all_to_all's input, the bytes that stay here."""
    given, splits, rank = args[1], args[_SPLITS], members.index(dist.get_rank())
    if not splits:
        return size(given) // len(members)
    rows = sum(splits)
    return size(given) * splits[rank] // rows if rows else 0
