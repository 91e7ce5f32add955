"""The lines of a table, without those of a log that began within them. Chapter: benchmarking."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from helpers.nccl.output.tables.cleaned import Line
from helpers.nccl.output.tables.fits import WORD

CUT, LOG = "cut", "log"
TYPES = "|".join(sorted(WORD, key=len, reverse=True))
BEGINS = re.compile(rf"\s*\d[\d_]*\s+\d+\s+(?:{TYPES})(?![\w.])", re.ASCII)
_HOST = re.compile(r"\s*(?:\[[^\[\]]{1,40}\] ?)?([\w.-]+):\d+:\d+ \[|.*\bPid +\d+ +on +(\S+) +device", re.ASCII)
_COMPARED = 64  # hosts of which every two are
_LOG = re.compile(r":\d+:\d+ \[|\[rank\d+\]:|\[?[EFIW]\d{4} \d\d:\d\d:|NCCL version \d", re.ASCII)
_MARK = re.compile(r"(?:\[[^\[\]]{1,40}\](?:<std\w+>:)? ?)?\Z")  # a clock, or mpirun's mark of a process
_INNER = re.compile(r"(?<=[\d.])\[\d+(?:,\d+)?\](?:<std\w+>:)?(?=\s)", re.ASCII)


def unmarked(line: Line) -> Line:
    """A row without the marks that a launcher put before each of its writes: ... -1[0] 1626.5 ..."""
    if "[" not in line.text or not BEGINS.match(line.text):
        return line
    return line._replace(text=_INNER.sub("", line.text))


def apart(lines: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """Every line, and what it is: CUT where a line of a log followed it without a break, that LOG as a line of its own, or "".

    A line of the head that was cut is put together with what follows the log.
    """
    held: Line | None = None
    for line, mark in _cut(lines):
        if mark == LOG or not line.text.strip():
            yield line, mark
            continue
        if held and (line.text.lstrip().startswith("#") or BEGINS.match(line.text)):
            yield held, ""
        elif held:
            line = line._replace(number=held.number, text=held.text + line.text)
        held = line if mark == CUT and line.text.lstrip().startswith("#") else None
        if held is None:
            yield line, mark
    if held:
        yield held, ""


def _cut(lines: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    hosts = {found[1] or found[2] for line in lines if (found := _HOST.match(line.text))}
    if len(hosts) <= _COMPARED:  # a piece of a row or of a head before a host is no part of its name
        hosts = {host for host in hosts if not any(host != other and host.endswith(other) for other in hosts)}
    widths = sorted({len(host) for host in hosts}, reverse=True)
    for line in lines:
        at = _log_begins(line.text, hosts, widths)
        if at and line.text[:at].strip():
            yield line._replace(text=line.text[:at]), CUT
        yield line._replace(text=line.text[at:]) if at else line, "" if at is None else LOG


def _log_begins(text: str, hosts: Collection[str], widths: Sequence[int]) -> int | None:
    """Where a line of NCCL's or torch's begins within a line, with its clock; None where none does."""
    found = _LOG.search(text)
    at = found.start() if found else None
    if at is not None and text[at] == ":":
        begun = at
        width = next((width for width in widths if width <= begun and text[begun - width : begun] in hosts), None)
        at = None if width is None else at - width
    return at and at - len(_MARK.search(text[:at])[0])  # type: ignore[index]  # it fits every text
