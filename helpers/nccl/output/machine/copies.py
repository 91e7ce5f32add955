"""Reads what copies between GPUs, and between GPUs and the host, reach: p2pBandwidthLatencyTest and nvbandwidth. Chapter: interconnects.

After cuda-samples c94ff366 (2025-09: p2pBandwidthLatencyTest.cu) and nvbandwidth 0.8 (66746a3, 2025-04: output.cpp, inline_common.h,
json_output.cpp; the lists of tests in testcase.h). GB/s are 1e9 bytes per second. Of a bidirectional test the first sums both ways, and
nvbandwidth tells the one that it measured, but for those it calls total.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from helpers.nccl.output.machine.grids import Grid, grid
from helpers.nccl.output.tables.cleaned import Line, cleaned
from helpers.nccl.output.tables.errors import MachineError, NoTable
from helpers.plain_json import TooDeep, read_json

SIGN = re.compile(
    r"Bandwidth Latency Test\]|P2P Connectivity Matrix|P2P=(?:En|Dis)abled (?:Bandwidth|Latency)|nvbandwidth Version|"
    r"memcpy (?:CE|SM) (?:CPU|GPU)\(row\)|^SUM \w+_(?:ce|sm) ",
    re.MULTILINE,
)
_P2P = re.compile(r"(P2P Connectivity) Matrix|(?:(Uni|Bi)directional )?P2P=(En|Dis)abled (Bandwidth|Latency)", re.ASCII)
_RUNNING = re.compile(r"Running (\w+)\.", re.ASCII)
_ROWS = re.compile(r"(?:memcpy (?:CE|SM)|memory latency .*?) ([CG]PU)\(row\) (<->|<-|->) [CG]PU\(column\)", re.ASCII)
_BY_ARROW = {  # where the line "Running ..." was left out
    ("GPU", "->"): "device_to_device_memcpy_read_ce",
    ("GPU", "<-"): "device_to_device_memcpy_write_ce",
    ("CPU", "->"): "host_to_device_memcpy_ce",
    ("CPU", "<-"): "device_to_host_memcpy_ce",
}
_DEVICE = re.compile(
    r"Device:? *\d{1,12}[:,] *([^,(]+?) *(?:, pciBusID|\([\da-f]+:)|^\d{1,12}[:,] *([^,(]+?) *(?:, pciBusID|\([\da-f]+:)",
    re.ASCII,
)
_CANNOT = re.compile(r"Device=(\d{1,12}) CANNOT Access Peer Device=(\d{1,12})", re.ASCII)
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,12})?", re.ASCII)


class Copies(NamedTuple):
    """One table. test: "p2p access", "p2p off", "p2p on", "both off", "both on", "latency off", "latency on", or nvbandwidth's name.

    values: by row and column, as printed, in the tool's unit (GB/s, us; 1 or 0 for access); those that are N/A are not here.
    """

    test: str
    values: Mapping[tuple[str, str], float]

    def between(self) -> dict[tuple[str, str], float]:
        """Without the diagonal, where a GPU copies to itself."""
        return {pair: value for pair, value in self.values.items() if pair[0] != pair[1]}


class Copied(NamedTuple):
    """tables: in order. gpus: the names of the devices, as CUDA calls them. closed: pairs that the sample says cannot reach each other.

    cut: whether a table behind the first ends within its rows, of which only the whole cells are here.
    """

    tables: tuple[Copies, ...]
    gpus: tuple[str, ...]
    closed: tuple[tuple[str, str], ...]
    cut: bool = False

    def of(self, *tests: str) -> Copies | None:
        """The first of these tests that is there."""
        return next((one for test in tests for one in self.tables if one.test == test), None)


def parse_copies(text: str) -> Copied:
    """NoTable where only words of these tools stand, MachineError for a table that is damaged."""
    lines = list(cleaned(text))
    found: list[Copies] = []
    running, cut = "", False
    for at, line in enumerate(lines):
        running = told[1] if (told := _RUNNING.search(line.text)) else running
        test = _test(line.text, running)
        start = _head(lines, at) if test else None
        if test and start:
            rows, columns = start
            begun = _begun(lines[rows:], columns, test in _SQUARE)
            cut = cut or begun is not None
            table = begun or grid(lines, rows, line.text.strip(), columns, test in _SQUARE)
            found += [_copies(test, table, line)] if table.rows else []
    closed = tuple((hit[1], hit[2]) for hit in _CANNOT.finditer(text))
    if not found and not closed:
        raise NoTable(
            "words of p2pBandwidthLatencyTest or nvbandwidth, and no table of theirs: a SUM is over all pairs and tells of none"
        )
    names = [hit[1] or hit[2] for line in lines if (hit := _DEVICE.search(line.text))]
    return Copied(tuple(found), tuple(names), closed, cut)


def parse_copies_json(text: str) -> Copied:
    """`nvbandwidth -j`."""
    try:
        told = read_json(text)["nvbandwidth"]
        cases: Sequence[Mapping[str, Any]] = [one for one in told["testcases"] if one.get("bandwidth_matrix")]
        found = tuple(Copies(str(one["name"]), _matrix(one["bandwidth_matrix"])) for one in cases)
        names = tuple(str(one).split(": ")[1].rsplit(" (", 1)[0] for one in told.get("GPU Device list", ()))
    except (TooDeep, json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise MachineError(
            "nvbandwidth -j prints an object nvbandwidth with testcases, each with its bandwidth_matrix"
        ) from None
    if not found:
        raise NoTable("the JSON of nvbandwidth has no test that ran")
    return Copied(found, names, ())


_SQUARE = ("p2p access", "p2p off", "p2p on", "both off", "both on", "latency off", "latency on")


def _test(text: str, running: str) -> str:
    if named := _P2P.search(text):
        what = "access" if named[1] else "on" if named[3] == "En" else "off"
        return f"{'p2p' if named[1] or named[2] == 'Uni' else 'latency' if named[4] == 'Latency' else 'both'} {what}"
    rows = _ROWS.search(text)
    return running or _BY_ARROW.get((rows[1], rows[2]), "copies") if rows else ""


def _head(lines: Sequence[Line], at: int) -> tuple[int, list[str]] | None:
    """Where the rows begin, and the columns' names: whole numbers, perhaps behind a corner."""
    for place in range(at + 1, min(at + 4, len(lines))):
        words = lines[place].text.split()
        names = words[1:] if words[:1] in (["D\\D"], ["GPU"]) else words
        if names and all(name.isascii() and name.isdigit() for name in names):
            return place + 1, names
    return None


