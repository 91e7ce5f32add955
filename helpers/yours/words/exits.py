"""How the processes of a job ended, as torchrun's table, its log and other launchers tell: who was first, and by what. Chapter: yours."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from helpers.plain_file import text_of

_ROW = re.compile(  # one failure of torchrun's table; what stands between the fields may be a launcher's prefix
    r"time *: *(?P<time>\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d)(?P<between>.{0,400}?)"
    r"\brank *: *(?P<rank>\d{1,7}) \(local_rank: (?P<local>\d{1,5})\).{0,200}?"
    r"exitcode *: *(?P<code>-?\d{1,4}) \(pid: (?P<pid>\d{1,10})\)",
    re.ASCII | re.DOTALL,
)
_HOST = re.compile(r"host *: *(\S+)")
_PADDING = re.compile(r"[ \t]{3,}")  # to a terminal's width
_ROOT = re.compile(r"Root Cause \(first observed failure\)")
_RULE = re.compile(r"-{20}|={20}|\brank *:")  # below the root cause alone stands one of "="
_LOGGED = re.compile(  # torch.distributed.elastic's line, of a program ("of binary") and of a function
    r"failed \(exitcode: (?P<code>-?\d{1,4})\) local_rank: (?P<local>\d{1,5}) \(pid: (?P<pid>\d{1,10})\)", re.ASCII
)
_OUTSIDE = re.compile(r"SignalException: Process (?P<pid>\d{1,10}) got signal: (?P<code>\d{1,2})", re.ASCII)
_FORCED = re.compile(
    r"Unable to shutdown process (\d{1,10}) via \S{1,20}, forcefully exiting via (?:9|\S*SIGKILL)", re.ASCII
)
NAMES = {
    1: "SIGHUP",
    2: "SIGINT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
}
_SIGNALS = {name.removeprefix("SIG"): number for number, name in NAMES.items()} | {
    "Killed": 9,
    "Out Of Memory": 9,
    "Aborted": 6,
    "Bus error": 7,
    "Segmentation fault": 11,
    "Terminated": 15,
}
_SHELL = 128  # and a signal's number: how a shell tells of it
TERMINATED = (-15, -2, -1)


@dataclass(frozen=True)
class Ended:
    """One process that ended. code: below 0 for a signal. rank: of all; local: on its host; None where not told. root: torchrun's choice.

    by: who tells it. forced: its launcher killed it because it did not end when asked. at: where in the paste.
    """

    at: int
    code: int
    by: str
    rank: int | None = None
    local: int | None = None
    pid: int | None = None
    host: str = ""
    time: str = ""
    root: bool = False
    forced: bool = False

    @property
    def follows(self) -> bool:
        """Whether others ended it, so that it says nothing of the cause."""
        return self.forced or self.code in TERMINATED


@cache
def table() -> dict[str, Any]:
    """exits.toml, its words compiled."""
    read: dict[str, Any] = tomllib.loads(text_of(Path(__file__).with_name("exits.toml")))
    for entry in (*read["ways"], *read["full"]):
        entry["words"] = re.compile(entry["words"], re.MULTILINE | re.ASCII)
    return read


KEYS = tuple(table()["keys"])


def ends(paste: str) -> list[Ended]:
    """Every end that is told, the first in time first: by torchrun's clock, then its word for the first, then the order of the lines.

    The same process is told once, in the fullest words: a row of the table, then elastic's line, then other launchers'.
    """
    paste = _PADDING.sub("  ", paste)
    forced = {int(pid) for pid in _FORCED.findall(paste)}
    told = [*_rows(paste, forced), *_logged(paste, forced), *_outside(paste), *_others(paste)] or list(_full(paste))
    rows = {one.pid for one in told if one.time}
    kept = [one for one in told if one.time or one.pid is None or one.pid not in rows]
    if any(one.by in ("torchrun", "SignalException") for one in kept):
        kept = [one for one in kept if one.by != "the launcher"]  # which only hands on what torchrun said
    return sorted(kept, key=lambda one: (one.follows, one.time or "~", not one.root, one.at))


def _rows(paste: str, forced: set[int]) -> Iterator[Ended]:
    roots = [found.end() for found in _ROOT.finditer(paste)]
    rows = list(_ROW.finditer(paste))
    first = {next((row.start() for row in rows if row.start() >= root), -1) for root in roots}
    first |= {row.start() for row in rows if (rule := _RULE.search(paste, row.end())) and rule[0][0] == "="}
    for row in rows:
        host = _HOST.search(row["between"])
        pid = int(row["pid"])
        yield Ended(
            at=row.start(),
            code=_code(int(row["code"])),
            by="torchrun",
            rank=int(row["rank"]),
            local=int(row["local"]),
            pid=pid,
            host=host[1] if host else "",
            time=row["time"],
            root=row.start() in first,
            forced=pid in forced,
        )


def _logged(paste: str, forced: set[int]) -> Iterator[Ended]:
    for found in _LOGGED.finditer(paste):
        pid = int(found["pid"])
        code = _code(int(found["code"]))
        yield Ended(found.start(), code, "torchrun", local=int(found["local"]), pid=pid, forced=pid in forced)


def _outside(paste: str) -> Iterator[Ended]:
    """torchrun itself was told to end."""
    for found in _OUTSIDE.finditer(paste):
        yield Ended(found.start(), -int(found["code"]), "SignalException", pid=int(found["pid"]))


def _others(paste: str) -> Iterator[Ended]:
    for way in table()["ways"]:
        for found in way["words"].finditer(paste):
            told = found.groupdict()
            code = -_SIGNALS.get(told["signal"], 0) if told.get("signal") else int(told["code"])
            code = -code if way["name"] == "mpirun" else code
            rank, pid = told.get("rank"), told.get("pid")
            if code:
                yield Ended(
                    at=found.start(),
                    code=_code(code),
                    by=way["name"],
                    rank=int(rank) if rank else None,
                    pid=int(pid) if pid else None,
                    host=told.get("host") or "",
                )


def _full(paste: str) -> Iterator[Ended]:
    """Killed for want of memory, as the kernel or a scheduler tells, and nobody else."""
    for entry in table()["full"]:
        for found in entry["words"].finditer(paste):
            pid = found.groupdict().get("pid")
            yield Ended(found.start(), -9, entry["who"].split(",")[0], pid=int(pid) if pid else None)


def _code(code: int) -> int:
    """137 of a shell is -9."""
    return _SHELL - code if _SHELL < code <= _SHELL + 64 else code
