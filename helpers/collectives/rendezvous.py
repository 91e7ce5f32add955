"""Programs of sends and receives, played with the strictest of sends: each waits until its receiver stands ready to receive.

What gets through here gets through anywhere: no send may count on a buffer to put its message down in. Chapters: ring, hangs.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Literal, NamedTuple

from .transfers import Op, ScheduleError


class Message(NamedTuple):
    """What one rank does with one peer in one step: all chunks between two places in a step travel as one message per op.

    kind "move": from one of the rank's own slots to another; nothing travels. places: (src, dst) where one of the two is a
    switch that a rank hosts; None between ranks themselves.
    """

    kind: Literal["send", "recv", "move"]
    peer: int
    chunks: tuple[int, ...]
    op: Op
    places: tuple[int, int] | None = None


Program = tuple[tuple[Message, ...], ...]


def rendezvous(programs: Sequence[Program]) -> None:
    """Returns None when every rank gets to the end of its program; programs: one per rank, as `lower` makes them.

    A rank posts all messages of a step at once and goes on when all are through. The n-th send of a rank to another meets the n-th
    receive there. Raises ScheduleError naming who waits for whom, and the first two that meet and do not fit.
    """
    play = _Play(programs)
    play.run()
    if any(play.pending):
        raise ScheduleError(play.told())


class _Play:
    def __init__(self, programs: Sequence[Program]):
        self.programs = programs
        self.step = [-1] * len(programs)
        self.pending: list[list[Message]] = [[] for _ in programs]
        self.sends: dict[tuple[int, int], deque[Message]] = defaultdict(deque)
        self.recvs: dict[tuple[int, int], deque[Message]] = defaultdict(deque)

    def run(self) -> None:
        ready = list(range(len(self.programs)))
        while ready:
            rank = ready.pop()
            self.step[rank] += 1
            if self.step[rank] == len(self.programs[rank]):
                continue
            travels = [message for message in self.programs[rank][self.step[rank]] if message.kind != "move"]
            self.pending[rank] = list(travels)
            met = [rank, *(peer for message in travels for peer in self._post(rank, message))]
            ready += [r for r in dict.fromkeys(met) if not self.pending[r]]

    def _post(self, rank: int, message: Message) -> list[int]:
        """Who is further now: the peer, if it stood ready."""
        sends = message.kind == "send"
        pair = (rank, message.peer) if sends else (message.peer, rank)
        mine, theirs = (self.sends, self.recvs) if sends else (self.recvs, self.sends)
        if not theirs[pair]:
            mine[pair].append(message)
            return []
        other = theirs[pair].popleft()
        if other[2:] != message[2:]:
            sent, received = (message, other) if sends else (other, message)
            raise ScheduleError(
                f"rank {pair[0]} sends {_what(sent)} to rank {pair[1]}, which there receives {_what(received)}"
            )
        self.pending[rank].remove(message)
        self.pending[message.peer].remove(other)
        return [message.peer]

    # what to say -----------------------------------------------------------------------------------------------------
    def told(self) -> str:
        chain = self._chain()
        waits = "; ".join(self._waits(rank) for rank in chain)
        last = self.pending[chain[-1]][0].peer
        return f"{waits}: {'a circle' if last in chain else f'rank {last} has finished'}"

    def _chain(self) -> list[int]:
        """From the first rank that waits to whom it waits for, until one comes twice (then from there on) or has finished."""
        rank, chain = next(r for r, pending in enumerate(self.pending) if pending), []
        while rank not in chain and self.pending[rank]:
            chain.append(rank)
            rank = self.pending[rank][0].peer
        return chain[chain.index(rank) :] if rank in chain else chain

    def _waits(self, rank: int) -> str:
        message = self.pending[rank][0]
        verb = "send to" if message.kind == "send" else "receive from"
        return f"rank {rank}, step {self.step[rank] + 1}, waits to {verb} rank {message.peer}"


def _what(message: Message) -> str:
    chunks = ", ".join(map(str, message.chunks))
    return f"chunk{'s' * (len(message.chunks) > 1)} {chunks} ({'to be added' if message.op == 'reduce' else 'to be copied'})"
