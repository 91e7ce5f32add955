"""What DTensor asks for: functional collectives, heard below autograd, where c10d's operators no longer tell. Chapter: tensor-parallel.

Their kernels call the process group in C++ with autograd's keys switched off, and the stand-ins of helpers.ranks.hooks.reducer stand at
one of those. So a dispatch mode looks at every operator, as torch's own CommDebugMode does, and hands on those of _c10d_functional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode

# Operator: the collective's name, and where its group stands among the arguments.
OPERATORS = {
    "all_reduce": ("all_reduce", 2),
    "all_reduce_": ("all_reduce", 2),
    "all_reduce_coalesced": ("all_reduce", 2),
    "all_reduce_coalesced_": ("all_reduce", 2),
    "all_gather_into_tensor": ("all_gather", 2),
    "all_gather_into_tensor_out": ("all_gather", 2),
    "all_gather_into_tensor_coalesced": ("all_gather", 2),
    "reduce_scatter_tensor": ("reduce_scatter", 3),
    "reduce_scatter_tensor_out": ("reduce_scatter", 3),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", 3),
    "all_to_all_single": ("all_to_all", 3),
    "broadcast": ("broadcast", 2),
    "broadcast_": ("broadcast", 2),
}


class Asked(NamedTuple):
    """A functional collective. given: its input; group: its members; root: number in the group, of a broadcast; splits: rows that
    are sent to each rank and come from each, of an all_to_all."""

    op: str
    given: object
    group: tuple[int, ...]
    root: int = 0
    splits: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


class Functional(TorchDispatchMode):
    """While it is entered, hear(Asked) hears of every functional collective of this thread, and of its backward, before it is made."""

    def __init__(self, hear: Callable[[Asked], None]):
        super().__init__()
        self.hear = hear

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False, as the tracker's: else torch imports its compiler at the first operator."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """DTensor runs first and comes back as plain tensors."""
        if any(hasattr(one, "__tensor_flatten__") for one in types):
            return NotImplemented
        if getattr(func, "namespace", None) == "_c10d_functional":
            name = func._schema.name.partition("::")[2]
            if name in OPERATORS:
                self.hear(asked(name, args))
        return func(*args, **(kwargs or {}))


def asked(name: str, args: tuple) -> Asked:
    """One call, read from its arguments."""
    op, at = OPERATORS[name]
    group = members(args[at])
    if op == "all_to_all":
        return Asked(op, args[0], group, splits=(tuple(args[2]), tuple(args[1])))
    return Asked(op, args[0], group, args[1] if op == "broadcast" else 0)


def members(group: str | dist.ProcessGroup) -> tuple[int, ...]:
    """The ranks of a group, which is given by name or as it is."""
    from torch.distributed.distributed_c10d import _resolve_process_group

    return tuple(dist.get_process_group_ranks(_resolve_process_group(group) if isinstance(group, str) else group))


def taken(call: Asked, given: int) -> int:
    """Bytes of its output, where its input has `given`."""
    nranks = len(call.group)
    if call.op == "all_to_all":
        out, back = map(sum, call.splits)
        return given * back // out if out else given
    return {"all_gather": given * nranks, "reduce_scatter": given // nranks}.get(call.op, given)
