"""What training keeps for every parameter: the 4x rule, 16 and 18 bytes, and what is left of them on one of N ranks; FSDP2's rows.

Chapters: training-memory, too-big, sharded; the memory calculator.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from helpers.memory.closed_form.terms import FormError, Operator, Term, Terms, one_of, shared, whole

# Bytes of one element: weights that compute, gradients, the fp32 copy that the optimizer works on (0: it works on the weights), and
# each of its moments, which have the type of what it works on.
PRECISIONS = {
    "fp32": {"parameters": 4, "gradients": 4, "master": 0, "moments": 4},
    "bf16": {"parameters": 2, "gradients": 2, "master": 4, "moments": 4},
    "bf16-fp32grads": {"parameters": 2, "gradients": 4, "master": 4, "moments": 4},
    "bf16-true": {"parameters": 2, "gradients": 2, "master": 0, "moments": 2},
    "autocast": {"parameters": 4, "gradients": 4, "master": 0, "moments": 4},
    "fsdp2": {"parameters": 4, "gradients": 4, "master": 0, "moments": 4},
}
# What an optimizer keeps for each parameter.
MOMENTS = {"sgd": (), "momentum": ("momentum",), "adam": ("momentum", "variance")}
OPTIMIZERS = {**MOMENTS, "adamw": MOMENTS["adam"], "adamw-foreach": MOMENTS["adam"], "adamw-fused": MOMENTS["adam"]}
# The lowest ZeRO stage that splits a term; above, each rank has 1/N of it.
SPLIT_FROM = {"optimizer": 1, "gradient": 2, "parameter": 3}
FSDP2 = 4  # bytes: its shards are fp32, whatever computes


def states(
    nparams: int | Sequence[int], precision: str = "bf16", optimizer: str = "adam", zero: int = 0, nranks: int = 1
) -> Terms:
    """Parameters, gradients and the optimizer's numbers on one rank, to the byte.

    nparams: how many parameters, or the sizes of the units that are sharded apart (a layer each). From ZeRO-1 on each unit is one
    flat buffer, filled up to a multiple of nranks, and a rank holds its 1/N of whatever the stage splits.
    precision "fsdp2": what PyTorch's FSDP2 keeps, fp32 shards of parameters and gradients, whatever it computes in.
    FormError for an unknown precision or optimizer, a stage that is not 0 to 3, or counts that are not positive.
    """
    units = _units(nparams)
    one_of(tuple(PRECISIONS), precision=precision)
    one_of(tuple(OPTIMIZERS), optimizer=optimizer)
    one_of((0, 1, 2, 3), zero=zero)
    whole(nranks=nranks)
    if zero and nranks == 1:
        raise FormError(f"zero={zero} splits among ranks, so nranks must be at least 2, got 1")
    widths = PRECISIONS[precision]
    kept = [("parameters", "parameter", widths["parameters"]), ("gradients", "gradient", widths["gradients"])]
    kept += [("master weights", "optimizer", widths["master"])] if widths["master"] else []
    kept += [(name, "optimizer", widths["moments"]) for name in OPTIMIZERS[optimizer]]
    source = "zero" if zero or precision == "bf16" else "torch-optim" if precision == "bf16-true" else "mixed-precision"
    terms = (_state(name, cls, width, units, zero, nranks, source) for name, cls, width in kept)
    split = f", ZeRO-{zero} on {nranks} ranks" if zero else ""
    return Terms(f"States of {sum(units):,} parameters, {precision}, {optimizer}{split}", tuple(terms))


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
    keeps, formula, source = "this rank's rows of each parameter", f"{FSDP2} P / {nranks}", "torch-fsdp2"
    terms = (
        Term(name, cls, formula, (Operator(name, keeps, ("P",), FSDP2, nranks, FSDP2 * numel, source),), 1, source)
        for name, cls, numel in kept
    )
    return Terms(f"States of {total:,} parameters, FSDP2 on {nranks} ranks, {optimizer}", tuple(terms))


def per_parameter(precision: str = "bf16", optimizer: str = "adam") -> int:
    """Bytes for each parameter on one rank that keeps everything: 16 with Adam in fp32 or bf16, 18 with fp32 gradients, 8 in pure bf16."""
    return states(1, precision, optimizer).total


def padded(nparams: int, nranks: int) -> int:
    """Elements of a flat buffer of `nparams`, filled up so that nranks can share it evenly."""
    whole(nparams=nparams, nranks=nranks)
    return shared(nparams, nranks) * nranks


def _units(nparams: int | Sequence[int]) -> tuple[int, ...]:
    units = (nparams,) if isinstance(nparams, int) else tuple(nparams)
    for unit in units:
        whole(nparams=unit)
    if not units:
        raise FormError("nparams: there must be at least one unit, got none")
    return units


def _state(name: str, cls: str, width: int, units: tuple[int, ...], zero: int, nranks: int, source: str) -> Term:
    over = nranks if zero >= SPLIT_FROM[cls] else 1
    numels = [padded(unit, nranks) // over if zero else unit for unit in units]
    operators = (Operator(name, "an element for each parameter", ("P",), width, over, width * sum(numels), source),)
    return Term(name, cls, f"{width} P" + (f" / {over}" if over > 1 else ""), operators, 1, source)
