"""What a sweep has found: rows to keep, print and draw; what ran, what NCCL refused. Chapters: benchmarking, choosing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from helpers.collectives import find_primitive
from helpers.ranks.sweeping.settings import Asked
from helpers.ranks.timing.timing import Timing
from helpers.units import GB

ONE_GPU = "true for correctness, logs and choice, not for time"
TOOK = {True: "yes", False: "NO", None: "unknown"}


class Took(NamedTuple):
    """What NCCL's log says that it took for one size. channels: how many of them this call used, None before 2.24."""

    algorithm: str
    protocol: str
    channels: int | None = None

    def __str__(self) -> str:
        return f"{self.algorithm}/{self.protocol}"


class SweptRow(NamedTuple):
    """One size of one combination. nbytes: the larger of a rank's input and output; wrong: elements, on all ranks together.

    timing: None where ranks share a GPU. took: None where the log does not tell. took_effect: does the log say that NCCL did what
    was asked? None where it does not tell.
    """

    asked: Asked
    collective: str
    nranks: int
    nbytes: int
    timing: Timing | None
    wrong: int
    took: Took | None
    took_effect: bool | None

    @property
    def seconds(self) -> float | None:
        """The least of all repetitions, each the slowest rank's."""
        return self.timing and self.timing.min

    @property
    def algbw(self) -> float | None:
        """Bytes per second, one way, as nccl-tests counts them."""
        return self.timing and self.nbytes / self.timing.min

    @property
    def busbw(self) -> float | None:
        """algbw times the collective's factor, one way."""
        return self.algbw and self.algbw * find_primitive(self.collective).promise.bus_factor(self.nranks)

    def as_json(self) -> dict[str, Any]:
        return {
            "nbytes": self.nbytes,
            "seconds": self.seconds,
            "median": self.timing and self.timing.median,
            "algbw": self.algbw,
            "busbw": self.busbw,
            "wrong": self.wrong,
            "algorithm": self.took and self.took.algorithm,
            "protocol": self.took and self.took.protocol,
            "channels": self.took and self.took.channels,
            "took_effect": self.took_effect,
        }


@dataclass(frozen=True)
class Case:
    """One combination. outcome: "ran", "impossible" (no NCCL has it, so nothing was started), "refused" (NCCL would not), "failed".

    why: of all outcomes but the first. rows: of one that failed, those before. env: what its ranks were given for it. read: which of its
    settings NCCL says it has read, by name. rings: channels of its communicator, None where the log does not tell. version: of NCCL, as
    the log has it. log: rank 0's, whole.
    """

    asked: Asked
    outcome: str
    why: str = ""
    env: tuple[tuple[str, str], ...] = ()
    read: tuple[tuple[str, str], ...] = ()
    rings: int | None = None
    version: str | None = None
    rows: tuple[SweptRow, ...] = ()
    log: str = field(default="", repr=False)

    def as_json(self) -> dict[str, Any]:
        """Without the log."""
        asked = self.asked._asdict()
        told = {"outcome": self.outcome, "why": self.why, "env": dict(self.env), "read": dict(self.read)}
        return asked | told | {"rings": self.rings, "nccl": self.version, "rows": [row.as_json() for row in self.rows]}


@dataclass(frozen=True)
class Swept:
    """A whole sweep. label: what it ran on. shared: the ranks shared one GPU, so nothing was timed."""

    collective: str
    nranks: int
    label: str
    shared: bool
    cases: tuple[Case, ...]

    @property
    def rows(self) -> tuple[SweptRow, ...]:
        """Of all combinations that ran, in order."""
        return tuple(row for case in self.cases for row in case.rows)

    @property
    def version(self) -> str | None:
        """NCCL's, as its log tells it."""
        return next((case.version for case in self.cases if case.version), None)

    @property
    def wrong(self) -> int:
        """Elements, in all rows."""
        return sum(row.wrong for row in self.rows)

    @property
    def failed(self) -> bool:
        """Wrong elements, a combination that failed, or a setting that the log says had no effect."""
        ineffective = any(row.took_effect is False for row in self.rows)
        return bool(self.wrong) or ineffective or any(case.outcome == "failed" for case in self.cases)

    def as_json(self) -> dict[str, Any]:
        """Everything but the logs, for json.dumps: seconds, bytes, bytes per second one way."""
        head = {"kind": "sweep", "collective": self.collective, "nranks": self.nranks, "label": self.label}
        told = {"nccl": self.version, "timed": not self.shared, "direction": "one way"}
        return head | told | {"cases": [case.as_json() for case in self.cases]}

    def __str__(self) -> str:
        lines = [header(self.collective, self.label, self.version)]
        for case in self.cases:
            lines += map(text, case.rows)
            lines += [] if case.outcome == "ran" else [untold(case)]
        return "\n".join([*lines, footer(self)])


def header(collective: str, label: str, version: str | None) -> str:
    """The lines above the table."""
    over = f"{'asked':<28}{'size':>13}{'NCCL took':>20}{'as asked':>10}{'channels':>10}"
    numbers = f"{'time':>10}{'median':>10}{'algbw':>9}{'busbw':>9}{'#wrong':>8}"
    units = f"{'':<28}{'(B)':>13}{'':>20}{'':>10}{'':>10}{'(us)':>10}{'(us)':>10}{'(GB/s)':>9}{'(GB/s)':>9}"
    nccl = f", NCCL {version}" if version else ""
    return "\n".join(
        (
            f"# {collective} on {label}{nccl}",
            "# NCCL took: read back from its log; bandwidths count one way",
            f"# {over}{numbers}",
            f"# {units}",
        )
    )


def text(row: SweptRow) -> str:
    """One line of the table."""
    took, channels = row.took or "?", row.took.channels if row.took and row.took.channels else "?"
    head = f"{row.asked!s:<30}{row.nbytes:>13}{took!s:>20}{TOOK[row.took_effect]:>10}{channels:>10}"
    if row.timing is None:
        return f"{head}{'-':>10}{'-':>10}{'-':>9}{'-':>9}{row.wrong:>8}"
    times = f"{row.timing.min * 1e6:>10.2f}{row.timing.median * 1e6:>10.2f}"
    return f"{head}{times}{(row.algbw or 0) / GB:>9.2f}{(row.busbw or 0) / GB:>9.2f}{row.wrong:>8}"


def untold(case: Case) -> str:
    """One line of a combination that has no rows, or not all."""
    return f"# {case.asked}: {case.outcome}: {case.why}"


def footer(swept: Swept) -> str:
    """How many ran, and how many elements were wrong."""
    kinds = {
        kind: sum(case.outcome == kind for case in swept.cases) for kind in ("ran", "impossible", "refused", "failed")
    }
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    return f"# combinations: {counts}\n# Out of bounds values : {swept.wrong} {'FAILED' if swept.wrong else 'OK'}"
