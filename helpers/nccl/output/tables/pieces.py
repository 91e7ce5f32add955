"""Rows that other output has cut, put together again where the result is a row that fits. Chapter: benchmarking.

nccl-tests prints a row in three writes, and a pipe passes on what several processes write in pieces of any length, so the lines of
a log, or of anything else, may stand between two words of a row or in the middle of a number.
"""

from __future__ import annotations

import re
from itertools import product

from helpers.nccl.output.tables.apart import BEGINS, CUT, LOG, TYPES
from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.columns import Columns
from helpers.nccl.output.tables.errors import TableError
from helpers.nccl.output.tables.fits import REDOPS, Numbers, RawRow
from helpers.nccl.output.tables.printed import Printed, printed
from helpers.nccl.output.tables.tables import Rows

_NUMBER = r"-?\d[\d_]*(?:\.\d*)?(?:e[+-]\d*)?"
_WORD = rf"(?:\d{{4}}-\d\d-\d\d|\d\d:\d\d:\d\d|{_NUMBER}|N/A|none|{'|'.join(REDOPS)}|{TYPES})"
_PIECE = re.compile(rf"\s*(?:{_WORD}\s+)*(?:{_WORD}|-)?\s*", re.ASCII)
_INSIDE = re.compile(rf"\s\d[\d_]*\s+\d+\s+(?:{TYPES})\s", re.ASCII)
_WHOLE = re.compile(r"\d[\d_]*", re.ASCII)
_LAST = re.compile(r"\S*\Z")
NUMBERS = 6  # in a line, from which on it looks like a row
_MOST = 6  # pieces of which every way to join them is tried


class Pieces:
    """Of one open table: line by line, until they are a row that fits, and no other way of joining them is one."""

    def __init__(self, rows: Rows, columns: Columns) -> None:
        self.rows, self.columns = rows, columns
        self.parts: list[str] = []
        self.first: Line | None = None
        self.error: TableError | None = None
        self.noise = False

    def take(self, line: Line, mark: str) -> bool:
        """Whether a line with its mark of `apart` is of a row; TableError for a row that is damaged with nothing else near it."""
        text, noise = _inside(line.text) if mark == LOG else self._piece(line.text, mark == CUT)
        if line.text.lstrip().startswith("#"):
            self.end()
            return False
        if self.parts and text and self._joined(text, line):
            return True
        if not mark and _may_be_whole(line, self.columns):
            self.end()
            self.rows.add(self.columns.read(line))
            return True
        if not text or "type" not in self.columns.base:
            self.noise = self.noise or bool(line.text.strip())
            return False
        return bool(noise and self._joined(text, line)) or self._kept(text, noise, line)

    def _piece(self, text: str, glued: bool) -> tuple[str, bool]:
        """As _piece, of a line that may begin within a word."""
        begun = _LAST.search(self.parts[-1])[0] if self.parts else ""  # type: ignore[index]  # it fits every text
        piece, noise = _piece(begun + text, glued)
        return (piece[len(begun) :], noise) if len(piece) > len(begun) else _piece(text, glued)

    def end(self, of_text: bool = False) -> None:
        """What was begun is lost: to other output, or as the text ends. With neither, a TableError that says what is wrong with it."""
        parts, error, noise = self.parts, self.error, self.noise
        self.parts, self.error, self.noise = [], None, False
        if parts and error and not (noise or of_text):
            raise error
        if parts and of_text and not noise and self.first and self.columns.half[-1] == "#wrong":
            for row in self._rows([*parts, " 0"], self.first):  # all but its last word is there
                self.rows.add(row)
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
            if self.rows.fits(row) and all(half is None or _as_printed(half) for half in row.halves):
                found[" ".join(text.split())] = row
        return list(found.values())

    def _kept(self, text: str, noise: bool, line: Line) -> bool:
        """Whether it is kept: it goes on with what has been begun, or begins a row."""
        words, begins = text.split(), bool(BEGINS.match(text))
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


def _as_printed(half: Numbers) -> bool:
    """With as many digits behind the point as nccl-tests prints: "1" is what is left of 0.91."""
    time = half.time is None or _digits(half.time) >= (half.time.value < 1e2) + (half.time.value < 1e4)
    return time and all(_digits(one) >= (one.value < 1e3) + (one.value < 1e4) for one in (half.alg, half.bus))


def _digits(number: Printed) -> int:
    return len(number.text.partition(".")[2])


def _may_be_whole(line: Line, columns: Columns) -> bool:
    """A row, perhaps a damaged one: it begins with a size, and has as many words as a row, or more."""
    words = line.text.split()
    if not words or not _WHOLE.fullmatch(words[0]) or "NCCL INFO" in line.text:
        return False
    if "type" not in columns.base:
        return len(words) >= 4
    return columns.counts(line) or bool(len(words) > columns.wanted and BEGINS.match(line.text))


def _inside(text: str) -> tuple[str, bool]:
    """The beginning of a row behind other output."""
    found = _INSIDE.search(text)
    return _piece(text[found.start() :], True) if found else ("", True)


def _piece(text: str, glued: bool) -> tuple[str, bool]:
    """What of a line is of a row, "" for nothing; and whether other output stands beside it."""
    found = _PIECE.match(text)
    piece = found[0] if found else ""
    rest = text[len(piece) :].strip()
    if "NCCL" not in rest and sum(printed(word) is not None for word in rest.split()) >= NUMBERS:
        return "", False  # a row with a letter in its first numbers
    if rest and not piece.strip():
        return _inside(text)
    if rest and piece[-1:].isspace() and not BEGINS.match(piece):
        return "", True  # "3 of 4 ranks": a piece of a row has no space behind it
    return piece if piece.strip() else "", bool(rest) or glued
