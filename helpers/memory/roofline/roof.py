"""What a machine can make of an operation: the lower of its arithmetic and its memory.

Model: Williams, Waterman and Patterson, "Roofline", Communications of the ACM 52(4), 2009. Chapters: roofline, memory-hierarchy.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.facts import ACCELERATORS
from helpers.memory.roofline.work import Pass, RooflineError, Work
from helpers.units import Bandwidth


@dataclass(frozen=True)
class Roof:
    """What a machine can do. flops: FLOP/s at most; bandwidth: bytes per second to and from memory, both ways together.

    A Bandwidth must say "both ways": reads and writes share a memory's bus.
    """

    name: str
    flops: float
    bandwidth: Bandwidth | float

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, Bandwidth) and self.bandwidth.direction != "both ways":
            raise RooflineError(f"{self.name}: a memory's bandwidth counts both ways, got {self.bandwidth}")
        if not (self.flops > 0 and self.rate > 0):
            raise RooflineError(f"{self.name}: a roof has positive rates, got {self.flops!r} and {self.bandwidth!r}")

    @classmethod
    def of(cls, name: str, dtype: str) -> Roof:
        """An accelerator of helpers.facts by its datasheet: dense peak for that type, bandwidth of its HBM (or GDDR).

        RooflineError for one that is not there, FactError for a type that its vendor publishes no peak for.
        """
        if name not in ACCELERATORS:
            raise RooflineError(f"no accelerator {name!r}; there are {', '.join(ACCELERATORS)}")
        chip = ACCELERATORS[name]
        return cls(f"{name}, {dtype}", chip.peak(dtype).number, chip.hbm.bandwidth)

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.bandwidth.value if isinstance(self.bandwidth, Bandwidth) else self.bandwidth

    @property
    def ridge(self) -> float:
        """FLOP per byte where both limits meet: below it memory decides, above it arithmetic."""
        return self.flops / self.rate

    def attainable(self, intensity: float) -> float:
        """FLOP/s at most for that intensity (FLOP per byte)."""
        if not intensity >= 0:
            raise RooflineError(f"an intensity is not negative, got {intensity!r}")
        return min(self.flops, intensity * self.rate)

    def seconds(self, work: Work) -> float:
        """The least time: every pass takes as long as the slower of its arithmetic and its bytes."""
        return sum(self._pass_seconds(p) for p in work.passes)

    def _pass_seconds(self, p: Pass) -> float:
        return max(p.flops / self.flops, (sum(p.reads.values()) + sum(p.writes.values())) / self.rate)

    def bound(self, work: Work) -> str:
        """ "memory" or "compute": which of the two limits the operation as a whole meets first."""
        return "compute" if work.intensity >= self.ridge else "memory"

    def __str__(self) -> str:
        return f"{self.name}: {self.flops / 1e12:.4g} TFLOP/s, {self.rate / 1e9:.4g} GB/s both ways, ridge {self.ridge:.3g} FLOP/B"
