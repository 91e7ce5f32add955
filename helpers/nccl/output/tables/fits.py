"""Which collective, over how many ranks, the numbers of a table can be of: a row that none fits contradicts itself.

Read in nccl-tests at a0b82b2 (2.19.6): the GetBw and GetCollByteCount of each program, and src/common.cu, which prints them.
Up to June 2020 (ec1b5e2) all_gather and reduce_scatter had (n-1)/n in algbw, and busbw was the same. Chapter: benchmarking.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.errors import TableError
from helpers.nccl.output.tables.printed import Printed

WORD = dict.fromkeys(("int8", "uint8", "char", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1)
WORD |= dict.fromkeys(("half", "bfloat16"), 2) | dict.fromkeys(("float", "int32", "uint32", "int"), 4)
WORD |= dict.fromkeys(("double", "int64", "uint64"), 8)
REDOPS = ("sum", "prod", "max", "min", "avg", "mulsum")
FEW = 3  # collectives that are named where several fit
_SLACK = 1e-9


class Ratio(NamedTuple):
    """1 for any number of ranks, or `most` * (n - 1) / n."""

    most: float = 1.0
    grows: bool = False

    def ranks(self, low: float, high: float) -> tuple[float, float]:
        """The numbers of ranks, first and last, for which it lies from low to high; first > last where there are none."""
        if not self.grows:
            return (1, math.inf) if low <= self.most <= high else (1, 0)
        if low >= self.most or high < 0:
            return 1, 0
        first = 1 / (1 - low / self.most) if low > 0 else 1
        last = 1 / (1 - high / self.most) if high < self.most else math.inf
        return math.ceil(first * (1 - _SLACK)), last if last == math.inf else math.floor(last * (1 + _SLACK))

    def __str__(self) -> str:
        return f"{self.most:g}" + (" (n-1)/n" if self.grows else "")


ONE, PART, TWICE = Ratio(), Ratio(1, True), Ratio(2, True)


class Kind(NamedTuple):
    """A program: algbw over size / time (None: anything), busbw over algbw, whether count is a rank's part, reduces, has a root."""

    name: str
    alg: Ratio | None
    bus: Ratio
    parts: bool = False
    reduces: bool = False
    rooted: bool = False


KINDS = (
    Kind("all_reduce", ONE, TWICE, reduces=True),
    Kind("reduce", ONE, ONE, reduces=True, rooted=True),
    Kind("reduce_scatter", ONE, PART, parts=True, reduces=True),
    Kind("sendrecv", ONE, ONE, reduces=True),
    Kind("all_gather", ONE, PART, parts=True),
    Kind("alltoall", ONE, PART, parts=True),
    Kind("broadcast", ONE, ONE, rooted=True),
    Kind("gather", ONE, PART, parts=True, rooted=True),
    Kind("scatter", ONE, PART, parts=True, rooted=True),
    Kind("hypercube", PART, ONE, parts=True),
    Kind("alltoallv", None, PART),
)
BEFORE_2020 = (Kind("all_gather", PART, ONE, parts=True), Kind("reduce_scatter", PART, ONE, parts=True, reduces=True))
# Programs with that column before 2.13; alltoall's was empty
OLD_REDOP = ("all_reduce", "reduce", "reduce_scatter", "alltoall")
NOT_IN_PLACE = ("alltoall", "alltoallv", "sendrecv")
NAMES = tuple(kind.name for kind in KINDS)


class Numbers(NamedTuple):
    """One half of a row. wrong: how many elements; error: the largest difference (up to 2.11). None: N/A, or no such column."""

    time: Printed | None
    alg: Printed
    bus: Printed
    wrong: float | None
    error: float | None


@dataclass(frozen=True)
class RawRow:
    """A row before it is believed. root: -1 where there is none, None where there is no such column."""

    line: Line
    nbytes: int
    count: int | None
    dtype: str | None
    redop: str | None
    root: int | None
    halves: tuple[Numbers | None, Numbers | None]


class _Open(NamedTuple):
    kind: Kind
    first: float
    last: float


