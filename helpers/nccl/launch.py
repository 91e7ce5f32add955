"""What a call costs before any byte: a launch, and a latency for every step. Facts of a machine and the program that measures.

t = call + hop * steps, from sizes up to 4 KiB, where NCCL takes LL and the bytes cost nothing. One pair serves all_reduce,
all_gather and reduce_scatter of a machine, and any number of its GPUs. Chapters: latency-bandwidth, inside-nccl.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.facts.fit import fit
from helpers.nccl.tuning import ring_steps
from helpers.plain_file import text_of

SMALL = 4096
Row = tuple[str, int, int, float]  # collective, nranks, nbytes, seconds


@dataclass(frozen=True)
class Launch:
    """Seconds: `call` once, `hop` for each step with LL. origin: whose rows they were fitted to."""

    call: float
    hop: float
    origin: str = "given"

    def __post_init__(self) -> None:
        if not (self.call >= 0 and self.hop > 0):
            raise ValueError(f"a launch is 0 seconds or more and a hop takes some, got {self.call!r} and {self.hop!r}")


def launch_of(rows: Iterable[Row], origin: str = "given") -> Launch:
    """The launch and hop of a machine from its small messages; ValueError without two different numbers of steps."""
    small = [(ring_steps(collective, nranks), t) for collective, nranks, nbytes, t in rows if nbytes <= SMALL]
    return Launch(*fit([steps for steps, _ in small], [t for _, t in small]), origin)


def _read() -> Mapping[str, Any]:
    return tomllib.loads(text_of(Path(__file__).with_name("fitted.toml")))


FITTED = _read()
LAUNCHES = {name: Launch(**pair, origin=f"{name}, nccl-tests") for name, pair in FITTED["launch"].items()}
