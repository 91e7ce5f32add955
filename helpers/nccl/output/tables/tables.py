"""A table of nccl-tests: what it says, and how it is put together row by row. Chapters: benchmarking, choosing."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.errors import NoTable, TableError
from helpers.nccl.output.tables.fits import Fit, Numbers, RawRow
from helpers.nccl.output.tables.header import Facts, NcclDevice, NcclSettings
from helpers.nccl.output.tables.printed import Printed
from helpers.units import Bandwidth, nbytes_text


@dataclass(frozen=True)
class NcclTiming:
    """One half of a row. seconds: None in tables without times. algbw, busbw: bytes per second, as printed (0 below 0.005 GB/s).

    algbw is size / seconds; busbw is what one GPU sends, one way, if the collective were a ring (nccl-tests' doc/PERFORMANCE.md).
    wrong: how many elements were, None for N/A and where nothing was checked (from a million on printf keeps six digits).
    error: the largest difference, which versions up to 2.11 printed instead.
    """

    seconds: float | None
    algbw: float
    busbw: float
    wrong: float | None = None
    error: float | None = None

    @property
    def bus(self) -> Bandwidth | None:
        """busbw as a Bandwidth, one way per GPU; None where it was printed as 0.00."""
        return Bandwidth(self.busbw, "one way", "GPU", "measured") if self.busbw else None


@dataclass(frozen=True)
class NcclRow:
    """One size. count, dtype: None where the table has no such columns; redop, root: None where the collective has none.

    line: its number in the text, from 1 on; in a report of -J its place among the results.
    """

    nbytes: int
    count: int | None
    dtype: str | None
    redop: str | None
    root: int | None
    out_of_place: NcclTiming | None
    in_place: NcclTiming | None
    line: int

    @property
    def timings(self) -> tuple[NcclTiming, ...]:
        """Those that were run, out of place first."""
        return tuple(timing for timing in (self.out_of_place, self.in_place) if timing)


@dataclass(frozen=True)
class NcclTable:
    """A run. collective, nranks: as the text says, or as the numbers leave only one; else None. line: the one that names the columns.

    tests, nccl, rccl: versions, None where they are not printed. average_busbw: bytes per second, as printed. out_of_bounds: how many
    values were, None where the text ends before or nothing was checked. elided: whether rows are left out where dots stand for them.
    broken: rows that other output cut and that could not be put together. cut: whether the text ends within a row.
    fits: the two or three collectives that it can be of, in words.
    """

    rows: tuple[NcclRow, ...]
    collective: str | None
    nranks: int | None
    devices: tuple[NcclDevice, ...]
    settings: NcclSettings | None
    tests: str | None
    nccl: str | None
    average_busbw: float | None
    out_of_bounds: int | None
    elided: bool
    line: int
    broken: int = 0
    cut: bool = False
    rccl: str | None = None
    fits: str = ""

    def __str__(self) -> str:
        """all_reduce over 4 ranks: 28 sizes, 8 B to 1 GiB; NCCL 2.26.2."""
        sizes = [row.nbytes for row in self.rows]
        over = "" if self.nranks is None else f" over {self.nranks} {'rank' if self.nranks == 1 else 'ranks'}"
        spans = f"{len(sizes)} {'size' if len(sizes) == 1 else 'sizes'}, {nbytes_text(min(sizes))} to {nbytes_text(max(sizes))}"
        versions = [
            f"; {what} {version}"
            for what, version in (("nccl-tests", self.tests), ("NCCL", self.nccl), ("RCCL", self.rccl))
            if version
        ]
        return f"{self.collective or self.fits or 'a collective'}{over}: {spans}{''.join(versions)}"


class Rows:
    """A table while it is read. wrong: counted out of place; a few versions counted in place what cannot work there."""

    def __init__(self, line: Line, columns: tuple[str, ...], facts: Facts, timed: bool = True) -> None:
        self.line, self.facts = line, facts
        self.fit = Fit(facts.program, facts.nranks, columns, timed)
        self.made: list[NcclRow] = []
        self.buses: list[Printed] = []
        self.wrong: float = 0
        self.average: Printed | None = None
        self.outside: int | None = None
        self.elided = self.cut = False
        self.broken = 0

    def fits(self, row: RawRow) -> bool:
        """Whether the row goes with those before."""
        try:
            copy(self.fit).take(row)
        except TableError:
            return False
        return True

    def lose(self, cut: bool) -> None:
        """A row that is not whole is left out: cut by the end of the text, or broken by other output."""
        self.elided, self.cut, self.broken = True, self.cut or cut, self.broken + (not cut)

    def add(self, row: RawRow) -> None:
        self.fit.take(row)
        first, last = (None if half is None else _timing(half, self.checked) for half in row.halves)
        self.buses += [half.bus for half in row.halves if half]
        self.wrong += (row.halves[0].wrong or 0) if row.halves[0] else 0
        root = None if row.root == -1 else row.root
        self.made.append(NcclRow(row.nbytes, row.count, row.dtype, row.redop, root, first, last, row.line.number))

    @property
    def checked(self) -> bool:
        """Whether results were validated: with -c 0, versions from 2.13 on print 0 wrong all the same."""
        return self.facts.settings is None or self.facts.settings.validation != 0

    def bounds(self, count: int, word: str, line: Line) -> None:
        """The line of values out of bounds has to agree with itself, and none with rows that count wrong elements."""
        if (count == 0) != (word == "OK") or (count == 0 and self.wrong):
            raise TableError(f"{count} values out of bounds, {word}, while the rows count {self.wrong:g} wrong", line)
        self.outside = count if self.checked else None

    def mean(self, number: Printed, line: Line) -> None:
        """The average has to be that of the rows, unless some are left out, or several threads ran, which may differ."""
        self.average = number
        told = self.facts.settings
        if told and self.made and self.made[0].nbytes > 2 * max(told.min_bytes, told.step):
            self.elided = True  # above the first that is here
        if self.elided or (told and told.nthreads > 1) or not self.buses:
            return
        low = sum(bus.low for bus in self.buses) / len(self.buses)
        high = sum(bus.high for bus in self.buses) / len(self.buses)
        if high < number.low or low > number.high:
            said = f"between {low:.6g} and {high:.6g}, but this line says {number.text}"
            raise TableError(
                f"the mean busbw of the {len(self.made)} rows above is {said}: rows are missing or changed", line
            )

    def table(self) -> NcclTable:
        if not self.made:
            raise NoTable(self._none(), self.line)
        facts, commands = self.facts, self.facts.commands
        told = self.fit.collective()
        if told is None and len(commands) == 1 and commands <= {open_.kind.name for open_ in self.fit.open}:
            (told,) = commands
        return NcclTable(
            tuple(self.made),
            told,
            self.fit.ranks() if facts.nranks is None else facts.nranks,
            tuple(device for device, _ in facts.devices.values()),
            facts.settings,
            facts.tests,
            facts.nccl,
            self.average.times_ten_to(9) if self.average else None,
            self.outside,
            self.elided,
            self.line.number,
            self.broken,
            self.cut,
            facts.rccl,
            "" if told else self.fit.told(),
        )

    def _none(self) -> str:
        if self.broken:
            return f"no row is whole: other output has broken {self.broken} of them"
        return "no row follows the names of the columns: the run ended, or hangs, before its first size was finished"


def _timing(half: Numbers, checked: bool) -> NcclTiming:
    seconds = None if half.time is None else half.time.times_ten_to(-6)
    wrong, error = (half.wrong, half.error) if checked else (None, None)
    return NcclTiming(seconds, half.alg.times_ten_to(9), half.bus.times_ten_to(9), wrong, error)