class Fit:
    """Takes row by row and drops what does not fit; a row after which nothing is left is a TableError.

    program: what the text says that it ran, None where it does not. nranks: as the text lists them, or None. columns: those of
    the table. timed: whether its times are those that algbw was computed from (not with -C 1, CPU time).
    """

    def __init__(self, program: str | None, nranks: int | None, columns: tuple[str, ...], timed: bool = True) -> None:
        self.program, self.nranks, self.columns, self.timed = program, nranks, columns, timed
        kinds = KINDS + (BEFORE_2020 if "error" in columns else ())
        first, last = (1, math.inf) if nranks is None else (nranks, nranks)
        self.open = [_Open(kind, first, last) for kind in kinds if self._may(kind)]

    def _may(self, kind: Kind) -> bool:
        """alltoallv is believed only by name: anything is one."""
        return kind.name == self.program if self.program else kind.name != "alltoallv"

    def take(self, row: RawRow) -> None:
        _whole(row, free=self.program == "alltoallv")
        left = [open_ for open_ in self.open if self._columns_fit(open_.kind, row)]
        for half in filter(None, row.halves):
            if self.timed and self.program != "alltoallv":
                _in_time(row, half)
            left = [fits for open_ in left if (fits := self._narrowed(open_, row, half)).first <= fits.last]
        if not left:
            raise TableError(self._nothing_fits(row), row.line)
        self.open = left

    def _columns_fit(self, kind: Kind, row: RawRow) -> bool:
        """What the columns say: an operation where something is reduced, a root where there is one."""
        if "count" not in self.columns:
            return True  # a table of sizes and rates, which somebody shortened
        if kind.rooted != (row.root is not None and row.root >= 0) or not self._checks_fit(kind, row):
            return False
        if "error" in self.columns and ("redop" in self.columns) != (kind.name in OLD_REDOP):
            return False
        return "redop" not in self.columns or kind.reduces == (row.redop is not None)

    def _checks_fit(self, kind: Kind, row: RawRow) -> bool:
        """Where nothing works in place, nothing is checked there: N/A, with a number out of place."""
        first, last = row.halves
        none = first and last and first.wrong is not None and last.wrong is None
        return "#wrong" not in self.columns or not none or kind.name in NOT_IN_PLACE

    def _narrowed(self, open_: _Open, row: RawRow, half: Numbers) -> _Open:
        kind, first, last = open_
        spans = [kind.bus.ranks(*_over(half.bus, half.alg)), _ranks_of_parts(kind, row)]
        if self.timed and kind.alg and half.time and row.nbytes:
            spans.append(kind.alg.ranks(*_share(row.nbytes, half.time, half.alg)))
        if row.root is not None and row.root >= 0:
            spans.append((row.root + 1, math.inf))
        return _Open(kind, max(first, *(span[0] for span in spans)), min(last, *(span[1] for span in spans)))

    def _nothing_fits(self, row: RawRow) -> str:
        half = next(filter(None, row.halves))
        where = f" over {self.nranks} ranks" if self.nranks else ""
        who = self.program or "no collective of nccl-tests"
        ratio = f"{half.bus.value / half.alg.value:.4g}" if half.alg.value else "nothing"
        parts = "" if row.count is None else f", {row.count} elements of {row.dtype} in {row.nbytes} B"
        return (
            f"busbw {half.bus.text} is {ratio} of algbw {half.alg.text}{parts}:"
            f" {who}{where} has that{' not' if self.program else ''} together with these columns and the rows before"
        )

    def collective(self) -> str | None:
        """The one that is left, None where several fit."""
        names = {open_.kind.name for open_ in self.open}
        return names.pop() if len(names) == 1 else None

    def told(self) -> str:
        """Those that are left, where they are two or three, with the ranks that each has: "all_reduce over 2 ranks or sendrecv"."""
        left = {one.kind.name: one for one in self.open}
        over = [f"{name} over {one.first:.0f} ranks" if one.first == one.last else name for name, one in left.items()]
        alike = len({(one.first, one.last) for one in left.values()}) == 1
        return " or ".join(left if alike else over) if 1 < len(left) <= FEW else ""

    def ranks(self) -> int | None:
        """How many there were, where only one number fits."""
        spans = {(open_.first, open_.last) for open_ in self.open}
        first, last = spans.pop() if len(spans) == 1 else (1, math.inf)
        return int(first) if first == last else None


def _over(top: Printed, bottom: Printed) -> tuple[float, float]:
    """The ends of top / bottom."""
    return top.low / bottom.high, top.high / bottom.low if bottom.low > 0 else math.inf


def _share(nbytes: int, time: Printed, alg: Printed) -> tuple[float, float]:
    """The ends of algbw over size / time, microseconds and GB/s."""
    return alg.low * time.low * 1e3 / nbytes, alg.high * time.high * 1e3 / nbytes


def _ranks_of_parts(kind: Kind, row: RawRow) -> tuple[float, float]:
    """What size over count says: 1 where count is all of it, else the number of ranks."""
    if row.count is None or row.dtype is None or row.count == 0 or kind.alg is None:
        return 1, math.inf
    parts = row.nbytes // (row.count * WORD[row.dtype])
    if kind.parts:
        return parts, parts
    return (1, math.inf) if parts == 1 else (1, 0)


def _whole(row: RawRow, free: bool) -> None:
    """count elements are a whole part of size."""
    if row.count is None or row.dtype is None or free:
        return
    part = row.count * WORD[row.dtype]
    if (part == 0) != (row.nbytes == 0) or (part and (row.nbytes < part or row.nbytes % part)):
        raise TableError(
            f"{row.count} elements of {row.dtype} are {part} B, which is no whole part of {row.nbytes} B", row.line
        )


def _in_time(row: RawRow, half: Numbers) -> None:
    """algbw is size / time, or, of hypercube and before 2020, half of it at least."""
    if half.time is None:
        return
    low, high = _share(max(row.nbytes, 1), half.time, half.alg)
    if (low > 1 or high < 0.5) if row.nbytes else half.alg.low > 0:
        rate = f"{row.nbytes / half.time.value / 1e3:.4g}" if half.time.value else "no number of"
        raise TableError(
            f"{row.nbytes} B in {half.time.text} µs are {rate} GB/s, but algbw says {half.alg.text}", row.line
        )
