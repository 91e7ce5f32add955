"""One kind of message of a training step: how often, how large, over which link, and what that takes. Chapters: data-parallel to meshes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

from helpers.collectives import CATALOGUE, PRIMITIVES, Schedule, price
from helpers.ledger.places import Place
from helpers.nccl import predict
from helpers.units import nbytes_text, seconds_text

AXES = ("data", "expert", "tensor", "pipeline", "replica", "context")
CHOOSES = ("all_reduce", "all_gather", "reduce_scatter")  # what NCCL's model has an opinion on


@dataclass(frozen=True)
class Traffic:
    """`times` calls a step of one collective on one group of ranks. nbytes: nccl-tests' size, the larger of a rank's input and output.

    axis: one of AXES, on which the group lies; "data" has the ranks that share one replica out, "replica" those with the same part of
    several. send_recv: nbytes to one neighbour. forward: how many of `times` are in forward, for what stands between products.
    """

    what: str
    axis: str
    collective: str
    nbytes: int
    times: int
    place: Place
    forward: int = 0

    @property
    def nranks(self) -> int:
        return self.place.nranks

    @property
    def level(self) -> str:
        """ "node" or "network"."""
        return self.place.level

    @property
    def sent(self) -> Fraction:
        """Bytes that one rank must send for all of it."""
        if self.collective == "send_recv":
            return Fraction(self.nbytes * self.times)
        return PRIMITIVES[self.collective].least(0, self.nranks, 0)[0] * self.nbytes * self.times

    @cached_property
    def priced(self) -> float:
        """Seconds of all calls by `helpers.collectives.price`: a ring, or rings along rails and inside nodes."""
        if self.collective == "send_recv":
            link = self.place.inside if self.level == "node" else self.place.across
            return self.times * (link.call + link.seconds(self.nbytes))
        found = _schedule(self.collective, self.nranks, self.place.together)
        return self.times * price(found, self.nbytes, self.place.network).seconds

    @cached_property
    def predicted(self) -> float | None:
        """Seconds of all calls by NCCL's own model; None where NCCL does not choose: sends, and all_to_all, which it makes of sends."""
        if self.collective not in CHOOSES:
            return None
        return self.times * predict(self.collective, self.nbytes, self.place.platform).seconds

    @property
    def seconds(self) -> float:
        """Of all calls: by NCCL's own model where it has one, else the price."""
        return self.priced if self.predicted is None else self.predicted

    @cached_property
    def latency(self) -> float:
        """Seconds of as many calls that carry a byte a rank: what more bandwidth does not make shorter."""
        return replace(self, nbytes=self.nranks).seconds

    @property
    def note(self) -> str:
        """Why there is no prediction; else empty."""
        return "" if self.collective in CHOOSES else "NCCL's model has no such call"

    def row(self) -> tuple[str, ...]:
        """In words, as `Entry` prints it."""
        guess = "-" if self.predicted is None else seconds_text(self.predicted)
        size = nbytes_text(self.nbytes)
        return (
            *(self.what, self.axis, self.collective, str(self.nranks), self.level, str(self.times), size),
            *(nbytes_text(float(self.sent)), seconds_text(self.priced), guess),
        )


@lru_cache(maxsize=64)
def _schedule(collective: str, nranks: int, together: int) -> Schedule:
    """What is priced: pairs for all_to_all; along rails where several ranks of a group are in each of several nodes."""
    if collective == "all_to_all":
        return CATALOGUE[collective, "pairwise"](nranks)
    if 1 < together < nranks:
        return CATALOGUE[collective, "hierarchical"](nranks, together)
    return CATALOGUE[collective, "ring"](nranks)
