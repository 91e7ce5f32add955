"""One message under LL, LL128 and Simple: when its parts end by the link's price, and what its receiver can read meanwhile.

A message-level model. All channels are one, which is cut as a ring's; the fence and the counter that Simple pays for each slice are in
the one latency of the price. `lanes.mjs` computes the same, tested equal. Chapter: inside-nccl.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from helpers.facts import LINKS, Link
from helpers.nccl.cut import slice_nbytes
from helpers.nccl.protocols import PROTOCOLS, SIMPLE, Protocol

KNOWN = {slug: link for slug, link in LINKS.items() if [one.protocol for one in link.protocols] == list(PROTOCOLS)}
STAIRS = 8  # so many slices are stops of the clock one by one


def moment(seconds: float) -> int:
    """The first whole nanosecond by which it is over."""
    return math.ceil(math.floor(seconds * 1e12 + 0.5) / 1e3)


@dataclass(frozen=True)
class Lane:
    """protocol: what a line holds. link: the wire under this protocol."""

    protocol: Protocol
    link: Link
    nbytes: int

    @property
    def start(self) -> float:
        """Seconds until the first byte is there: the call, and the step's latency."""
        return self.link.call + self.link.alpha

    @property
    def transfer(self) -> float:
        """Seconds of the bytes alone."""
        return self.nbytes * self.link.beta

    @property
    def end(self) -> float:
        """The call, and the link's price of the message."""
        return self.link.call + self.link.seconds(self.nbytes)

    @property
    def piece(self) -> int:
        """Bytes of the message that its receiver is told of at once: those of a line, or a slice."""
        return self.protocol.data or slice_nbytes(self.protocol.name, min(self.nbytes, self.protocol.chunk))

    @property
    def pieces(self) -> int:
        """Lines or slices, the last one perhaps not full."""
        return -(-self.nbytes // self.piece)

    def readable(self, at: int) -> int:
        """Bytes that the receiver can read after so many nanoseconds."""
        if at >= moment(self.end):
            return self.nbytes
        passed = (at * 1e-9 - self.start) * self.link.bandwidth.value
        whole = math.floor(passed / self.piece + 1e-6)
        return min(self.nbytes, max(0, whole * self.piece))

    def stops(self) -> set[int]:
        """Nanoseconds at which something ends: the call, the first piece, each of a few slices, the message."""
        few = range(1, self.pieces + 1 if self.protocol is SIMPLE and self.pieces <= STAIRS else 2)
        told = {moment(self.start + min(self.nbytes, i * self.piece) * self.link.beta) for i in few}
        return {moment(self.link.call), moment(self.end), *told}


def lanes(link: Link, nbytes: int) -> list[Lane]:
    """The message under each protocol."""
    return [Lane(protocol, link.by(name), nbytes) for name, protocol in PROTOCOLS.items()]


def stops(link: Link, nbytes: int) -> list[int]:
    """Where the clock stops, in nanoseconds, from 0."""
    return sorted({0}.union(*(lane.stops() for lane in lanes(link, nbytes))))


def crossings(link: Link) -> list[float]:
    """The sizes in bytes at which LL128 takes over from LL, and Simple from LL128."""
    return [_crossing(early.link, fast.link) for early, fast in pairwise(lanes(link, 1))]


def _crossing(early: Link, fast: Link) -> float:
    return (fast.call + fast.alpha - early.call - early.alpha) / (early.beta - fast.beta)
