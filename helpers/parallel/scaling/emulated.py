"""Scaling where computing is emulated, so that ranks share no cores: strong, weak, Amdahl's share. Chapters: data-parallel, meshes.

Layers sleep as long as they would compute (helpers.parallel.overlapping), messages travel over an emulated link, and every time is held
against the same step on paper. Strong: each of P ranks sleeps a P-th. Weak: each sleeps as long as one rank alone does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from helpers.facts import Link
from helpers.ledger.scaling import Scaling
from helpers.parallel.overlapping import WAYS, Layer, Step, measured, predicted
from helpers.units import KIB, Bandwidth

KINDS = ("strong", "weak")
# Slow enough that the scheduler of a CPU with fewer cores than ranks hardly matters. Layers: of one rank alone.
LAYERS = (Layer(0.08, 0.16, 256 * KIB),) * 6
BUCKET = 512 * KIB
LINK = Link(5e-3, Bandwidth(16e6, "one way", "GPU", "fitted"))


@dataclass(frozen=True)
class Emulated:
    """seconds: of a step on its longest rank, the least of several steps, by the number of ranks; paper: the same, predicted.

    hidden: of all messages on the most ranks, the share that cost that step nothing, measured; hidden_paper: predicted.
    """

    way: str
    kind: str
    seconds: dict[int, float]
    paper: dict[int, float]
    hidden: float
    hidden_paper: float

    @property
    def efficiency(self) -> float:
        """On the most ranks, strong or weak."""
        return getattr(Scaling(self.seconds), self.kind)[max(self.seconds)]

    @property
    def efficiency_paper(self) -> float:
        return getattr(Scaling(self.paper), self.kind)[max(self.paper)]


def layers_of(kind: str, nranks: int) -> list[Layer]:
    """ValueError for a kind that is not there."""
    if kind not in KINDS:
        raise ValueError(f"scaling is {' or '.join(KINDS)}, got {kind!r}")
    part = nranks if kind == "strong" else 1
    return [Layer(one.forward / part, one.backward / part, one.nbytes) for one in LAYERS]


def alone() -> float:
    """Seconds of a step on one rank, which has nobody to talk to."""
    return sum(one.forward + one.backward for one in LAYERS)


def emulated(way: str, kind: str, calls: dict[int, Callable[..., list]], reps: int = 5) -> Emulated:
    """calls: by the number of ranks, what runs a function on them over LINK, as Ranks.run does. ValueError for another way."""
    if way not in WAYS:
        raise ValueError(f"a way is one of {', '.join(WAYS)}, got {way!r}")
    seconds, paper = {1: alone()}, {1: alone()}
    for nranks, call in sorted(calls.items()):
        layers = layers_of(kind, nranks)
        steps = call(measured, way, layers, BUCKET, reps)[0]
        on_paper = predicted(way, layers, LINK, nranks, BUCKET)
        fastest = min(steps, key=longest)
        seconds[nranks] = longest(fastest)
        paper[nranks] = on_paper.seconds
    return Emulated(way, kind, seconds, paper, share_hidden(fastest), on_paper.share_hidden)


def longest(step: Sequence[Step]) -> float:
    """Seconds of the rank that takes longest."""
    return max(one.seconds for one in step)


def share_hidden(step: Sequence[Step]) -> float:
    """Of the seconds in which calls kept a rank's link, those that its step was not longer by; the median rank's."""
    return median(max(0.0, 1 - one.exposed / one.communication) if one.communication else 1.0 for one in step)
