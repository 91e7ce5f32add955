"""Where a curve bends, and which switch of algorithm or protocol that is. Chapter: yours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from helpers.nccl.runs import AFTER, JUMP
from helpers.yours.verdict import Bend, Foretold, Point

NOT_EXPLAINED = "not explained: predict makes no switch there"


def bends(points: Sequence[Point], predicted: Sequence[Foretold]) -> tuple[Bend, ...]:
    """The sizes at which the time jumps, as helpers.nccl.runs has it, whatever the factor between two sizes."""
    grown = [
        (late.nbytes, math.log(late.seconds / early.seconds) / math.log(late.nbytes / early.nbytes))
        for early, late in pairwise(points)
    ]
    jumps = (
        size for (size, power), (_, after) in pairwise(grown) if power >= math.log2(JUMP) and after < math.log2(AFTER)
    )
    return tuple(Bend(size, _why(size, predicted)) for size in jumps)


def switches(predicted: Sequence[Foretold]) -> list[tuple[int, str]]:
    """(size, "Ring/LL to NVLS/Simple"): where the model changes its choice, between one of the reader's sizes and the next."""
    named = [(one.nbytes, f"{one.algorithm}/{one.protocol}") for one in predicted]
    return [(size, f"{before} to {after}") for (_, before), (size, after) in pairwise(named) if before != after]


def _why(size: int, predicted: Sequence[Foretold]) -> str:
    """A switch at this size or one size beside it: the model may be early or late by as much."""
    if not predicted:
        return "not explained: nothing is predicted for this machine"
    sizes = [one.nbytes for one in predicted]
    near = sizes[max(0, sizes.index(size) - 1) : sizes.index(size) + 2]
    found = [(abs(near.index(at) - near.index(size)), what) for at, what in switches(predicted) if at in near]
    return f"predict switches from {min(found)[1]} there" if found else NOT_EXPLAINED
