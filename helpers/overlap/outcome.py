"""`Overlap`: when everything began and ended on the two lanes of a rank, and what follows from it. Chapter: overlap."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

from helpers.units import nbytes_text, seconds_text

Span = tuple[float, float]
SecondsOf = Callable[[int], float]


class Call(NamedTuple):
    """What keeps the link: a collective, of which bucket or unit (its place in what was given), and nccl-tests' size in bytes."""

    collective: str
    place: int
    nbytes: int


@dataclass(frozen=True)
class Overlap:
    """A step on one rank: a lane that computes and a link. All times in seconds after the step's first computation could begin.

    computed: seconds of all computation, as if nothing were waited for. computing: when it ran, (start, end) each.
    calls, spans: what kept the link, and from when to when, place by place; no two at once on one link.
    gathered: most bytes of gathered parameters held at once, from the start of their gather to the end of their computation;
    gradients: most bytes of gradients that waited for their reduce_scatter or were in it. Both 0 where nothing is sharded.
    """

    computed: float
    computing: tuple[Span, ...]
    calls: tuple[Call, ...]
    spans: tuple[Span, ...]
    gathered: int = 0
    gradients: int = 0

    @property
    def seconds(self) -> float:
        """Until both lanes are done."""
        return max((end for _, end in (*self.computing, *self.spans)), default=0)

    @property
    def communication(self) -> float:
        """How long the link was kept."""
        return sum(end - start for start, end in self.spans)

    @property
    def exposed(self) -> float:
        """What the step is longer by than its computation."""
        return max(self.seconds - self.computed, 0)  # sums of floats may miss each other by their last bit

    @property
    def hidden(self) -> float:
        """What of communication cost the step nothing."""
        return max(self.communication - self.exposed, 0)

    @property
    def share_hidden(self) -> float:
        """Of communication, 0 to 1; 1 where there is none."""
        return self.hidden / self.communication if self.communication else 1.0

    def __str__(self) -> str:
        told = (
            f"{len(self.calls)} calls, {seconds_text(self.communication)}: {seconds_text(self.hidden)} hidden"
            f" ({self.share_hidden:.0%}), {seconds_text(self.exposed)} exposed; a step of {seconds_text(self.seconds)}"
        )
        return f"{told}; up to {nbytes_text(self.gathered)} gathered" if self.gathered else told


def priced(seconds_of: SecondsOf, nbytes: int) -> float:
    """What a call takes. ValueError where that is no time."""
    seconds = seconds_of(nbytes)
    return duration(f"seconds_of({nbytes})", seconds)


def duration(name: str, seconds: float) -> float:
    """The same, if it is a finite number of seconds, not negative. ValueError naming it otherwise."""
    if isinstance(seconds, bool) or not (isinstance(seconds, Real) and math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"{name} is a number of seconds, 0 or more, got {seconds!r}")
    return seconds


def size(name: str, nbytes: int, least: int = 0) -> int:
    """The same, if it is a whole number of bytes. ValueError naming it otherwise."""
    if isinstance(nbytes, bool) or not isinstance(nbytes, int) or nbytes < least:
        raise ValueError(f"{name} is a whole number of bytes, at least {least}, got {nbytes!r}")
    return nbytes
