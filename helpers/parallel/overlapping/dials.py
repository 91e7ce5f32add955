"""FSDP2's dials, turned on real ranks: what is called stays, what is held changes. Chapter: overlap.

On a CPU FSDP2 waits for every call, so a clock shows nothing of prefetching; calls are counted and memory is tracked.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from helpers.parallel.model import MLP
from helpers.parallel.reference import Training
from helpers.parallel.sharded.fsdp2 import How, fsdp2, padded

TRAINING = Training(MLP(8, 64), steps=2, dtype=torch.float32)
DIALS = {
    "as it comes": How(),
    **{f"{n} prefetched": How(prefetch=n) for n in (1, 2, 3)},
    "all prefetched": How(prefetch=TRAINING.model.depth),
    **{f"{n} buffers": How(buffers=n) for n in (2, 3)},
    "kept gathered": How(reshard=False),
}


class Turned(NamedTuple):
    """One setting: calls in all steps, and the most bytes at any time on this rank."""

    dial: str
    all_gather: int
    reduce_scatter: int
    peak: int


def turned(names: tuple[str, ...] = tuple(DIALS), training: Training = TRAINING) -> list[Turned]:
    """Inside ranks. ValueError for a setting that is not among DIALS."""
    if unknown := [name for name in names if name not in DIALS]:
        raise ValueError(f"a setting is one of {', '.join(DIALS)}, got {unknown[0]!r}")
    found = []
    for name in names:
        got = fsdp2(training, DIALS[name])
        calls = got.moved.by_op()
        found.append(Turned(name, calls["all_gather"], calls["reduce_scatter"], got.peak))
    return found


def unit_nbytes(training: Training = TRAINING, nranks: int = 4) -> int:
    """Bytes of one gathered layer; all are equal."""
    return padded(training, nranks, [0]) * training.itemsize
