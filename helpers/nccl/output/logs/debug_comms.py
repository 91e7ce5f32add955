"""Which communicator a line of NCCL_DEBUG=INFO belongs to: the one its thread is making just then. Chapters: inside-nccl, choosing."""

from __future__ import annotations

import re

from helpers.nccl.output.logs.debug_rows import CommRank, Origin

Thread = tuple[str | None, int | None, int | None, str]


class Torn(Exception):
    """A line that does not hold together, and why."""


class Comms:
    """Communicators as their lines come.

    NCCL tells of rings, trees and connections while a thread makes a communicator: from "Init START" (since 2.17) to "Init COMPLETE".
    Before 2.17 they belong to the communicator whose COMPLETE follows. What a thread tells later, such as connections made at the
    first send, belongs to none for certain. Where hosts or threads are blacked out, the rank and the communicator's address tell
    which COMPLETE ends which START.
    """

    def __init__(self) -> None:
        self.members: list[CommRank] = []
        self._making: dict[Thread, int] = {}  # a place in members
        self._waiting: dict[Thread, list[int]] = {}  # lines whose communicator has not been named yet
        self._lines: dict[int, int] = {}  # line -> place in members
        self._done: set[Thread] = set()
        self._threads: list[Thread] = []  # which was making which of members
        self._unclear: set[Thread] = set()  # blacked out, and making several at once
        self._open: dict[tuple[str | None, int | None, str, int], int] = {}  # of a process, by address and rank

    def member(self, number: int, origin: Origin, found: re.Match[str]) -> None:
        """ "Init START" and "Init COMPLETE"; the lines of a communicator's end say nothing new."""
        row = CommRank(number, origin, found["comm"], int(found["rank"]), int(found["nranks"]), found["id"])
        if row.rank >= row.nranks:
            raise Torn(f"rank {row.rank} of {row.nranks}")
        if found["what"] not in ("Init START", "Init COMPLETE"):
            return
        place = self._place(origin, row)
        if found["what"] == "Init COMPLETE":
            self.members[place] = self.members[place]._replace(complete=True)
            self._open.pop((origin.host, origin.pid, row.comm, row.rank), None)
            if self._making.get(self._threads[place]) == place:
                self._making.pop(self._threads[place])
            self._done.add(_thread(origin))

    def nodes(self, number: int, origin: Origin, found: re.Match[str]) -> None:
        """ "comm 0x... rank 8 nRanks 16 nNodes 2 localRanks 8 localRank 0"."""
        nodes, local_ranks, local_rank = (int(found[name]) for name in ("nodes", "locals", "local"))
        row = CommRank(number, origin, found["comm"], int(found["rank"]), int(found["nranks"]))
        if row.rank >= row.nranks or local_rank >= local_ranks:
            raise Torn(f"rank {row.rank} of {row.nranks}, and {local_rank} of {local_ranks} on its node")
        if nodes < 1 or local_ranks + nodes - 1 > row.nranks:
            raise Torn(f"{local_ranks} ranks on one of {nodes} nodes, and {row.nranks} in all")
        place = self._place(origin, row)
        known = self.members[place]
        self.members[place] = known._replace(nodes=nodes, local_ranks=local_ranks, local_rank=local_rank)

    def row(self, number: int, origin: Origin, later: bool) -> None:
        """A ring, a tree or a connection was told here. later: such lines also come when the communicator stands already."""
        thread = _thread(origin)
        if self._unclear and thread in self._unclear:
            return
        if thread in self._making:
            self._lines[number] = self._making[thread]
        elif origin.pid is not None and not (later and thread in self._done):
            self._waiting.setdefault(thread, []).append(number)

    def nranks(self, origin: Origin) -> int | None:
        """Of the communicator that this thread is making, as far as it has been told."""
        thread = _thread(origin)
        place = None if thread in self._unclear else self._making.get(thread)
        return None if place is None else self.members[place].nranks

    def of(self, line: int) -> tuple[str | None, int | None]:
        """The communicator of a line, and its size."""
        place = self._lines.get(line)
        return (None, None) if place is None else (self.members[place].comm, self.members[place].nranks)

    def _place(self, origin: Origin, row: CommRank) -> int:
        """Where this communicator stands in `members`: the one that its thread, or its process, is making, else a new one."""
        thread = _thread(origin)
        made = (origin.host, origin.pid, row.comm, row.rank)
        place = self._open.get(made)
        if place is None and origin.pid is not None:
            place = self._making.get(thread)
        if place is not None and self.members[place].comm == row.comm:
            self._agree(place, row)
            return place
        if origin.pid is None and thread in self._making:
            self._unclear.add(thread)
        place = self._making[thread] = self._open[made] = len(self.members)
        self.members.append(row)
        self._threads.append(thread)
        self._lines |= dict.fromkeys(self._waiting.pop(thread, []), place)
        return place

    def _agree(self, place: int, row: CommRank) -> None:
        known = self.members[place]
        ids = {known.comm_id, row.comm_id} - {None}
        if (known.rank, known.nranks) != (row.rank, row.nranks) or len(ids) > 1:
            raise Torn(f"line {known.line} says otherwise: rank {known.rank} of {known.nranks}, commId {known.comm_id}")
        self.members[place] = known._replace(comm_id=known.comm_id or row.comm_id)


def _thread(origin: Origin) -> Thread:
    return origin.host, origin.pid, origin.thread, origin.front
