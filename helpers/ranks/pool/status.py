"""What the ranks are doing at this moment, as plain data. Chapters: ranks, hangs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RankStatus:
    """One rank. state: in RankError's words. done, total: what `progress` counted in this call (total None: unknown)."""

    rank: int
    pid: int
    device: str
    state: str
    done: int = 0
    total: int | None = None


@dataclass(frozen=True, repr=False)
class Status:
    """All ranks. Printing it shows a table.

    state: "starting", "idle", "running" or "closed". seconds: of the call that runs, else None. startup: seconds from the
    start of the processes until all had met, paid once for all `calls` so far; None while they have not. ranks: () when there
    are none. Of a `Pending` that is over: "idle", with the seconds that its call took and what every rank did last.
    """

    label: str
    state: str
    seconds: float | None
    startup: float | None
    calls: int
    ranks: tuple[RankStatus, ...]

    def __str__(self) -> str:
        spent = "" if self.seconds is None else f"{self.seconds:.1f} s"
        running = spent and (f", the call took {spent}" if self.state == "idle" else f" for {spent}")
        met = "" if self.startup is None else f"; met in {self.startup:.2f} s, once for {_calls(self.calls)}"
        return "\n".join([f"{self.label}: {self.state}{running}{met}", *self._rows()])

    __repr__ = __str__

    def _rows(self) -> list[str]:
        if not self.ranks:
            return []
        rows = [("rank", "pid", "device", "done", "state")]
        rows += [(str(r.rank), str(r.pid), r.device, _done(r), r.state) for r in self.ranks]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _calls(n: int) -> str:
    return f"{n} call{'' if n == 1 else 's'}"


def _done(rank: RankStatus) -> str:
    if not rank.done and rank.total is None:
        return "-"
    return f"{rank.done}/{'?' if rank.total is None else rank.total}"
