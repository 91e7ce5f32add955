"""What a message occupies on its way: the ports of its two ends, and the wires that it shares with others; under which protocols.

The pricing rules (`price`, `dataflow`) and the loads of `profiles` are all told from here. Chapters: latency-bandwidth, hierarchy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Protocol

from .schedule import Schedule
from .transfers import Step

Flow = tuple[tuple[tuple[int, int], int], ...]  # one step's messages, in order: ((src, dst), how many chunks)
_ENDS = itemgetter(0, 1)  # of a transfer


class AlphaBeta(Protocol):
    """What a message of n bytes takes between two ranks: alpha + n * beta seconds."""

    @property
    def alpha(self) -> float: ...

    @property
    def beta(self) -> float: ...


class Network(Protocol):
    """Anything that knows the link between two ranks; a `helpers.facts.Link` is the simplest: the same link everywhere.

    It may also know ports(src, dst), where an end has more than one port each way, and wires(src, dst), the
    (name, seconds per byte) of everything between the ports that other messages use too: see `topology`. And the seconds of a
    `call`, beside its messages; itself under each of its `protocols`; the `switch` that adds, and its line(nranks).
    """

    def link(self, src: int, dst: int, /) -> AlphaBeta: ...


# What one message costs: its ports, alpha and transfer seconds on each of them, and (name, transfer seconds) of each wire
Charge = tuple[tuple[Hashable, Hashable], float, float, Sequence[tuple[Hashable, float]]]


@dataclass(frozen=True)
class Tariff:
    """A network's charges for messages of chunks of `size` bytes."""

    nranks: int
    size: float
    network: Network

    def charge(self, src: int, dst: int, nchunks: int) -> Charge:
        link, nbytes = self.network.link(src, dst), nchunks * self.size
        ports = self._ports(src, dst) if self._ports else ends(src, dst, self.nranks)
        wires = [(name, nbytes * beta) for name, beta in self._wires(src, dst)] if self._wires else ()
        return ports, link.alpha, nbytes * link.beta, wires

    @cached_property
    def _ports(self) -> Callable[[int, int], tuple[Hashable, Hashable]] | None:
        return getattr(self.network, "ports", None)

    @cached_property
    def _wires(self) -> Callable[[int, int], Iterable[tuple[Hashable, float]]] | None:
        return getattr(self.network, "wires", None)


def call(network: object) -> float:
    """Seconds that a collective costs, whatever it sends."""
    seconds: float = getattr(network, "call", 0.0)
    return seconds


def under(network: Network, protocol: str | None = None) -> tuple[Network, ...]:
    """The network under each protocol that it knows, or under one; by itself where it knows none. ValueError on another."""
    known: tuple[Network, ...] = getattr(network, "protocols", ()) or (network,)
    names = [named(one) for one in known]
    if protocol is None or not any(names):
        return known
    if protocol not in names:
        raise ValueError(f"protocol must be one of {', '.join(names)}, got {protocol!r}")
    return (known[names.index(protocol)],)


def named(network: object) -> str:
    """The protocol of a network that is one protocol's."""
    name: str = getattr(network, "protocol", "")
    return name


def ends(src: int, dst: int, nranks: int) -> tuple[Hashable, Hashable]:
    """(send port, recv port): a rank has one of each; a switch, whose id is nranks or more, has one of each for every peer."""
    return (
        ("send", src) if src < nranks else ("send", src, dst),
        ("recv", dst) if dst < nranks else ("recv", dst, src),
    )


def messages(step: Step) -> Flow:
    """All chunks from src to dst in one step are one message."""
    return tuple(Counter(map(_ENDS, step)).items())


def flows(s: Schedule) -> list[Flow]:
    """The messages of every step."""
    return [messages(step) for step in s.steps]


def kinds(flow: Flow, nranks: int) -> frozenset[tuple[int, ...]]:
    """The chunks of each message that a port passes, of every kind of port: steps with the same kinds cost the same on equal links."""
    passed: dict[Hashable, tuple[int, ...]] = {}
    for (src, dst), nchunks in flow:
        for port in ends(src, dst, nranks):
            passed[port] = (*passed.get(port, ()), nchunks)
    return frozenset(passed.values())


def chunk_nbytes(s: Schedule, nbytes: float) -> float:
    """Bytes of one chunk: nbytes / nchunks; all_to_all alone has nranks**2 chunks, each nbytes / nranks."""
    return nbytes / pieces(s)


def pieces(s: Schedule) -> int:
    """How many chunks make nbytes."""
    return s.nranks if s.collective == "all_to_all" else s.nchunks
