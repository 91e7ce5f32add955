"""A verdict as plain data: what a text is, how good its number is, and what the likely causes are. Chapter: yours."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from helpers.units import bandwidth_text, nbytes_text, seconds_text

KINDS = ("nccl-tests", "topology", "machine", "log", "dumps", "snapshot", "trace", "run", "words", "refused")
CLEAN = "Nothing in it accuses the machine."
TOO_LITTLE = "That is too little to judge a machine by."


class Cause(NamedTuple):
    """One likely cause. name: of KINDS (causes.py). chapter: the stem of the page that explains it. command: what would confirm it.

    accuses: False for a remark that holds on a healthy machine, too. repair: the section of the page `repair` that says what to do, ""
    where nothing is broken.
    """

    name: str
    why: str
    chapter: str
    command: str
    accuses: bool = True
    repair: str = ""


class Point(NamedTuple):
    """One size of a curve: seconds of a call, busbw in bytes per second, one way per GPU."""

    nbytes: int
    seconds: float
    busbw: float


class Beside(NamedTuple):
    """A published run. ratios: (nbytes, the reader's seconds over the published ones), at the sizes that both have.

    typical: their median, None where no size is common.
    """

    title: str
    url: str
    points: tuple[Point, ...]
    ratios: tuple[tuple[int, float], ...]
    typical: float | None


class Foretold(NamedTuple):
    """What helpers.nccl.predict says of one size."""

    nbytes: int
    seconds: float
    busbw: float
    algorithm: str
    protocol: str


class Bend(NamedTuple):
    """A size where the reader's time jumps. why: the switch that predict makes there, or "not explained"."""

    nbytes: int
    why: str


@dataclass(frozen=True)
class Verdict:
    """kind: of KINDS. what: the text in one line. sentence: the verdict, and at its end where to look first. otherwise: how it ends where
    nothing is accused, while it is made. machine: on what it was taken to be, "" where nobody knows.

    line_rate: one way per GPU, bytes per second. plateau: the best busbw that was published of this GPU, count and collective
    at sizes up to the reader's largest, else the best that predict tells of the reader's sizes; plateau_of says which.
    The shares are those of the reader's best busbw; None where nothing is known to hold it against. refused: why a text was not
    read, "" where it was. lines: of dumps where every rank is, of a log what NCCL chose, of a run of gpu-check all that it
    measured, of words what each rank says.
    predicted: empty where NCCL's model says nothing, and `unpredicted` says why.
    """

    kind: str
    what: str = ""
    sentence: str = ""
    otherwise: str = ""
    machine: str = ""
    points: tuple[Point, ...] = ()
    line_rate: float | None = None
    line_rate_share: float | None = None
    plateau: float | None = None
    plateau_of: str = ""
    plateau_share: float | None = None
    nearest: tuple[Beside, ...] = ()
    predicted: tuple[Foretold, ...] = ()
    unpredicted: str = ""
    bends: tuple[Bend, ...] = ()
    causes: tuple[Cause, ...] = ()
    lines: tuple[str, ...] = ()
    refused: str = ""

    @property
    def accused(self) -> tuple[str, ...]:
        """Names of the causes that accuse, in order."""
        return tuple(cause.name for cause in self.causes if cause.accuses)

    def as_json(self) -> dict[str, Any]:
        """Plain dicts, lists, texts and numbers; a row is a dict by its fields' names."""
        return {name: _plain(getattr(self, name)) for name in asdict(Verdict(self.kind))}

    def __str__(self) -> str:
        if self.refused:
            return f"refused: {self.refused}"
        return "\n".join([self.what, self.sentence, *self._curve(), *self._because(), *self.lines])

    def _curve(self) -> list[str]:
        lines = [f"beside: {one.title}, {one.typical:.2f} times its seconds" for one in self.nearest if one.typical]
        lines += [f"bend at {nbytes_text(bend.nbytes)}: {bend.why}" for bend in self.bends]
        return lines

    def _because(self) -> list[str]:
        found = [f"{place}. {c.name}: {c.why} (chapter {c.chapter})" for place, c in enumerate(self.causes, start=1)]
        return [line for pair in zip(found, (f"   {c.command}" for c in self.causes), strict=True) for line in pair]


def refusal(why: str) -> Verdict:
    """A text that is none of ours, or damaged."""
    return Verdict("refused", refused=why)


def point_text(point: Point) -> str:
    """ "355.9 GB/s busbw at 1 GiB, in 4.53 ms"."""
    at = f"at {nbytes_text(point.nbytes)}, in {seconds_text(point.seconds)}"
    return f"{bandwidth_text(point.busbw)} busbw {at}"


def _plain(value: object) -> object:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
