"""Networks that are not the same everywhere: nodes of GPUs behind shared NICs, and ranks that have a port to each neighbour.

Each answers link(src, dst), as a `Link` does, and tells the pricing rules what messages share on the way. Chapters: hierarchy, ring.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property

from .ports import AlphaBeta, call, named
from .transfers import whole


@dataclass(frozen=True)
class Nodes:
    """Nodes of `gpus` ranks: one link inside a node, another between nodes, over `nics` NICs a node and a spine.

    inside, across: links (alpha in seconds, beta in seconds per byte); across.beta is that of one NIC. nics: by default one for
    every GPU; with fewer, GPUs share one. oversubscription: how many times more the NICs of a node carry than its uplinks do;
    1 is a full fat tree, 4 leaves a quarter. ScheduleError on a count below 1; ValueError on an oversubscription below 1.
    """

    gpus: int
    inside: AlphaBeta
    across: AlphaBeta
    nics: int | None = None
    oversubscription: float = 1.0
    _nics: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_nics", self.gpus if self.nics is None else self.nics)
        whole("gpus", self.gpus, 1)
        whole("nics", self._nics, 1)
        if not self.oversubscription >= 1:
            raise ValueError(f"oversubscription must be 1 or more, got {self.oversubscription!r}")

    @property
    def call(self) -> float:
        """Seconds of a collective, paid once: what the dearer of the two links asks for it."""
        return max(call(self.inside), call(self.across))

    @property
    def protocol(self) -> str:
        """That of both links, where they are one protocol's."""
        return named(self.across)

    @property
    def protocols(self) -> tuple[Nodes, ...]:
        """Itself under each protocol that both links know: a collective has one, inside a node and between nodes."""
        inside, across = ({named(one): one for one in protocols(link)} for link in (self.inside, self.across))
        return tuple(replace(self, inside=inside[name], across=across[name]) for name in inside if name in across)

    def link(self, src: int, dst: int) -> AlphaBeta:
        return self.inside if src // self.gpus == dst // self.gpus else self.across

    def wires(self, src: int, dst: int) -> tuple[tuple[Hashable, float], ...]:
        """Nothing inside a node; between nodes a NIC at both ends, and the uplinks of both nodes."""
        if src // self.gpus == dst // self.gpus:
            return ()
        return (
            (("out", *self._nic(src)), self.across.beta),
            (("in", *self._nic(dst)), self.across.beta),
            (("up", src // self.gpus), self._uplink),
            (("down", dst // self.gpus), self._uplink),
        )

    def _nic(self, rank: int) -> tuple[int, int]:
        return rank // self.gpus, rank % self.gpus * self._nics // self.gpus

    @cached_property
    def _uplink(self) -> float:
        """Seconds per byte of a node's uplinks together."""
        return self.across.beta * self.oversubscription / self._nics


@dataclass(frozen=True)
class Neighbours:
    """A port each way for every pair of ranks: what a rank sends to its left does not wait for what it sends to its right.

    NVLink bridges, a torus, or full-mesh NVLink; cable: what each of these cables is.
    """

    cable: AlphaBeta

    @property
    def call(self) -> float:
        """Seconds of a collective, paid once."""
        return call(self.cable)

    @property
    def protocol(self) -> str:
        """The cable's, where it is one protocol's."""
        return named(self.cable)

    @property
    def protocols(self) -> tuple[Neighbours, ...]:
        """Itself under each protocol of the cable."""
        return tuple(replace(self, cable=one) for one in protocols(self.cable))

    def link(self, src: int, dst: int) -> AlphaBeta:
        return self.cable

    def ports(self, src: int, dst: int) -> tuple[Hashable, Hashable]:
        return ("send", src, dst), ("recv", dst, src)


def protocols(link: AlphaBeta) -> tuple[AlphaBeta, ...]:
    """A link under each protocol that it knows."""
    known: tuple[AlphaBeta, ...] = getattr(link, "protocols", ())
    return known
