"""Which algorithm and protocol NCCL takes for a call, and how long that lasts. Chapters: inside-nccl, choosing."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.nccl.corrected import corrected
from helpers.nccl.cut import block_count
from helpers.nccl.fabric import Fabric, channels, nvls_blocks
from helpers.nccl.launch import Launch
from helpers.nccl.platforms import Described, Platform, platform
from helpers.nccl.releases import LATEST, Release, release_of
from helpers.nccl.tuning import Estimate, costs
from helpers.units import seconds_text


@dataclass(frozen=True)
class Candidate:
    """One algorithm with one protocol. raw: NCCL's formula, by which it chooses. corrected: with our reasons put in; None where no
    table covers it. channels: thread blocks that would take part.
    """

    algorithm: str
    protocol: str
    channels: int
    raw: float
    corrected: float | None

    def __str__(self) -> str:
        known = "-" if self.corrected is None else seconds_text(self.corrected)
        return f"{self.algorithm:8} {self.protocol:6} {self.channels:3} channels  raw {seconds_text(self.raw):>8}  corrected {known:>8}"


@dataclass(frozen=True)
class Choice:
    """NCCL's choice, the first of `candidates`, which are sorted by the raw formula.

    seconds: corrected; the raw formula's where no table covers the choice, and `note` says so.
    """

    collective: str
    nbytes: int
    nranks: int
    version: str
    algorithm: str
    protocol: str
    channels: int
    seconds: float
    raw: float
    candidates: tuple[Candidate, ...]
    note: str = ""

    @property
    def algbw(self) -> float:
        """Bytes per second, as nccl-tests counts them."""
        return self.nbytes / self.seconds

    def candidate(self, algorithm: str, protocol: str) -> Candidate:
        """One line of the table; KeyError naming those there are."""
        for one in self.candidates:
            if (one.algorithm, one.protocol) == (algorithm, protocol):
                return one
        raise KeyError(
            f"no {algorithm} with {protocol}: {', '.join(f'{c.algorithm}/{c.protocol}' for c in self.candidates)}"
        )

    def __str__(self) -> str:
        chosen = f"{self.collective} of {self.nbytes} B on {self.nranks} GPUs, NCCL {self.version}: {self.algorithm}/{self.protocol}"
        return "\n".join(
            [chosen, *(f"  {candidate}" for candidate in self.candidates), *([self.note] if self.note else [])]
        )


def predict(
    collective: str,
    nbytes: int,
    machine: Described | Platform,
    nranks: int | None = None,
    version: str = LATEST,
    launch: Launch | None = None,
) -> Choice:
    """What NCCL does with one call, and the seconds.

    nbytes: nccl-tests' size, the larger of one rank's input and output; whole. machine: one of helpers.facts.MACHINES, or a
    Platform. nranks: GPUs that take part, all by default; up to as many as one node has, they are of one node.
    launch: of this machine and this program, if measured (helpers.nccl.launch_of); else what our tables have of its GPU.
    NotPredicted for GPUs that no NVSwitch joins.
    """
    if isinstance(nbytes, bool) or not isinstance(nbytes, int) or nbytes < 1:
        raise ValueError(f"nbytes is a whole number of bytes, got {nbytes!r}")
    release, known = release_of(version), platform(machine, launch)
    fabric = known.fabric(nranks)
    lines = sorted(costs(collective, nbytes, fabric, release), key=lambda cost: cost.seconds(nbytes))
    table = tuple(_candidate(collective, nbytes, cost, fabric, release, known) for cost in lines)
    best = table[0]
    unknown = "" if best.corrected is not None else "NCCL's raw formula: no table of ours covers this choice"
    note = "; ".join(part for part in (known.note, unknown) if part)
    seconds = best.raw if best.corrected is None else best.corrected
    return Choice(
        collective,
        nbytes,
        fabric.nranks,
        version,
        best.algorithm,
        best.protocol,
        best.channels,
        seconds,
        best.raw,
        table,
        note,
    )


def _candidate(
    collective: str, nbytes: int, cost: Estimate, fabric: Fabric, release: Release, known: Platform
) -> Candidate:
    time = None
    if known.launch is not None:
        time = corrected(collective, cost.algorithm, cost.protocol, nbytes, fabric, release, known.launch)
    blocks = _blocks(cost, nbytes, fabric, release)
    return Candidate(cost.algorithm, cost.protocol, blocks, cost.seconds(nbytes), time)


def _blocks(cost: Estimate, nbytes: int, fabric: Fabric, release: Release) -> int:
    if cost.algorithm == "NVLS" and fabric.nodes > 1:  # since 2.28.3; before, there are no fewer channels
        return min(nvls_blocks(fabric, release), channels(fabric, release))
    if cost.algorithm.startswith("NVLS"):
        return nvls_blocks(fabric, release)
    if cost.algorithm == "PAT":
        return channels(fabric, release)
    return block_count(cost.algorithm, cost.protocol, nbytes, fabric, release)
