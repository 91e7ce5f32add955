"""What one rank keeps between steps under torch's FSDP2: rows of every parameter, of its gradient, and of what the optimizer knows of it.

Chapters: sharded, too-big.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from helpers.memory.closed_form.states import OPTIMIZERS
from helpers.memory.closed_form.terms import FormError, Operator, Term, Terms, one_of, shared, whole

WIDTH = 4  # shards are fp32, whatever computes


def fsdp2_states(shapes: Sequence[Sequence[int]], nranks: int, rank: int = 0, optimizer: str = "adam") -> Terms:
    """Parameters, gradients and the optimizer's numbers on one rank, to the byte (fully_shard of torch 2.11 to 2.15).

    shapes: of every parameter. Each is cut along its first dimension into nranks times ceil(rows / nranks) rows. Shards and gradients are
    kept with their filling, so they are the same on every rank; the optimizer's numbers are of the rows that there are, so the first
    ranks have most. Beside them an optimizer counts its steps: 4 bytes a parameter, on the CPU unless it is fused.
    FormError for an unknown optimizer, counts that are not positive, or a rank that does not exist.
    """
    one_of(tuple(OPTIMIZERS), optimizer=optimizer)
    whole(nranks=nranks)
    if not shapes or rank not in range(nranks):
        raise FormError(f"there is at least one parameter, and a rank is one of 0..{nranks - 1}, got rank {rank!r}")
    filled = mine = 0
    for rows, *row in shapes:
        whole(**{"a side of a parameter": rows})
        each = shared(rows, nranks)
        filled += each * prod(row)
        mine += min(max(rows - rank * each, 0), each) * prod(row)
    kept = [("parameters", "parameter", filled), ("gradients", "gradient", filled)]
    kept += [(name, "optimizer", mine) for name in OPTIMIZERS[optimizer]]
    total = sum(prod(shape) for shape in shapes)
    terms = (_state(name, cls, numel, nranks) for name, cls, numel in kept)
    return Terms(f"States of {total:,} parameters, FSDP2 on {nranks} ranks, {optimizer}", tuple(terms))


def _state(name: str, cls: str, numel: int, nranks: int) -> Term:
    keeps = "this rank's rows of each parameter"
    operators = (Operator(name, keeps, ("P",), WIDTH, nranks, WIDTH * numel, "torch-fsdp2"),)
    return Term(name, cls, f"{WIDTH} P / {nranks}", operators, 1, "torch-fsdp2")
