"""An operation as trips over memory: what it computes, what it moves, and what fusing leaves of it.

An intensity is counted from the passes, never looked up. Chapters: roofline, memory-hierarchy, execution-model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from helpers.units import nbytes_text


class RooflineError(ValueError):
    """A shape, rate or operation that cannot be."""


@dataclass(frozen=True)
class Pass:
    """One trip over memory. flops: operations done; reads, writes: bytes by the name of the tensor."""

    name: str
    flops: float
    reads: Mapping[str, float]
    writes: Mapping[str, float]
    counted: str = ""  # how the FLOPs were counted

    def renamed(self, names: Mapping[str, str]) -> Pass:
        """The same pass with other names for its tensors."""
        reads, writes = ({names.get(t, t): n for t, n in tensors.items()} for tensors in (self.reads, self.writes))
        return replace(self, reads=reads, writes=writes)


@dataclass(frozen=True)
class Work:
    """An operation as passes over memory. flops, read and written are sums over the passes; intensity is in FLOP per byte."""

    name: str
    passes: tuple[Pass, ...]

    def __post_init__(self) -> None:
        if not self.passes:
            raise RooflineError(f"{self.name}: an operation makes at least one pass over memory")

    @property
    def flops(self) -> float:
        return sum(p.flops for p in self.passes)

    @property
    def read(self) -> float:
        return sum(sum(p.reads.values()) for p in self.passes)

    @property
    def written(self) -> float:
        return sum(sum(p.writes.values()) for p in self.passes)

    @property
    def nbytes(self) -> float:
        return self.read + self.written

    @property
    def intensity(self) -> float:
        """FLOP per byte moved, reads and writes together."""
        return self.flops / self.nbytes

    def then(self, other: Work, name: str | None = None, **inputs: str) -> Work:
        """One after the other: what the first wrote, the second reads from memory again.

        inputs: which of our tensors each of the other's inputs is, e.g. gemm(...).then(elementwise(...), x0="C"). A result of the
        other that is called like one of ours gets a prime. RooflineError for an input that the other does not read.
        """
        ours = {t for p in self.passes for t in (*p.reads, *p.writes)}
        reads = {t for p in other.passes for t in p.reads}
        if set(inputs) - reads:
            unknown = ", ".join(sorted(set(inputs) - reads))
            raise RooflineError(f"{other.name} reads {', '.join(sorted(reads))}, not {unknown}")
        primes: dict[str, str] = {}
        for t in (t for p in other.passes for t in p.writes):
            primes.setdefault(t, _unused(t, ours | set(primes.values())))
        return Work(
            name or f"{self.name}, {other.name}", self.passes + tuple(p.renamed(primes | inputs) for p in other.passes)
        )

    def fused(self, name: str | None = None, keep: Iterable[str] = ()) -> Work:
        """All passes as one: what one pass writes and a later one reads never reaches memory, unless `keep` names it.

        The FLOPs stay. A tensor that several passes read is read once. RooflineError if `keep` names what nothing writes.
        """
        keep = set(keep)
        made: dict[str, float] = {}
        reads: dict[str, float] = {}
        for p in self.passes:
            reads |= {t: n for t, n in p.reads.items() if t not in made}
            made |= p.writes
        if keep - set(made):
            raise RooflineError(
                f"{self.name} writes {', '.join(made)}; it cannot keep {', '.join(sorted(keep - set(made)))}"
            )
        used = {t for p in self.passes for t in p.reads}
        writes = {t: n for t, n in made.items() if t in keep or t not in used}
        counted = "; ".join(p.counted for p in self.passes if p.counted)
        return Work(name or f"{self.name}, fused", (Pass("one pass", self.flops, reads, writes, counted),))

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.flops:.4g} FLOP, {nbytes_text(self.nbytes)}, {self.intensity:.3g} FLOP/B"]
        for p in self.passes:
            moved = [
                f"{way} {t} {nbytes_text(n)}"
                for way, ts in (("reads", p.reads), ("writes", p.writes))
                for t, n in ts.items()
            ]
            lines.append(f"  {p.name}: {', '.join(moved)}; {p.flops:.4g} FLOP ({p.counted})")
        return "\n".join(lines)


def _unused(name: str, names: set[str]) -> str:
    """The name, with as many primes as make it a new one."""
    while name in names:
        name += "'"
    return name
