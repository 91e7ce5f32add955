"""Which Python exception a rank ended in, and whether it only tells that another rank had gone. Chapter: yours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from helpers.nccl.output.tables.cleaned import cleaned
from helpers.yours.words.said import rank_at

_ENDINGS = re.compile(r"(?:Error|Exception|Interrupt)\b")
_LINE = re.compile(r"(.{0,80}?)\b((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt))(?:: (.{0,900}).*)?$")
_LAUNCHERS = (
    "ChildFailedError",
    "SignalException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "CalledProcessError",
)
_GONE = re.compile(  # what a rank says when a peer, or the store on rank 0, went away or never came
    r"by peer|[Bb]roken pipe|[Cc]onnection (?:reset|refused|closed)|remote process exited|DistNetworkError|DistStoreError"
    r"|[Tt]imed? ?out|timeout|recvValue failed|NCCL communicator was aborted|ncclRemoteError|failed to recv|process group watchdog",
)


class Raised(NamedTuple):
    """at: where in the paste. rank: that raised it, None where no prefix tells. name: without its module. said: its message."""

    at: int
    rank: int | None
    name: str
    said: str

    @property
    def follows(self) -> bool:
        """Whether it tells of another rank's end, or of one that did not come."""
        return bool(_GONE.search(f"{self.name}: {self.said}"))

    def __str__(self) -> str:
        return f"{self.name}: {self.said[:160]}" if self.said else self.name


def raised(paste: str) -> Iterator[Raised]:
    """Every last line of a traceback; those of launchers, which only repeat an end, are left out."""
    seen = -1
    for ending in _ENDINGS.finditer(paste):
        begin, end = paste.rfind("\n", 0, ending.start()) + 1, paste.find("\n", ending.end())
        found = _LINE.match(paste[begin : end if end >= 0 else len(paste)]) if begin > seen else None
        if found is None:
            continue
        seen, name = begin, found[2].rpartition(".")[2]
        if name not in _LAUNCHERS and not _bare(found[1]):
            yield Raised(begin, rank_at(paste, begin), name, (found[3] or "").strip())


def own(paste: str, rank: int | None) -> Raised | None:
    """The first of this rank that is its own; else the first of any rank that is; else the first of all."""
    found = list(raised(paste))
    first = sorted(found, key=lambda one: (one.follows, one.rank is not None and one.rank != rank, one.at))
    return first[0] if first else None


def _bare(before: str) -> str:
    """What is left before an exception's name, without a launcher's prefix."""
    return "".join(line.text for line in cleaned(f"{before} ")).strip(" :>`│|")
