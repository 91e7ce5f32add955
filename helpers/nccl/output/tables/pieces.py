"""Rows that other output has cut, put together again where the result is a row that fits. Chapter: benchmarking.

nccl-tests prints a row in three writes, and a pipe passes on what several processes write in pieces of any length, so the lines of
a log, or of anything else, may stand between two words of a row or in the middle of a number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import product

from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.columns import Columns
from helpers.nccl.output.tables.errors import TableError
from helpers.nccl.output.tables.fits import REDOPS, WORD, RawRow
from helpers.nccl.output.tables.printed import printed
from helpers.nccl.output.tables.tables import Rows

_TYPES = "|".join(sorted(WORD, key=len, reverse=True))
_NUMBER = r"-?\d[\d_]*(?:\.\d*)?(?:e[+-]\d*)?"
_WORD = rf"(?:\d{{4}}-\d\d-\d\d|\d\d:\d\d:\d\d|{_NUMBER}|N/A|none|{'|'.join(REDOPS)}|{_TYPES})"
_PIECE = re.compile(rf"\s*(?:{_WORD}\s+)*(?:{_WORD}|-)?\s*", re.ASCII)
_BEGINS = re.compile(rf"\s*\d[\d_]*\s+\d+\s+(?:{_TYPES})(?![\w.])", re.ASCII)
_INSIDE = re.compile(rf"\s\d[\d_]*\s+\d+\s+(?:{_TYPES})\s", re.ASCII)
_MARK = re.compile(r"(?:\[[^\[\]]{1,40}\](?:<std\w+>:)? ?)?\Z")  # a clock, or mpirun's mark of a process
_WHOLE = re.compile(r"\d[\d_]*", re.ASCII)
_LOG = re.compile(r":\d+:\d+ \[|\[rank\d+\]:|\[?[EFIW]\d{4} \d\d:\d\d:|NCCL version \d", re.ASCII)
NUMBERS = 6  # in a line, from which on it looks like a row
_MOST = 6  # pieces of which every way to join them is tried
_HOST = re.compile(r"\s*(?:\[[^\[\]]{1,40}\] ?)?([\w.-]+):\d+:\d+ \[|.*\bPid +\d+ +on +(\S+) +device", re.ASCII)


def apart(lines: Sequence[Line]) -> Iterator[tuple[Line, bool]]:
    """Every line, and whether a line of a log followed it without a break: that one comes next, as a line of its own."""
    hosts = {found[1] or found[2] for line in lines if (found := _HOST.match(line.text))}
    widths = sorted({len(host) for host in hosts}, reverse=True)
    for line in lines:
        at = _log_begins(line.text, hosts, widths)
        if line.text[:at].strip():
            yield line._replace(text=line.text[:at]), True
            yield line._replace(text=line.text[at:]), False
        else:
            yield line, False


def _log_begins(text: str, hosts: Collection[str], widths: Sequence[int]) -> int:
    """Where a line of NCCL's or torch's begins within a line, with its clock; 0 where none does."""
    found = _LOG.search(text)
    at = found.start() if found else 0
    if at and text[at] == ":":
        at -= next((width for width in widths if text[max(0, at - width) : at] in hosts), at)
    return at - len(_MARK.search(text[:at])[0])  # type: ignore[index]  # it fits every text


class Pieces:
    """Of one open table: line by line, until they are a row that fits, and no other way of joining them is one."""

    def __init__(self, rows: Rows, columns: Columns) -> None:
        self.rows, self.columns = rows, columns
        self.parts: list[str] = []
        self.first: Line | None = None
        self.error: TableError | None = None
        self.noise = False

    def take(self, line: Line, glued: bool) -> bool:
        """Whether the line is a row or a piece of one; TableError for a row that is damaged with nothing else near it."""
        text, noise = _piece(line.text, glued)
        if line.text.lstrip().startswith("#"):
            self.end()
            return False
        if not glued and _may_be_whole(line, self.columns) and not (self.parts and self._joined(text, line)):
            self.end()
            self.rows.add(self.columns.read(line))
            return True
        if not text or "type" not in self.columns.base:
            self.noise = self.noise or bool(line.text.strip())
            return False
        return bool((self.parts or noise) and self._joined(text, line)) or self._kept(text, noise, line)

    def end(self, of_text: bool = False) -> None:
        """What was begun is lost: to other output, or as the text ends. With neither, a TableError that says what is wrong with it."""
        parts, error, noise = self.parts, self.error, self.noise
        self.parts, self.error, self.noise = [], None, False
        if parts and error and not (noise or of_text):
            raise error
        if parts:
            self.rows.lose(of_text and not noise)

    def _joined(self, text: str, line: Line) -> bool:
        """Takes the pieces so far with this one as a row, or else this one alone."""
        for parts, begin in (([*self.parts, text], self.first or line), ([text], line)):
            found = self._rows(parts, begin)
            if len(found) == 1:
                self.parts = self.parts if len(parts) == 1 else []
                self.end()
                self.rows.add(found[0])
                return True
        return False

    def _rows(self, parts: list[str], line: Line) -> list[RawRow]:
        """Every row that fits, with or without a space between two pieces."""
        ways = product(("", " "), repeat=len(parts) - 1) if len(parts) <= _MOST else [("",) * (len(parts) - 1)]
        texts = {"".join(a + b for a, b in zip(parts, (*way, ""), strict=True)) for way in ways}
        found = {}
        for text in texts:
            try:
                row = self.columns.read(line._replace(text=text))
            except TableError:
                continue
            if self.rows.fits(row):
                found[" ".join(text.split())] = row
        return list(found.values())

    def _kept(self, text: str, noise: bool, line: Line) -> bool:
        """Whether it is kept: it goes on with what has been begun, or begins a row."""
        words, begins = text.split(), bool(_BEGINS.match(text))
        if self.parts and not begins and len(" ".join(self.parts).split()) + len(words) <= self.columns.wanted + 1:
            self.parts.append(text)
            self.noise = self.noise or noise
            return True
        self.end()
        if not (begins or (len(words) < 3 and all(map(str.isdigit, words)))):
            return False
        self.parts, self.first, self.noise = [text], line, noise
        self.error = TableError(f"{self.columns.told}, got {len(words)}: it ends too soon", line)
        return True


def _may_be_whole(line: Line, columns: Columns) -> bool:
    """A row, perhaps a damaged one: it begins with a size, and has as many words as a row, or more."""
    words = line.text.split()
    if not words or not _WHOLE.fullmatch(words[0]) or "NCCL INFO" in line.text:
        return False
    if "type" not in columns.base:
        return len(words) >= 4
    return columns.counts(line) or bool(len(words) > columns.wanted and _BEGINS.match(line.text))


def _piece(text: str, glued: bool) -> tuple[str, bool]:
    """What of a line is of a row, "" for nothing; and whether other output stands beside it."""
    found = _PIECE.match(text)
    piece = found[0] if found else ""
    rest = text[len(piece) :].strip()
    if "NCCL" not in rest and sum(printed(word) is not None for word in rest.split()) >= NUMBERS:
        return "", False  # a row with a letter in its first numbers
    if rest and not piece.strip() and (inside := _INSIDE.search(text)):
        return _piece(text[inside.start() :], glued)[0], True
    if rest and piece[-1:].isspace() and not _BEGINS.match(piece):
        return "", True  # "3 of 4 ranks": a piece of a row has no space behind it
    return piece if piece.strip() else "", bool(rest) or glued
