"""What torch's watchdogs write when a collective takes too long, of 1.9 to 2.15: operation, number, counts, group, rank. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from helpers.yours.words.said import rank_at

KEYS = ("WorkNCCL(", "ast enqueued", "operation timeout", "Operation timed out after", "NCCL operation timed out")
WORK = re.compile(  # torch 1.9 has no number, up to 2.0 the shape stands in it, from 2.1 on the elements
    r"WorkNCCL\((?:SeqNum=(?P<number>\d{1,12}),\s+)?OpType=(?P<op>\w{1,40})(?:,\s+TensorShape=\[(?P<shape>[\d, ]*)\])?"
    r"(?:,\s+NumelIn=(?P<sent>\d{1,20}))?(?:,\s+NumelOut=\d{1,20})?,\s+Timeout\(ms\)=(?P<limit>\d{1,12})\)"
    r"(?:\s+ran\s+for\s+(?P<ran>\d{1,12})\s+milliseconds)?",
    re.ASCII,
)
COUNTS = re.compile(  # "last enqueued NCCL work" in 2.2 to 2.4 and in the lines of a dump signal
    r"[Ll]ast\s+enqueued\s+(?:NCCL\s+)?work:\s+(?P<enqueued>-?\d{1,20})(?:,\s+last\s+started\s+(?:NCCL\s+)?work:\s+-?\d{1,20})?"
    r",\s+last\s+completed\s+(?:NCCL\s+)?work:\s+(?P<completed>-?\d{1,20})",
    re.ASCII,
)
NEW = re.compile(  # torch 2.15's nccl, and torchcomms: no operation, no number, also in what wait() raises
    r"(?:\[TC\])?(?:\[rank=(?P<rank>\d{1,7})\])?(?:\[name=(?P<name>[^\]\n]{0,80})\])?[^\n]{0,80}?"
    r"(?:watchdog detected operation timeout|Operation timed out after (?P<limit>\d{1,12}) ?ms|NCCL operation timed out)",
    re.ASCII,
)
_GROUP = re.compile(
    r"\[PG (?:ID )?(?P<id>\d{1,7})(?: PG GUID (?P<guid>[^\s(\]]{1,60}))?(?: ?\((?P<name>[^)\]]{0,80})\))? Rank (?P<rank>\d{1,7})\]"
)
_NONE = str(2**64 - 1)  # what coalesced calls tell of their size
_CLOCK = re.compile(r"\[[EWF](\d{3,4}) (\d\d:\d\d:\d\d)")
_FRONT = 600  # letters of a line before the counts
_AT = re.compile(r"(?:at work sequence id|detected by watchdog at work|Timeout at NCCL work): (\d{1,12})")


@dataclass(frozen=True)
class Work:
    """A collective that took too long. number: of its group's calls, from 1 on, None before torch 1.13. sent: elements, or a shape.

    limit, ran: milliseconds. clock: "1206 18:44:16", month, day and time of its line, "" before torch 2.3. group: "" where no line of the
    same rank tells it.
    """

    rank: int | None
    group: str
    number: int | None
    op: str
    sent: str
    limit: int
    ran: int | None
    clock: str

    def __str__(self) -> str:
        return f"{self.op}{f' #{self.number}' if self.number is not None else ''}"


@dataclass(frozen=True)
class Counts:
    """How far one rank is in one group: the number of the last call that its CPU has enqueued, and of the last that has completed.

    at: the call that its line is about. sure: whether the group's name is the same on all its ranks, and no other's.
    """

    rank: int | None
    group: str
    enqueued: int
    completed: int
    at: int | None
    sure: bool

    @property
    def sane(self) -> bool:
        """torch 2.3 and 2.4 print memory that was never set for "completed"; calls that were coalesced count more than once."""
        return -1 <= self.completed <= self.enqueued

    @property
    def next(self) -> int:
        """The call after the last that has completed; numbers begin at 1, and before it "completed" is -1 or 0."""
        return max(self.completed, 0) + 1

    @property
    def waits(self) -> bool:
        """Whether something is under way."""
        return self.sane and self.enqueued > self.completed


def counts(paste: str) -> list[Counts]:
    """One for each rank and group, the last that it wrote."""
    found: dict[tuple[int | None, str], Counts] = {}
    for one in COUNTS.finditer(paste):
        begin = max(paste.rfind("\n", 0, one.start()) + 1, one.start() - _FRONT)
        groups = list(_GROUP.finditer(paste, begin, one.start()))
        at = list(_AT.finditer(paste, begin, one.start()))
        rank = rank_at(paste, groups[-1].start() if groups else one.start())
        group, sure = _name(groups[-1] if groups else None)
        row = Counts(rank, group, int(one["enqueued"]), int(one["completed"]), int(at[-1][1]) if at else None, sure)
        before = found.get((row.rank, row.group))
        found[row.rank, row.group] = row if before is None or row.at is not None or before.at is None else before
    return list(found.values())


def works(paste: str, told: list[Counts]) -> list[Work]:
    """Each once for each rank; its group by the line in which the same rank tells the same number."""
    found: dict[tuple[int | None, str | None, str], Work] = {}
    for one in WORK.finditer(paste):
        rank = rank_at(paste, one.start())
        number = None if one["number"] is None else int(one["number"])
        group = next((row.group for row in told if row.rank == rank and number is not None and row.at == number), "")
        sent = (one["sent"] or one["shape"] or "").replace(_NONE, "")
        ran = None if one["ran"] is None else int(one["ran"])
        clock = [*_CLOCK.finditer(paste, max(0, one.start() - _FRONT), one.start())]
        when = (
            f"{clock[-1][1]:0>4} {clock[-1][2]}" if clock and "\n" not in paste[clock[-1].end() : one.start()] else ""
        )
        work = Work(rank, group, number, one["op"], sent, int(one["limit"]), ran, when)
        key = (rank, one["number"], one["op"])
        found[key] = found[key] if key in found and ran is None else work
    return _in_groups(list(found.values()), told)


def _in_groups(late: list[Work], told: list[Counts]) -> list[Work]:
    """Of a rank without counts: the group of those that wait in the same call, of the same number and size, where they name only one."""
    ranks, sure = {row.rank for row in told}, {row.group for row in told if row.sure}
    named: dict[tuple[object, ...], set[str]] = {}
    for one in late:
        named.setdefault((one.number, one.op, one.sent), set()).update({one.group} & sure)
    groups = [named[one.number, one.op, one.sent] for one in late]
    return [
        replace(one, group=next(iter(group))) if one.rank not in ranks and one.sent and len(group) == 1 else one
        for one, group in zip(late, groups, strict=True)
    ]


def timed_out(paste: str) -> Iterator[tuple[int | None, str, int | None]]:
    """(rank, name of the communicator, ms) of torch 2.15's lines."""
    for one in NEW.finditer(paste):
        rank = int(one["rank"]) if one["rank"] else rank_at(paste, one.start())
        yield rank, one["name"] or "", int(one["limit"]) if one["limit"] else None


def _name(found: re.Match[str] | None) -> tuple[str, bool]:
    """The group's name, and whether it is the same everywhere: its ID counts the groups of one rank, so that only 0 is."""
    if found is None:
        return "", False
    number = found["guid"] or found["id"]
    return f"{number} ({found['name']})" if found["name"] else number, found["guid"] is not None or found["id"] == "0"
