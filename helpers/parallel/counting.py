"""`counted`: the collectives that a rank asks for, calls and bytes by operation and group. Chapters: data-parallel, sharded.

    with counted() as moved:
        loss.backward()
    moved.ncalls("all_reduce"), moved.nbytes("all_reduce"), moved.sent("all_reduce")

Counted is what is asked of torch.distributed, not what the backend makes of it: at c10d's operators (helpers.ranks.hooks.reducer)
what Python and DistributedDataParallel's C++ ask for, and by a dispatch mode the functional collectives, DTensor's, which pass
these operators too low to be heard there. Two conventions, both told:
- `nbytes` are input bytes as torch sees them: an all_gather's input is one part, a reduce_scatter's all parts.
- `sent` are the bytes that a rank must at least send, the shares of N of `helpers.collectives.PRIMITIVES`, N being the larger
  of its input and output: N(P-1)/P for all_gather, reduce_scatter and all_to_all, 2N(P-1)/P for all_reduce. Formulas mean this.
`on_gloo` is the same for what Gloo really does, where it does another thing: a reduce_scatter is an all_reduce there. And what is asked
for may itself hang on the device: from Shard(0) to Shard(1) DTensor asks for an all_to_all on GPUs, on CPUs for an all_gather.
Not counted: what a graph of torch.compile or another library sends past torch.distributed, functional collectives of other threads,
and stores.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.collectives import PRIMITIVES
from helpers.ranks.hooks.reducer import listening
from helpers.ranks.notes.descriptions import resolved

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
# Functional operators, by their names without "_coalesced", "_out" and a last "_".
FUNCTIONAL = {
    "all_reduce": "all_reduce",
    "broadcast": "broadcast",
    "all_gather_into_tensor": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "shard_dim_alltoall": "all_to_all",
    "isend": "send",
    "irecv": "recv",
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
        """Bytes sent by Gloo's own algorithms: its reduce_scatter sends what its all_reduce does, and keeps a part.

        Read off the loopback interface with torch 2.13 (tests/parallel/test_gloo_wire.py).
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

    def add(call: Call) -> None:
        with lock:
            moved.calls.append(call)

    kind = device_type or torch.get_default_device().type
    with listening(lambda operator, args: add(described(operator, args)), kind), Functional(add):
        yield moved


class Functional(TorchDispatchMode):
    """Hears the functional collectives of this thread, and of backward where autograd runs it for this thread."""

    def __init__(self, add: Callable[[Call], None]) -> None:
        super().__init__()
        self.add = add

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: the wrapper that torch adds otherwise imports its compiler at the first operator."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Subclasses such as DTensor run first and come back as plain tensors: only then does anybody send."""
        if any(hasattr(one, "__tensor_flatten__") for one in types):
            return NotImplemented
        if func.namespace in ("_c10d_functional", "_dtensor") and (call := functional(func, args, kwargs or {})):
            self.add(call)
        return func(*args, **(kwargs or {}))


def described(operator: str, args: tuple) -> Call:
    """One call of a c10d operator, read from its arguments."""
    op, given, taken, group, root = OPERATORS[operator]
    members = tuple(dist.get_process_group_ranks(dist.ProcessGroup.unbox(args[group])))
    inputs, outputs = (0 if at is None else size(args[at]) for at in (given, taken))
    if operator == "alltoall_base_":
        return Call(op, members, inputs, outputs, Fraction(inputs - _own_part(args, members)))
    rank = members.index(dist.get_rank())
    at_root, nranks = 0 if root is None else args[root], len(members)
    parts = {"gather": inputs * nranks, "scatter": outputs * nranks}  # off the root nobody holds all parts
    return Call(op, members, inputs, outputs, at_least(op, rank, nranks, parts.get(op, max(inputs, outputs)), at_root))


def functional(func: torch._ops.OpOverload, args: tuple, kwargs: dict) -> Call | None:
    """One call of a functional operator; None for one that sends nothing, as wait_tensor."""
    name = func._schema.name.partition("::")[2].removesuffix("_").removesuffix("_out").removesuffix("_coalesced")
    if (op := FUNCTIONAL.get(name)) is None:
        return None
    named = dict(zip((one.name for one in func._schema.arguments), args, strict=False)) | kwargs
    members = tuple(dist.get_process_group_ranks(resolved(named["group_name"])))
    rank, given = members.index(dist.get_rank()), size(args[0])
    if splits := named.get("input_split_sizes"):
        return Call(op, members, given, given, Fraction(given - _part(given, splits, rank)))
    n = given * len(members) if op == "all_gather" else given
    taken = {"all_gather": n, "reduce_scatter": given // len(members), "send": 0}.get(op, given)
    root = members.index(named["src"]) if op == "broadcast" else 0
    return Call(op, members, 0 if op == "recv" else given, taken, at_least(op, rank, len(members), n, root))


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
    return _part(size(given), splits, rank) if splits else size(given) // len(members)


def _part(nbytes: int, splits: list[int], rank: int) -> int:
    rows = sum(splits)
    return nbytes * splits[rank] // rows if rows else 0
