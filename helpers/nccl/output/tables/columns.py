"""The columns of a table of nccl-tests, by the line that names them, and a row under them.

Every layout since 2.4 (cbe7f65, March 2019): `error` up to 2.11 and `#wrong` from 2.13 on; redop and root only where a program had
them, later always; times and bandwidths with two digits behind the point, one or none (getFloatStr); `-C 1` (cputime), `-I 1`
(i_min to i_cv%) and `-S 1` (a timestamp). The format strings: print_header and BenchTime of f773748 (2.11), src/util.cu of a0b82b2
(2.19.6). Chapter: benchmarking.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.errors import TableError
from helpers.nccl.output.tables.fits import REDOPS, WORD, Numbers, RawRow
from helpers.nccl.output.tables.printed import DIGITS, Printed, printed

BASE = ("size", "count", "type", "redop", "root")
CLOCKS = ("time", "cputime")
CHECKS = ("#wrong", "error")
CHOSEN = ("algo", "proto", "nchannels")  # which RCCL took, as rccl-tests prints with -A 1
SPREAD = ("i_min", "i_max", "i_p99", "i_cv%")
UNITS = ("(B)", "(elements)", "(us)", "(GB/s)", "(%)", "%Y-%m-%d", "%H:%M:%S")
# Those of the versions since 2.13, and of those before, for rows that come without
HEADS = (
    "size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
    "size count type redop root time algbw busbw #wrong",
    "size count type redop root time algbw busbw error time algbw busbw error",
    "size count type redop time algbw busbw error time algbw busbw error",
    "size count type time algbw busbw error time algbw busbw error",
)
# Spaces at least, where the out-of-place half of a row was not run: writeBenchMarkLineNullBody prints 32
_EMPTY_HALF = 30
_WHOLE = re.compile(rf"\d(?:_?\d){{0,{DIGITS - 1}}}", re.ASCII)
_ROOT = re.compile(r"-1|\d{1,9}", re.ASCII)
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.ASCII)


@dataclass(frozen=True)
class Columns:
    """base: those before the first time. half: those of one half. halves: 2, or 1 in a shortened table. stamped: a timestamp ends a row.

    chosen: behind them stands what RCCL took, which is passed over.
    """

    base: tuple[str, ...]
    half: tuple[str, ...]
    halves: int
    stamped: bool
    chosen: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, once."""
        return self.base + self.half

    @property
    def timed(self) -> bool:
        """Whether algbw was computed from the times that are shown."""
        return self.half[0] == "time"

    @property
    def wanted(self) -> int:
        """How many words a row has, but for its timestamp."""
        return len(self.base) + self.halves * len(self.half)

    @property
    def told(self) -> str:
        """For an error: how many there are, and which."""
        return f"a row has {self.wanted} columns ({' '.join((*self.base, *self.half * self.halves))})"

    def counts(self, line: Line) -> bool:
        """Whether a line has as many words as a row."""
        try:
            return bool(self._tokens(line))
        except TableError:
            return False

    def read(self, line: Line) -> RawRow:
        """A row: TableError where a number of it is missing, one too many, or none."""
        tokens, empty = self._tokens(line)
        base = dict(zip(self.base, tokens, strict=False))
        rest = tokens[len(self.base) :]
        width = len(self.half)
        halves = [self._half(rest[at : at + width], line) for at in range(0, len(rest), width)]
        first, last = (None, halves[0]) if empty else (halves[0], halves[1] if self.halves == 2 else None)
        dtype = base.get("type")
        if dtype is not None and dtype not in WORD:
            raise TableError(f"a type is one of {', '.join(WORD)}, got {dtype!r}", line)
        count = _whole(base["count"], "count", line) if "count" in base else None
        return RawRow(
            line, _whole(base["size"], "size", line), count, dtype, _redop(base, line), _root(base, line), (first, last)
        )

    def _tokens(self, line: Line) -> tuple[list[str], bool]:
        """What stands in the columns, and whether the first half is empty. A redop that was printed as "" gets its place back."""
        tokens = line.text.split()
        if self.stamped:
            stamp, tokens = " ".join(tokens[-2:]), tokens[:-2]
            if not _STAMP.fullmatch(stamp):
                raise TableError(f"a row ends with its timestamp, 2026-11-23 14:00:00, got {stamp!r}", line)
        if self.chosen and len(tokens) == self.wanted + len(CHOSEN):
            tokens = tokens[: self.wanted]
        if "redop" in self.base and len(tokens) > 3 and (_ROOT.fullmatch(tokens[3]) or printed(tokens[3])):
            tokens.insert(3, "none")
        gap = re.match(rf"\s*(?:\S+\s+){{{len(self.base) - 1}}}\S+ {{{_EMPTY_HALF},}}\S", line.text)
        if len(tokens) == self.wanted - len(self.half) and self.halves == 2 and gap:
            return tokens, True
        if len(tokens) != self.wanted:
            raise TableError(f"{self.told}, got {len(tokens)}", line)
        return tokens, False

    def _half(self, tokens: list[str], line: Line) -> Numbers:
        told = dict(zip(self.half, tokens, strict=True))
        for name in SPREAD if SPREAD[0] in told else ():
            _number(told[name], name, line)
        return Numbers(
            _number(tokens[0], self.half[0], line),
            _number(told["algbw"], "algbw", line),
            _number(told["busbw"], "busbw", line),
            _check(told, "#wrong", line),
            _check(told, "error", line),
        )


