"""How a step's time changes with the ranks: strong and weak efficiency, and Amdahl's serial share. Chapters: data-parallel, meshes.

    Scaling({1: 0.48, 2: 0.26, 4: 0.15}).strong       {1: 1.0, 2: 0.92, 4: 0.8}

Strong: the same work on more ranks; half the time on two is an efficiency of 1. Weak: each rank's work stays; the same time is 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum


@dataclass(frozen=True)
class Scaling:
    """seconds: of a step, by the number of ranks. ValueError unless there is a time of one rank, and all are positive."""

    seconds: Mapping[int, float]

    def __post_init__(self) -> None:
        for nranks, seconds in self.seconds.items():
            if isinstance(nranks, bool) or not isinstance(nranks, int) or nranks < 1 or not seconds > 0:
                raise ValueError(f"a step of 1 or more ranks lasts longer than 0 s, got {nranks!r}: {seconds!r}")
        if 1 not in self.seconds or len(self.seconds) < 2:
            raise ValueError(
                f"efficiencies compare with one rank: expected times of 1 and of more, got {list(self.seconds)}"
            )

    @property
    def strong(self) -> dict[int, float]:
        """Efficiency where all ranks share one batch: T(1) / (P T(P))."""
        return {nranks: self.seconds[1] / (nranks * seconds) for nranks, seconds in self.seconds.items()}

    @property
    def weak(self) -> dict[int, float]:
        """Efficiency where every rank has a batch of its own: T(1) / T(P)."""
        return {nranks: self.seconds[1] / seconds for nranks, seconds in self.seconds.items()}

    @property
    def serial(self) -> float:
        """Amdahl's serial share s of T(P) / T(1) = s + (1 - s) / P, by least squares: what more ranks do not make shorter.

        Communication is in it, as far as it shows; it grows with the ranks, so more of them give another share.
        """
        rest = [(1 - 1 / n, t / self.seconds[1] - 1 / n) for n, t in self.seconds.items() if n > 1]
        return fsum(x * y for x, y in rest) / fsum(x * x for x, _ in rest)

    @property
    def most(self) -> float:
        """How many times as fast it ever gets if the serial share stays: 1 / s; infinite without one."""
        return 1 / self.serial if self.serial > 0 else float("inf")
