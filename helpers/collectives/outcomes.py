"""What a primitive does to numbers, told from its promise alone: before -> after, and where every number comes from.

The widget `primitive` and the runs on real ranks are both held against it. Chapter: primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce

from .primitives import find_primitive

Numbers = list[float]

OPS: dict[str, Callable[[float, float], float]] = {
    "sum": lambda a, b: a + b,
    "avg": lambda a, b: a + b,  # divided by the number of ranks at the end
    "max": max,
    "min": min,
    "product": lambda a, b: a * b,
}


@cache
def origins(name: str, nranks: int, root: int = 0) -> tuple[tuple[tuple[tuple[int, int], ...], ...], ...]:
    """[rank][part] -> the (rank, part) before the call that this part is made of; a rank that is promised nothing has no parts.

    Parts are counted as each rank has them: what torch's input and output tensors hold, in order.
    """
    made = find_primitive(name).promise
    per_rank = {"whole": 1, "gathers": nranks, "parts": nranks}[find_primitive(name).kind]
    shape = nranks, nranks * nranks if name == "all_to_all" else per_rank, root
    before, after = [*made.before.masks(*shape)], [*made.after.masks(*shape)]
    inputs = [[c for c, held in enumerate(before) if rank in held] for rank in range(nranks)]

    def sources(chunk: int, mask: int) -> tuple[tuple[int, int], ...]:
        return tuple((o, inputs[o].index(chunk)) for o in range(nranks) if mask >> o & 1)

    return tuple(
        tuple(sources(c, owed[rank]) for c, owed in enumerate(after) if rank in owed) for rank in range(nranks)
    )


def givers(name: str, nranks: int, root: int = 0) -> tuple[int, ...]:
    """The ranks whose input matters: all, or the root alone."""
    return tuple(sorted({rank for parts in origins(name, nranks, root) for part in parts for rank, _ in part}))


def outcome(name: str, inputs: Sequence[Numbers | None], root: int = 0, op: str = "sum") -> list[Numbers | None]:
    """What every rank holds after the call: torch's output, flat; None where nothing is promised.

    inputs: one flat list per rank, all of one length, None where a rank gives nothing (off the root of broadcast, scatter and
    send_recv). scatter, reduce_scatter and all_to_all want a length that P divides. Additions are made in rank order, on Python's
    numbers. barrier takes arrival times and answers when each rank leaves. ValueError names what does not fit.
    """
    nranks = len(inputs)
    width = _width(name, inputs, root, op)
    given = [numbers or [] for numbers in inputs]
    fold = "max" if name == "barrier" else op

    def part(sources: tuple[tuple[int, int], ...]) -> Numbers:
        rows = [given[rank][i * width : (i + 1) * width] for rank, i in sources]
        return [combine(column, fold) for column in zip(*rows, strict=True)]

    made = [[part(sources) for sources in parts] for parts in origins(name, nranks, root)]
    return [[value for values in parts for value in values] if parts else None for parts in made]


def combine(numbers: Sequence[float], op: str) -> float:
    """The numbers of one slot, added (or as op says) in rank order; one number stays as it is."""
    total = reduce(OPS[op], numbers)
    return total / len(numbers) if op == "avg" and len(numbers) > 1 else total


def _width(name: str, inputs: Sequence[Numbers | None], root: int, op: str) -> int:
    """Numbers per part, once everything is seen to fit."""
    nranks, kind = len(inputs), find_primitive(name).kind
    if nranks < 2:
        raise ValueError(f"{name} needs at least 2 ranks, got inputs for {nranks}")
    if not isinstance(root, int) or not 0 <= root < nranks:
        raise ValueError(f"root must be a rank in 0..{nranks - 1}, got {root!r}")
    if op not in OPS:
        raise ValueError(f"unknown op {op!r}: expected one of {', '.join(OPS)}")
    lengths = {len(inputs[rank] or ()) for rank in givers(name, nranks, root)}
    if len(lengths) > 1 or 0 in lengths:
        raise ValueError(f"{name} needs equally many numbers on every rank that gives some, got {sorted(lengths)}")
    (length,) = lengths
    if kind == "parts" and length % nranks:
        raise ValueError(f"{name} splits its input among {nranks} ranks: {length} numbers cannot be split evenly")
    return length // nranks if kind == "parts" else length
