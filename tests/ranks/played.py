"""Ranks that are only played: programs of collectives and messages, run step by step in any order, with true notes of each.

Who can really go on is kept apart from the notes, so that what is concluded from these can be held against it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from helpers.ranks.notes import notes
from helpers.ranks.notes.envelopes import Peer, unpack_group
from helpers.ranks.notes.notes import Journal, State


class Op(NamedTuple):
    """A collective of `group` (packed), or with peers a send, a receive, or a batch of them."""

    name: str
    agreed: str = ""
    group: str = ""
    peers: tuple[Peer, ...] = ()


class Step(NamedTuple):
    """do: enter the operation and wait for it. launch: enter it. wait: for what the rank launched under this handle."""

    kind: str
    op: Op | None = None
    handle: int = 0


Program = list[Step]


class Play:
    """All ranks at once. eager: a message may leave before anybody receives it, as small ones do over NCCL."""

    def __init__(self, programs: list[Program], seed: int = 0, eager: bool = False):
        self.programs, self.eager, self.random = programs, eager, random.Random(seed)
        self.nranks = len(programs)
        self._regions = [memoryview(bytearray(notes.REGION)) for _ in programs]
        self._writers = [notes.Writer(region, rank) for rank, region in enumerate(self._regions)]
        self.at = [0] * self.nranks
        self._current: list[tuple | None] = [None] * self.nranks  # what each rank waits in: (record, is it complete?)
        self._launched: dict[tuple[int, int], tuple] = {}
        self._came: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._sends: dict[tuple, list] = defaultdict(list)  # by (group, tag, receiver): unmatched, in order
        self._receives: dict[tuple, list] = defaultdict(list)

    @property
    def gone(self) -> set[int]:
        return {rank for rank, at in enumerate(self.at) if at == len(self.programs[rank])}

    def journals(self) -> list[Journal]:
        return [notes.read(region) for region in self._regions]

    def steps(self) -> Iterator[int]:
        """One move of one rank at a time, until nobody can move; yields who moved."""
        while movers := [rank for rank in range(self.nranks) if self._can_move(rank)]:
            rank = self.random.choice(movers)
            self._move(rank, self.programs[rank][self.at[rank]])
            yield rank

    def _can_move(self, rank: int) -> bool:
        return rank not in self.gone and (self._current[rank] is None or self._current[rank][1]())

    def _move(self, rank: int, step: Step) -> None:
        writer, current = self._writers[rank], self._current[rank]
        if step.kind == "launch":
            self._launched[rank, step.handle] = self._enter(rank, step.op)
            writer.mark(self._launched[rank, step.handle][0], State.LAUNCHED)
            self.at[rank] += 1
        elif current:
            writer.mark(current[0], State.DONE)
            self._current[rank] = None
            self.at[rank] += 1
        elif step.kind == "wait":
            self._current[rank] = self._launched.pop((rank, step.handle))
            writer.mark(self._current[rank][0], State.INSIDE)
        else:
            self._current[rank] = self._enter(rank, step.op)

    def _enter(self, rank: int, op: Op) -> tuple[int, Callable[[], bool]]:
        writer = self._writers[rank]
        record = writer.enter(op.name, op.agreed, "", op.group, op.peers, "cell line 7")
        if op.peers:
            posted = [self._post(rank, op.group, peer) for peer in op.peers]
            return record, lambda: all(entry["matched"] or (self.eager and entry["sends"]) for entry in posted)
        number = writer._numbers[op.group]
        self._came[op.group, number].add(rank)
        members = set(unpack_group(op.group).ranks or range(self.nranks))
        return record, lambda: self._came[op.group, number] >= members

    def _post(self, rank: int, group: str, peer: Peer) -> dict:
        """Matched at once with the oldest counterpart, if there is one."""
        mine = {"matched": False, "sends": peer.sends, "from": rank if peer.sends else peer.rank}
        box = group, peer.tag, peer.rank if peer.sends else rank
        waiting = (self._receives if peer.sends else self._sends)[box]
        for theirs in waiting:
            if mine["from"] in (None, theirs["from"]) or theirs["from"] is None:
                mine["matched"] = theirs["matched"] = True
                waiting.remove(theirs)
                return mine
        (self._sends if peer.sends else self._receives)[box].append(mine)
        return mine
