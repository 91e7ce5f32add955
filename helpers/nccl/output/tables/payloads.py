"""The tables that torch scripts print after nccl-tests' example: payload, busbw, algbw, no times. Chapter: benchmarking.

The layout is that of all_reduce_bench.py in github.com/stas00/ml-engineering (network/benchmarks), whose 4xH100 and 8xH200 tables
stand in recorded/public. torch's all_reduce works in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.errors import TableError
from helpers.nccl.output.tables.fits import Numbers, RawRow
from helpers.nccl.output.tables.header import Facts, program_of
from helpers.nccl.output.tables.printed import Printed, printed
from helpers.nccl.output.tables.tables import NcclTable, Rows
from helpers.units import parse_nbytes

_COLUMNS = ["payload", "busbw", "algbw"]
_SIZE = re.compile(r"\d{1,6}(?:KiB|MiB|GiB|B)", re.ASCII)
_OVER = re.compile(r"average bandwidth of (\w+) over (\d{1,6}) ranks", re.ASCII)
_NCCL = re.compile(r"\bnccl=\((\d{1,3}), (\d{1,3}), (\d{1,3})\)", re.ASCII)


def payloads(lines: Iterable[Line]) -> tuple[NcclTable, ...]:
    """Every such table; none where there is none."""
    done: list[NcclTable] = []
    facts, rows = Facts(), None
    for line in lines:
        cells = [cell.strip() for cell in line.text.strip().strip("|").split("|")]
        if cells == _COLUMNS:
            rows = Rows(line, ("size", "algbw", "busbw"), facts)
        elif rows is None and len(cells) == len(_COLUMNS) and _SIZE.fullmatch(cells[0]) and cells[2].endswith("GBps"):
            raise TableError("a row, but no line above names its columns: payload, busbw, algbw", line)
        elif rows and (len(cells) >= 2 or line.text.strip().startswith("|")):
            if not all(set(cell) <= set(":- ") for cell in cells):
                rows.add(_row(cells, line))
        elif rows:
            done, facts, rows = [*done, rows.table()], Facts(), None
        else:
            _said(facts, line)
    return (*done, rows.table()) if rows else tuple(done)


def _said(facts: Facts, line: Line) -> None:
    """What was run, over how many ranks, and with which NCCL."""
    if found := _OVER.search(line.text):
        facts.program, facts.ranks = program_of(found[1], line), int(found[2])
    if found := _NCCL.search(line.text):
        facts.nccl = ".".join(found.groups())


def _row(cells: list[str], line: Line) -> RawRow:
    if len(cells) != len(_COLUMNS) or not _SIZE.fullmatch(cells[0]):
        raise TableError("a row reads like: | 32KiB | 1.44GBps | 0.82GBps |, sizes in powers of 1024", line)
    bus, alg = (_rate(cell, line) for cell in cells[1:])
    return RawRow(line, parse_nbytes(cells[0]), None, None, None, None, (None, Numbers(None, alg, bus, None, None)))


def _rate(cell: str, line: Line) -> Printed:
    number = printed(cell.removesuffix("GBps")) if cell.endswith("GBps") else None
    if number is None:
        raise TableError(f"a bandwidth reads like 1.44GBps, got {cell!r}", line)
    return number
