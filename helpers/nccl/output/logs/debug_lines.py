"""From the lines of NCCL_DEBUG=INFO to rows: one line at a time, each whole or not at all. Chapters: inside-nccl, choosing."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from helpers.nccl.output.logs.debug_comms import Torn
from helpers.nccl.output.logs.debug_makers import MAKERS, Rows
from helpers.nccl.output.logs.debug_rows import Damaged, Origin, RingLine
from helpers.nccl.output.logs.debug_shapes import CLOCK, CLOSED, LEVEL, LONGEST_ORIGIN, ORIGIN, PLACE, which
from helpers.nccl.output.tables.cleaned import bare

CUT_NUMBERS = 1000  # before 2.23 a ring line has room for three digits a rank
_BARE = re.compile(  # lines that stand without "NCCL INFO", perhaps behind a launcher's prefix
    r"(?:[NR]CCL version(?: :)? \d|Channel \d+(?:/\d+)? : \d+\[|Channel \d+/\d+ : +\d+ |Trees \[\d+\] -?\d).*"
)


class DebugLogError(ValueError):
    """Not a log of NCCL, or one that cannot be read as asked."""


class Reader(Rows):
    """Rows as they come, line by line. seen: whether any line was NCCL's; unread: how many of them are of no kind known here."""

    def __init__(self) -> None:
        super().__init__()
        self.seen, self.unread = False, 0
        self.hosts = set[str]()
        self._origins: dict[str, Origin] = {}  # a log has thousands of lines of each thread
        self.damaged: list[Damaged] = []

    def read(self, number: int, text: str, ended: bool = True) -> None:
        """One line of the text. Where two processes wrote into one line, only the last of them has come to its end.

        ended: NCCL ends every line; the last one of a text that does not may be cut in the middle of a number.
        """
        levels = list(LEVEL.finditer(text))
        if not levels:
            if _BARE.search(text) and (told := _BARE.fullmatch(bare(text).strip())):
                self.seen = True
                self._message(number, Origin(), told[0], ended)
            return
        self.seen = True
        for level, later in pairwise(levels):
            torn = text[level.start() : later.start()]
            self.damaged.append(Damaged(number, torn, "another process has written into this line"))
        last, before = levels[-1], levels[-2].end() if len(levels) > 1 else 0
        message = text[last.end() :].rstrip()
        if last["level"] != "INFO":
            (self.warnings if last["level"] == "WARN" else self.notices)[number] = message
            if place := PLACE.search(text[: last.start()]):
                self.places[number] = place[1]
        front = text[max(before, last.start() - LONGEST_ORIGIN) : last.start()]
        self._message(number, self._origin(front, torn=before > 0), message, ended)

    def _origin(self, front: str, torn: bool) -> Origin:
        if not torn and front in self._origins:
            return self._origins[front]
        if (found := ORIGIN.search(front)) is None:
            return Origin()
        device, pid, thread = int(found["device"]), _number(found["pid"]), _number(found["thread"])
        if pid is None or thread is None:  # the launcher's "[rank3]: " may still tell the ranks apart
            return Origin(
                found["host"] or None, pid, thread, device, CLOCK.sub("", front[: -len(found["place"] or "") or None])
            )
        torn |= " [" in front[: found.start()]
        made = Origin(self._host(found["host"], torn), pid, thread, device)
        if not torn:
            self._origins[front] = made
        return made

    def _host(self, host: str, torn: bool) -> str:
        """Behind a torn line the host may have the end of that line before it: "53node7" is node7 where such a host is known."""
        if not torn:
            self.hosts.add(host)
            return host
        return max((known for known in self.hosts if host.endswith(known)), key=len, default=host)

    def _message(self, number: int, origin: Origin, text: str, ended: bool) -> None:
        if (shape := which(text)) is None:
            self.unread += 1
            return
        try:
            if not ended and not CLOSED.search(text):
                raise Torn("the text ends in this line, without a newline")
            if (found := shape.whole.fullmatch(text)) is None:
                raise Torn(f"a line of this kind ({shape.kind}) does not end or go on so")
            MAKERS[shape.kind](self, number, origin, found)
        except Torn as error:
            self.damaged.append(Damaged(number, text, str(error)))

    def finish(self) -> None:
        """Names the communicators of lines that came before theirs, and takes back what does not fit them."""
        self.rings = self._kept(self.rings, lambda row: max(row.ranks))
        self.trees = self._kept(self.trees, lambda row: max(row.rank, row.parent or 0, *row.children, 0))
        self.connections = self._kept(self.connections, lambda row: max(row.src, row.dst))

    def _kept(self, rows: list[Any], highest: Callable[[Any], int]) -> list[Any]:
        kept = []
        for row in rows:
            comm, nranks = self.comms.of(row.line)
            if nranks is None:
                kept.append(row)
            elif highest(row) >= nranks:
                self.damaged.append(Damaged(row.line, str(row), f"its communicator has {nranks} ranks"))
            elif isinstance(row, RingLine) and not _fits(row, nranks, row.line in self.dotted):
                self.damaged.append(Damaged(row.line, str(row), f"not a ring of {nranks} ranks"))
            else:
                full = {"whole": len(row.ranks) == nranks} if isinstance(row, RingLine) else {}
                kept.append(row._replace(comm=comm, **full))
        return kept


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) <= 10 else None


def _fits(ring: RingLine, nranks: int, dotted: bool) -> bool:
    """Whole, or as short as NCCL itself makes it."""
    if ring.whole or len(ring.ranks) >= nranks:
        return len(ring.ranks) == nranks and not dotted
    return dotted or nranks <= CUT_NUMBERS
