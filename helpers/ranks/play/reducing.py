"""What `execute` can do with what arrives: torch's reductions by their names, and which dtypes each of them is for. Chapter: primitives.

Between them Gloo and NCCL reduce these dtypes by these operations, and torch.distributed has no others. Here any of them plays
on either, since the ranks themselves do the arithmetic: NCCL has none bit by bit, Gloo averages no integers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple

import torch

from helpers.collectives import ScheduleError

_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_INTEGERS = (torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool)
_COMPLEX = (torch.complex64, torch.complex128)
REDUCES = ("all_reduce", "reduce", "reduce_scatter")


def _least(slot: torch.Tensor, piece: torch.Tensor) -> None:
    torch.minimum(slot, piece, out=slot)


def _most(slot: torch.Tensor, piece: torch.Tensor) -> None:
    torch.maximum(slot, piece, out=slot)


class Reduction(NamedTuple):
    """into(slot, piece): what happens to a slot when a contribution arrives. dtypes: what it is for."""

    into: Callable[[torch.Tensor, torch.Tensor], object]
    dtypes: tuple[torch.dtype, ...]


REDUCTIONS = {
    "sum": Reduction(operator.iadd, (*_FLOATS, *_INTEGERS, *_COMPLEX)),
    "prod": Reduction(operator.imul, (*_FLOATS, *_INTEGERS)),
    "min": Reduction(_least, (*_FLOATS, *_INTEGERS)),
    "max": Reduction(_most, (*_FLOATS, *_INTEGERS)),
    "avg": Reduction(operator.iadd, (*_FLOATS, *_INTEGERS[:-1], *_COMPLEX)),
    "band": Reduction(operator.iand, _INTEGERS),
    "bor": Reduction(operator.ior, _INTEGERS),
    "bxor": Reduction(operator.ixor, _INTEGERS),
}


def into(op: str, collective: str, dtype: torch.dtype) -> Callable[[torch.Tensor, torch.Tensor], object]:
    """The reduction by its name. ScheduleError when there is none of that name, or none for this dtype or this collective."""
    if op not in REDUCTIONS:
        raise ScheduleError(f"op is one of {', '.join(REDUCTIONS)}, got {op!r}")
    if collective not in REDUCES:
        if op != "sum":
            raise ScheduleError(f"{collective} reduces nothing: leave op out, got {op!r}")
    elif dtype not in REDUCTIONS[op].dtypes:
        known = ", ".join(str(d).removeprefix("torch.") for d in REDUCTIONS[op].dtypes)
        raise ScheduleError(f"{op} is for {known}, got {dtype}")
    return REDUCTIONS[op].into


def finish(op: str, total: torch.Tensor, nranks: int) -> None:
    """In place, when all have been added: an average is divided, integers towards zero, as NCCL does it.

    NCCL itself divides floats before it adds: where nranks is no power of two, its last bit may be another.
    """
    if op == "avg":
        parts = torch.view_as_real(total) if total.is_complex() else total
        parts.div_(nranks, rounding_mode=None if parts.is_floating_point() else "trunc")
