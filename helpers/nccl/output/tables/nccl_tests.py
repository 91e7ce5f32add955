"""Reads what nccl-tests prints: every column layout since 2.4, prefixes of MPI and of containers, JSON (-J).

A text that is damaged is a TableError with its line, never a wrong number: each row has to agree with itself, with the rows before
it and with the collective (`fits.py`), and the rows with the average below them. Chapters: benchmarking, choosing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from helpers.nccl.output.tables.apart import LOG, apart, unmarked
from helpers.nccl.output.tables.cleaned import Line, cleaned, spaced
from helpers.nccl.output.tables.columns import HEADS, Columns, columns_of, units_are_known
from helpers.nccl.output.tables.errors import NoTable, TableError
from helpers.nccl.output.tables.fits import WORD
from helpers.nccl.output.tables.header import Facts
from helpers.nccl.output.tables.payloads import payloads
from helpers.nccl.output.tables.pieces import NUMBERS, Pieces
from helpers.nccl.output.tables.printed import Printed, printed
from helpers.nccl.output.tables.report import report
from helpers.nccl.output.tables.tables import NcclTable, Rows

_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*(\S+)(?: (?:OK|FAILED|GB/s))?")
_OUTSIDE = re.compile(r"Out of bounds values\s*:\s*(\d{1,15}) (OK|FAILED)", re.ASCII)
_LEFT_OUT = re.compile(r"[\[(<]?(?:\.{2,}|…|snip|\.\.\. ?snip ?\.\.\.)[\])>]?")
_ADDED = re.compile(r"\S+ +size +count +type .*algbw")
_WHOLE = re.compile(r"\d+", re.ASCII)
_BEGINS = ("nccl-tests version", "Collective test starting", "nThread")
_NOISE = "NCCL INFO"


def parse_nccl_tests(text: str) -> NcclTable:
    """The one table of a text; TableError where there is none, where there are several (`nccl_tests_tables`), or what is wrong with it."""
    found = nccl_tests_tables(text)
    if len(found) > 1:
        begin = ", ".join(str(table.line) for table in found)
        raise TableError(f"{len(found)} tables, which begin in lines {begin}: nccl_tests_tables(text) gives them all")
    return found[0]


def nccl_tests_tables(text: str) -> tuple[NcclTable, ...]:
    """Every table of a text, in order; at least one, else TableError."""
    if not isinstance(text, str):
        raise TableError(f"the output of nccl-tests is text, got {type(text).__name__}")
    if (plain := spaced(text)).lstrip().startswith("{"):
        return (report(plain),)
    lines = _with_head([unmarked(line) for line in cleaned(plain)])
    found = tuple(sorted(_Reader().read(lines) + payloads(lines), key=lambda table: table.line))
    if not found:
        raise NoTable("this is no output of nccl-tests: no line with size, time, algbw and busbw was found")
    return found


class _Reader:
    """Line by line: what stands before a table, its rows, what stands below them."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.open: tuple[Rows, Columns, Pieces] | None = None
        self.done: list[NcclTable] = []
        self.empty: NoTable | None = None
        self.odd: Line | None = None

    def read(self, lines: Sequence[Line]) -> tuple[NcclTable, ...]:
        place = ""
        for line, mark in apart(lines):
            if mark == LOG:
                self._log(line)
                continue
            said = line.text.strip().lstrip("#").strip()
            columns = columns_of(said, line)
            if columns:
                self._begin(columns, place, line)
            elif said.startswith(_BEGINS):
                self._end()
                self.facts = Facts() if said.startswith(_BEGINS[0]) else self.facts
                self.facts.take(line, said)
            elif not (self.open and self._below(*self.open, line, said, mark)):
                self._outside(line, said)
            place = said if "place" in said else place
        self._end(of_text=True)
        if self.empty and not self.done:
            raise self.empty
        return tuple(self.done)

    def _log(self, line: Line) -> None:
        """A line of a log: perhaps the version, perhaps with a piece of a row behind it."""
        taken = self.open is not None and self.open[2].take(line, LOG)
        if not taken and "version" in line.text:
            self.facts.take(line, line.text.strip())

    def _begin(self, columns: Columns, place: str, line: Line) -> None:
        if columns.halves == 2 and re.match(r"in-place.*out-of-place", place):
            raise TableError("in-place stands before out-of-place: nccl-tests has them the other way round", line)
        self._end()
        rows = Rows(line, columns.names, self.facts, columns.timed)
        self.open = rows, columns, Pieces(rows, columns)

    def _end(self, of_text: bool = False) -> None:
        """What was open is a table; what is said from here on belongs to the next."""
        if self.open:
            self.open[2].end(of_text)
            try:
                self.done.append(self.open[0].table())
            except NoTable as error:  # a run that ended before its first size, perhaps among others
                self.empty = self.empty or error
            self.open, self.facts = None, Facts()

    def _below(self, rows: Rows, columns: Columns, pieces: Pieces, line: Line, said: str, mark: str) -> bool:
        """Whether a line belongs to the open table."""
        if pieces.take(line, mark):
            return True
        if found := _AVERAGE.fullmatch(said):
            rows.mean(_average(found[1], line), line)
            self._end()
        elif found := _OUTSIDE.fullmatch(said):
            rows.bounds(int(found[1]), found[2], line)
        elif said.startswith(("Avg bus bandwidth", "Out of bounds")):
            raise TableError("this should read like: Avg bus bandwidth : 98.414, or Out of bounds values : 0 OK", line)
        elif _LEFT_OUT.fullmatch(said):
            rows.elided = True
        elif not units_are_known(said, line) and _is_damaged(line):
            raise TableError("this looks like a row, but does not begin with a size, or ends too soon", line)
        else:
            return _NOISE in said
        return True

    def _outside(self, line: Line, said: str) -> None:
        self.odd = line if _ADDED.match(said) else self.odd
        if _is_typed(line) and self.odd:
            raise TableError("a column that nccl-tests does not print stands before size: take it away", self.odd)
        if _is_typed(line):
            raise TableError(
                "a row, but no line above names its columns: size count type redop root time algbw busbw ...", line
            )
        self.facts.take(line, said)


