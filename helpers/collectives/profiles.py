"""What a schedule asks of its busiest port, step by step: told without building it, for any number of ranks.

A schedule of 100,000 ranks has billions of transfers; its profile is a few lines. Every builder of the catalogue has one,
`build.profile(nranks)`, and it equals `loads(build(nranks))`. Chapters: latency-bandwidth, hierarchy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from .ports import Flow, Network, call, ends, flows, pieces, under
from .schedule import Schedule
from .transfers import whole


class Load(NamedTuple):
    """`steps` steps, one after another, in which the busiest port passes `messages` messages and `share` of nbytes in all."""

    steps: int
    messages: int
    share: Fraction


Profile = tuple[Load, ...]
LoadLike = tuple[int, int, Fraction | int]  # the fields of a Load, as a builder tells them
Tell = Callable[..., Iterable[LoadLike]]  # (nranks, ...) -> its loads in order


def profile_of(build: Callable[..., Schedule], tell: Tell) -> Callable[..., Profile]:
    """A builder's profile(nranks, ...), from what tell(nranks, ...) yields, less the loads of no steps."""

    def profile(nranks: int, *args: object, **kwargs: object) -> Profile:
        whole("nranks", nranks, 1)
        return merged(tell(nranks, *args, **kwargs)) if nranks > 1 else ()

    profile.__doc__ = (
        f"The loads of {build.__module__.rpartition('.')[2]}.{build.__name__}(nranks, ...), by closed form."
    )
    return profile


def loads(s: Schedule) -> Profile:
    """The same, counted on a schedule: the port with the most bytes in each step, and of these, with the most messages."""
    return merged((1, *_busiest(s, flow)) for flow in flows(s))


def _busiest(s: Schedule, flow: Flow) -> tuple[int, Fraction]:
    messages: Counter[Hashable] = Counter()
    chunks: Counter[Hashable] = Counter()
    for (src, dst), nchunks in flow:
        for port in ends(src, dst, s.nranks):
            messages[port] += 1
            chunks[port] += nchunks
    most, count = max((chunks[port], messages[port]) for port in messages)
    return count, Fraction(most, pieces(s))


def merged(found: Iterable[LoadLike]) -> Profile:
    """Equal loads in a row become one."""
    rows = ((steps, messages, Fraction(share)) for steps, messages, share in found if steps)
    return tuple(
        Load(sum(steps for steps, *_ in group), *load) for load, group in groupby(rows, key=lambda row: row[1:])
    )


def price_loads(profile: Profile, nbytes: float, link: Network) -> float:
    """Seconds, step-locked, on equal links, by the cheapest protocol: what `price` charges for the schedule itself.

    The busiest port has the most bytes and the most messages in every entry of the catalogue, so no other can take longer.
    What goes through a switch that the link knows is priced by `price` alone.
    """
    return min(_loads_by(profile, nbytes, line) for line in under(link)) if profile else 0.0


def _loads_by(profile: Profile, nbytes: float, line: Network) -> float:
    alpha, beta = line.link(0, 1).alpha, line.link(0, 1).beta
    return call(line) + sum(
        steps * (messages * alpha + float(share) * nbytes * beta) for steps, messages, share in profile
    )