def _begun(lines: Sequence[Line], columns: Sequence[str], square: bool) -> Grid | None:
    """The whole cells of a table that ends within its rows; None where it is whole, or damaged."""
    rows = list(takewhile(lambda words: words and words[0] in columns, (line.text.split() for line in lines)))
    *before, last = rows or [[]]
    wide = len(columns) + 1
    names = [row[0] for row in rows]
    if names != list(columns[: len(names)]) or any(len(row) != wide for row in before) or len(last) > wide:
        return None
    torn = len(rows) == len(lines) and _digits(last[-1:]) < _digits([cell for row in rows for cell in row[1:]])
    if len(last) == wide and (not square or len(rows) == len(columns)) and not torn:
        return None
    cells = {row[0]: (*row[1:], *["N/A"] * (wide - len(row))) for row in (*before, last[:-1]) if row}
    return Grid("", lines[0], tuple(columns), cells) if lines else None


def _digits(cells: Sequence[str]) -> int:
    """The most behind a point."""
    return max((len(cell.partition(".")[2]) for cell in cells if cell != "N/A"), default=0)


def _copies(test: str, table: Grid, line: Line) -> Copies:
    values: dict[tuple[str, str], float] = {}
    for row, cells in table.rows.items():
        for column, cell in zip(table.columns, cells, strict=True):
            if not _NUMBER.fullmatch(cell) and cell != "N/A":
                raise MachineError(f"in this table stand numbers or N/A, got {cell!r}", line)
            values |= {(row, column): float(cell)} if cell != "N/A" else {}
    return Copies(test, values)


def _matrix(rows: Sequence[Sequence[str]]) -> dict[tuple[str, str], float]:
    return {
        (str(at), str(to)): float(cell) for at, row in enumerate(rows) for to, cell in enumerate(row) if cell != "N/A"
    }