def columns_of(said: str, line: Line) -> Columns | None:
    """The columns that this line names; None where it is no such line, TableError where it names them in no order that is known."""
    names = [
        "#wrong" if name == "wrong" else name for name in said.split()
    ]  # as a page shows it that takes # for a mark of its own
    if not names or names[0] != "size" or not {"algbw", "busbw"} <= set(names):
        return None
    stamped = names[-1] == "timestamp"
    names = names[:-1] if stamped else names
    chosen = tuple(names[-len(CHOSEN) :]) == CHOSEN
    names = names[: -len(CHOSEN)] if chosen else names
    starts = [at for at, name in enumerate(names) if name in CLOCKS] + [len(names)]
    halves = [tuple(names[start:end]) for start, end in pairwise(starts)]
    base = tuple(names[: starts[0]])
    known = base == tuple(name for name in BASE if name in base) and base[1:2] in ((), ("count",))
    if not (known and len(halves) in (1, 2) and len(set(halves)) == 1 and _half_is_known(halves[0])):
        raise TableError("columns that no version of nccl-tests from 2.4 to 2.19 has", line)
    return Columns(base, halves[0], len(halves), stamped, chosen)


def _half_is_known(half: tuple[str, ...]) -> bool:
    check = half[3:4] if half[3:4] and half[3] in CHECKS else ()
    rest = half[3 + len(check) :]
    return half[0] in CLOCKS and half[1:3] == ("algbw", "busbw") and rest in ((), SPREAD)


def units_are_known(said: str, line: Line) -> bool:
    """Whether this is the line of units under the names; TableError where it has others: a time in ms would be read as µs."""
    tokens = said.split()
    if not tokens or tokens[0] != "(B)":
        return False
    other = [token for token in tokens if token not in UNITS]
    if other:
        raise TableError(f"units that nccl-tests does not print: {', '.join(other)}", line)
    return True


def _number(text: str, what: str, line: Line) -> Printed:
    number = printed(text)
    if number is None:
        raise TableError(f"{what} is a number that is not negative, got {text!r}", line)
    return number


def _whole(text: str, what: str, line: Line) -> int:
    if not _WHOLE.fullmatch(text):
        raise TableError(f"{what} is a whole number of at most {DIGITS} digits, got {text!r}", line)
    return int(text)


def _check(told: dict[str, str], name: str, line: Line) -> float | None:
    """How many are wrong, or by how much: a whole number where it is printed as one. None: N/A, or no such column."""
    text = told.get(name, "N/A")
    if text == "N/A":
        return None
    value = _number(text, name, line).value
    if name == "#wrong" and value != int(value):
        raise TableError(f"#wrong counts elements, got {text!r}", line)
    return int(text) if name == "#wrong" and text.isdigit() else value


def _redop(base: dict[str, str], line: Line) -> str | None:
    text = base.get("redop", "none")
    if text != "none" and text not in REDOPS:
        raise TableError(f"redop is one of {', '.join(REDOPS)} or none, got {text!r}", line)
    return None if text == "none" else text


def _root(base: dict[str, str], line: Line) -> int | None:
    text = base.get("root")
    if text is None:
        return None
    if not _ROOT.fullmatch(text):
        raise TableError(f"root is a rank, or -1 where there is none, got {text!r}", line)
    return int(text)
