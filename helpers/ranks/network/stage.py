"""Where a rank plays its collectives on an emulated network: a queue for each group, as NCCL has a stream for each communicator.

What is called in one group goes one after the other. Two groups go beside each other, and where they use the same port, their messages
queue there in the order in which they come. Chapters: latency-bandwidth, meshes, overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent import futures
from functools import partial
from typing import NamedTuple

import torch
import torch.distributed as dist

from helpers.collectives import CATALOGUE
from helpers.ranks.play.play import Pair, play

from .nic import Nic, Pending
from .ports import clock

PLAYED = {
    "all_reduce": "ring",
    "all_gather": "ring",
    "reduce_scatter": "ring",
    "broadcast": "binomial",
    "reduce": "binomial",
    "scatter": "flat",
    "gather": "flat",
    "all_to_all": "flat",
}
_TAGS = 2**20  # the stand-ins' messages carry tags from here on, which no message of the reader's has


class Team(NamedTuple):
    """The ranks of one group, in its order, by their numbers among all ranks. group: None for all ranks."""

    group: dist.ProcessGroup | None
    members: tuple[int, ...]

    @classmethod
    def of(cls, group: dist.ProcessGroup | None) -> Team:
        found = None if group == dist.group.WORLD else group
        return cls(found, tuple(dist.get_process_group_ranks(found or dist.group.WORLD)))

    @property
    def rank(self) -> int:
        """This rank's place in the group."""
        return self.members.index(dist.get_rank())

    @property
    def nranks(self) -> int:
        return len(self.members)


class Part:
    """One collective of one team, as a role (`collectives`) gets it: call it with what is to be played."""

    def __init__(self, team: Team, nic: Nic, tag: int, op: str):
        self.team, self._nic, self._tag, self._op = team, nic, tag, op

    def __call__(self, collective: str, tensor: torch.Tensor, root: int | None = None, out=None) -> torch.Tensor:
        options = {} if root is None else {"root": root}
        s = CATALOGUE[collective, PLAYED[collective]](nranks=self.team.nranks, **options)
        return play(s, tensor, out, self._post, self._op, self.team.group)

    def _post(self, number: int, messages: Sequence[Pair]) -> list[dist.Work]:
        """Below the op notes: the collective itself is what is noted."""
        ways = {"send": self._nic.isend, "recv": self._nic.irecv}
        group, members = self.team.group, self.team.members
        return [ways[m.kind](payload, members[m.peer], group=group, tag=self._tag) for m, payload in messages]


class Queue:
    """Of one team: its collectives in the order in which they were called."""

    def __init__(self, team: Team, nic: Nic):
        self.team, self._nic, self._count = team, nic, 0
        self._thread: futures.ThreadPoolExecutor | None = None
        self._latest: futures.Future | None = None

    def perform(self, role: Callable, op: str, later: bool) -> Pending | None:
        """Play `role(part)`, now or later; every collective has a tag of its own, the same on all ranks of the team."""
        self._count += 1
        played = partial(role, Part(self.team, self._nic, _TAGS + self._count % _TAGS, op))
        if later:
            self._thread = self._thread or futures.ThreadPoolExecutor(1, "emulated-network")
            self._latest = self._thread.submit(_at, clock.now(), played)
            return Playing(self._latest)
        if self._latest:  # what was called before comes first
            futures.wait([self._latest])
        return _at(clock.now(), played)


class Stage:
    """The queues of a rank, by group."""

    def __init__(self, nic: Nic):
        self._nic = nic
        self._queues: dict[dist.ProcessGroup | None, Queue] = {}

    def of(self, group: dist.ProcessGroup | None) -> Queue:
        """The queue of this group, which this rank is in."""
        team = Team.of(group)
        if team.group not in self._queues:
            self._queues[team.group] = Queue(team, self._nic)
        return self._queues[team.group]


def _at(start: float, part: Callable[[], None]) -> None:
    with clock.model(start), torch.no_grad():  # a parameter can be summed in place, as in torch
        part()


class Playing(Pending):
    """The handle of an asynchronous collective."""

    def __init__(self, future: futures.Future):
        super().__init__()
        self._future = future

    def _finish(self, wait: Callable[[dist.Work], bool]) -> None:
        self._future.result()

    def is_completed(self) -> bool:
        return self._future.done()

    def when_done(self, then: Callable[[], object]) -> None:
        """Call `then` as soon as it has been played, in the thread that plays."""
        self._future.add_done_callback(lambda _: then())