def _with_head(lines: list[Line]) -> list[Line]:
    """With the names of the columns before the first row, where no line names any and the row fits a layout that is known."""
    first = next((at for at, line in enumerate(lines) if _is_typed(line)), None)
    if first is None or any("algbw" in line.text for line in lines):
        return lines
    heads = [head for head in HEADS if _reads(head, lines[first])]
    if (
        len({"redop" in head for head in heads}) != 1
    ):  # none, or all_gather's and alltoall's before 2.13, which look alike
        return lines
    dots = lines[first]._replace(text="...")  # rows may be missing above
    return [*lines[:first], lines[first]._replace(text=heads[0]), dots, *lines[first:]]


def _reads(head: str, line: Line) -> bool:
    columns = columns_of(head, line)
    try:
        return columns is not None and Rows(line, columns.names, Facts(), columns.timed).fits(columns.read(line))
    except TableError:
        return False


def _is_typed(line: Line) -> bool:
    return _is_row(line) and bool(WORD.keys() & set(line.text.split()))


def _is_row(line: Line) -> bool:
    tokens = line.text.split()
    return len(tokens) >= 4 and _is_whole(tokens[0]) and _NOISE not in line.text


def _is_damaged(line: Line) -> bool:
    """A line that is no row and has the beginning of one, or its numbers."""
    tokens = line.text.split()
    begins = 0 < len(tokens) < 4 and all(map(_is_whole, tokens[:2]))
    return "NCCL" not in tokens and (begins or sum(printed(token) is not None for token in tokens) >= NUMBERS)


def _is_whole(token: str) -> bool:
    return _WHOLE.fullmatch(token.replace("_", "")) is not None


def _average(text: str, line: Line) -> Printed:
    number = printed(text)
    if number is None:
        raise TableError(f"the average is a number, got {text!r}", line)
    return number
